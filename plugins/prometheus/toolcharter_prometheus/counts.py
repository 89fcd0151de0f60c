"""`EventMetrics`: counts event lines in Prometheus's metrics.

Each label has few values. A tool that the profile does not have is counted as `(unknown)`, because a model made up its
name. After `MAX_LABEL_VALUES` values of one label, all further values are counted as `(others)`.
"""

import json
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram

MAX_LABEL_VALUES = 200
"""How many values of one label, such as tools, profiles or reasons, have their own series."""
UNKNOWN = "(unknown)"
OTHERS = "(others)"
BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""The borders of the histogram, in seconds."""
_COUNTED_EVENTS = (b'"hook.tool.after"', b'"hook.approval.decision"')


class EventMetrics:
    """The metrics of one registry. Thread-safe.

    Args:
        registry: Where the metrics are registered: an application's registry, or a separate one.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.unreadable = 0
        self._names: dict[str, set[str]] = {}
        self._series: dict[tuple[str, str, str], tuple[Counter, Histogram]] = {}
        about = ("profile", "tool")

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"toolcharter_{name}", what, (*about, *labels), registry=registry)

        self._calls = counter("calls", "Calls, by outcome.", "outcome")
        self._denials = counter("denials", "Calls that were denied, by reason.", "reason", "stage")
        self._errors = counter("errors", "Calls that failed, by reason.", "reason")
        self._redactions = counter("redactions", "Secrets masked in results.")
        self._approvals = counter("approvals", "What people answered who were asked.", "answer")
        self._durations = Histogram(
            "toolcharter_call_duration_seconds",
            "From the arrival of a call to its outcome.",
            about,
            registry=registry,
            buckets=BUCKETS_S,
        )

    def add(self, line: bytes) -> None:
        """Count one line; a line that is no event of toolcharter is counted in `unreadable`."""
        if not any(name in line for name in _COUNTED_EVENTS) and line.startswith(b'{"event":"'):
            return
        try:
            event = json.loads(line)
            match event["event"]:
                case "hook.tool.after":
                    self._add_call(event)
                case "hook.approval.decision":
                    self._approvals.labels(
                        *self._call_labels(event), self._limited_label("answer", event["answer"])
                    ).inc()
                case _:
                    pass
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            self.unreadable += 1

    def _add_call(self, event: Mapping[str, Any]) -> None:
        about, outcome = self._call_labels(event), self._limited_label("outcome", event["outcome"])
        elapsed_s, redactions = float(event["elapsed_ms"]) / 1000, int(event["redactions"])
        series = self._series.get((*about, outcome))
        if series is None:  # Looking a series up by its labels takes longer than counting.
            series = self._calls.labels(*about, outcome), self._durations.labels(*about)
            self._series[(*about, outcome)] = series
        calls, durations = series
        calls.inc()
        durations.observe(elapsed_s)
        if outcome == "denied":
            words = self._limited_label("reason", event["reason"]), self._limited_label("stage", event["stage"])
            self._denials.labels(*about, *words).inc()
        elif outcome == "error":
            self._errors.labels(*about, self._limited_label("reason", event["reason"])).inc()
        if redactions:
            self._redactions.labels(*about).inc(redactions)

    def _call_labels(self, event: Mapping[str, Any]) -> tuple[str, str]:
        tool = UNKNOWN if event.get("reason") == "unknown_tool" else self._limited_label("tool", event["tool"])
        return self._limited_label("profile", event["profile"]), tool

    def _limited_label(self, label: str, value: object) -> str:
        names, name = self._names.setdefault(label, set()), str(value)
        if name not in names:
            if len(names) >= MAX_LABEL_VALUES:
                return OTHERS
            names.add(name)
        return name
