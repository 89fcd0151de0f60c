"""Counts the calls of one tenant from their events. The text format and the names are those of the plugin `prometheus`.

Source: Prometheus documentation, "Exposition formats", text-based format 0.0.4.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson

BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""The upper bounds of the histogram's buckets, in seconds."""
MAX_NAMES = 200
"""The most different tools, profiles or reasons that have their own series. The others share one."""
_AFTER, _DECISION = b'{"event":"hook.tool.after"', b'{"event":"hook.approval.decision"'
_HELP = {
    "calls_total": "Calls, by outcome.",
    "denials_total": "Calls that were denied, by reason.",
    "errors_total": "Calls that failed, by reason.",
    "redactions_total": "Secrets masked in results.",
    "approvals_total": "What people answered who were asked.",
}
Labels = tuple[tuple[str, str], ...]


class CallCounts:
    """The counts of one tenant in one process. Can be used by many threads."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[Labels]] = {name: Counter() for name in _HELP}
        self._durations: dict[Labels, list[float]] = {}
        self._names: dict[str, set[str]] = {}

    def add(self, lines: bytes) -> None:
        """Count the events of complete lines."""
        for line in lines.splitlines():
            if line.startswith((_AFTER, _DECISION)):
                self._add(orjson.loads(line))

    def _add(self, event: dict[str, Any]) -> None:
        tool = "(unknown)" if event.get("reason") == "unknown_tool" else self._limit_names("tool", event["tool"])
        about: Labels = (("profile", self._limit_names("profile", event["profile"])), ("tool", tool))
        with self._lock:
            if event["event"] == "hook.approval.decision":
                self._counts["approvals_total"][(*about, ("answer", self._limit_names("answer", event["answer"])))] += 1
                return
            outcome = event["outcome"]
            self._counts["calls_total"][(*about, ("outcome", outcome))] += 1
            reason = ("reason", self._limit_names("reason", event["reason"]))
            if outcome == "denied":
                self._counts["denials_total"][(*about, reason, ("stage", str(event["stage"])))] += 1
            elif outcome == "error":
                self._counts["errors_total"][(*about, reason)] += 1
            if event["redactions"]:
                self._counts["redactions_total"][about] += event["redactions"]
            found = self._durations.setdefault(about, [0.0] * (len(BUCKETS_S) + 2))
            elapsed_s = event["elapsed_ms"] / 1000
            for number, border in enumerate(BUCKETS_S):
                if elapsed_s <= border:
                    found[number] += 1
                    break
            found[-2] += 1
            found[-1] += elapsed_s

    def text(self) -> str:
        """Return all counts in Prometheus' text format."""
        with self._lock:
            return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for name, series in self._counts.items():
            yield f"# HELP toolcharter_{name} {_HELP[name]}\n# TYPE toolcharter_{name} counter\n"
            for labels, count in series.items():
                yield f"toolcharter_{name}{self._format_labels(labels)} {count}\n"
        name = "toolcharter_call_duration_seconds"
        yield f"# HELP {name} From the arrival of a call to its outcome.\n# TYPE {name} histogram\n"
        for labels, found in self._durations.items():
            below = 0.0
            for border, here in zip(BUCKETS_S, found, strict=False):
                below += here
                yield f"{name}_bucket{self._format_labels((*labels, ('le', str(border))))} {below:g}\n"
            yield f"{name}_bucket{self._format_labels((*labels, ('le', '+Inf')))} {found[-2]:g}\n"
            yield f"{name}_count{self._format_labels(labels)} {found[-2]:g}\n"
            yield f"{name}_sum{self._format_labels(labels)} {found[-1]:.6f}\n"

    def _format_labels(self, labels: Labels) -> str:
        return "{" + ",".join(f'{name}="{_escape(text)}"' for name, text in (*labels, ("worker", self._worker))) + "}"

    def _limit_names(self, label: str, value: object) -> str:
        names, name = self._names.setdefault(label, set()), str(value)
        if name not in names:
            if len(names) >= MAX_NAMES:
                return "(others)"
            names.add(name)
        return name


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
