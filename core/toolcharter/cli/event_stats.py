"""Counts what event lines say: calls, denials, approvals and latencies, in memory that does not grow with the file.

Latencies go into buckets whose borders grow by 2%: a percentile is right to within 1% of its value.
"""

import heapq
import math
from collections import Counter
from collections.abc import Hashable
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from toolcharter.events import contract
from toolcharter.events.files import EventLine

MOST_KEYS = 1000
"""How many different keys a table holds. What comes later is counted as `(others)`: names may come from models."""
SLOWEST = 10
OTHERS = "(others)"
_GROWTH = math.log(1.02)
_LEAST_MS = 0.001
_SKIPPED = tuple(
    b'{"event":"%s"' % name.encode()
    for name in (contract.BEFORE, contract.POLICY_BEFORE, contract.POLICY_DENY, contract.APPROVAL_REQUEST)
)


class Slow(NamedTuple):
    """One of the slowest calls."""

    elapsed_ms: float
    order: int
    call_id: str
    tool: str
    action: str | None
    ts: str


class Latencies:
    """How long calls took, as counts by bucket."""

    def __init__(self) -> None:
        self._buckets = Counter[int]()

    def add(self, elapsed_ms: float) -> None:
        """Count one call; below a microsecond all are alike, and above eleven days."""
        self._buckets[math.ceil(math.log(min(max(elapsed_ms, _LEAST_MS), 1e9)) / _GROWTH)] += 1

    def percentile(self, share: float) -> float:
        """The least latency, in milliseconds, that *share* of the calls did not exceed; 0 < *share* <= 1."""
        wanted = math.ceil(share * self._buckets.total())
        borders = sorted(self._buckets)
        reached = accumulate(self._buckets[border] for border in borders)
        bucket = next(border for border, count in zip(borders, reached, strict=True) if count >= wanted)
        return round(math.exp((bucket - 0.5) * _GROWTH), 3)


class EventStats:
    """Counts one line after the other."""

    def __init__(self) -> None:
        self.unreadable = 0
        self._counts: dict[str, Counter[Hashable]] = {}
        self._latencies: dict[Hashable, Latencies] = {}
        self._slowest: list[Slow] = []
        self._seen = 0

    def add(self, line: EventLine) -> None:
        """Count *line*; one that is no event is counted as unreadable."""
        if line.raw.startswith(_SKIPPED):
            return
        try:
            event = orjson.loads(line.raw)
            if event["event"] == contract.AFTER:
                self._add_call(event)
            elif event["event"] == contract.APPROVAL_DECISION:
                facts = ("tool", "action", "approver", "answer", "user", "agent")
                self._count("approvals", tuple(event[fact] for fact in facts))
        except (ValueError, KeyError, TypeError):
            self.unreadable += 1

    def _add_call(self, event: dict[str, Any]) -> None:
        tool, outcome, elapsed_ms = event["tool"], event["outcome"], float(event["elapsed_ms"])
        slow = Slow(elapsed_ms, -self._seen, event["call_id"], tool, event["action"], event["ts"])
        self._seen += 1
        (heapq.heappush if len(self._slowest) < SLOWEST else heapq.heappushpop)(self._slowest, slow)
        self._count("outcomes", outcome)
        self._count("profiles", (event["profile"], outcome))
        key = self._count("tools", (tool, outcome))
        self._latencies.setdefault(OTHERS if key == OTHERS else tool, Latencies()).add(elapsed_ms)
        if outcome == "denied":
            rule = event["rule"]["text"] if event["rule"] else None
            facts = (event["profile"], tool, event["action"], event["reason"], rule, event["agent"], event["user"])
            self._count("denials", facts)
            self._count("reasons", event["reason"])

    def _count(self, table: str, key: Hashable) -> Hashable:
        counts = self._counts.setdefault(table, Counter())
        chosen = key if key in counts or len(counts) < MOST_KEYS else OTHERS
        counts[chosen] += 1
        return chosen

    def summary(self) -> dict[str, Any]:
        """All tables, as JSON values; the most frequent first."""
        outcomes = self._counts.get("outcomes", Counter())
        return {
            "calls": outcomes.total(),
            "outcomes": dict(outcomes.most_common()),
            "unreadable_lines": self.unreadable,
            "tools": [{**row, **self._spread(row["tool"])} for row in self._rates("tools", "tool")],
            "profiles": self._rates("profiles", "profile"),
            "reasons": self._rows("reasons", "reason"),
            "denials": self._rows("denials", "profile", "tool", "action", "reason", "rule", "agent", "user"),
            "approvals": self._rows("approvals", "tool", "action", "approver", "answer", "user", "agent"),
            "slowest": [_shown(slow) for slow in sorted(self._slowest, reverse=True)],
        }

    def _spread(self, tool: str) -> dict[str, float]:
        latencies = self._latencies[tool]
        return {f"p{round(share * 100)}_ms": latencies.percentile(share) for share in (0.5, 0.95, 0.99)}

    def _rows(self, table: str, *columns: str) -> list[dict[str, Any]]:
        counts = self._counts.get(table, Counter())
        return [
            {"count": count, **dict(zip(columns, key if isinstance(key, tuple) else [key] * len(columns), strict=True))}
            for key, count in counts.most_common()
        ]

    def _rates(self, table: str, column: str) -> list[dict[str, Any]]:
        found: dict[str, Counter[str]] = {}
        for row in self._rows(table, column, "outcome"):
            found.setdefault(row[column], Counter())[row["outcome"]] += row["count"]
        return [
            {column: name, "calls": by.total(), "denied": by["denied"], "errors": by["error"],
             "deny_rate": round(by["denied"] / by.total(), 4)}
            for name, by in sorted(found.items(), key=lambda item: -item[1].total())
        ]  # fmt: skip


def _shown(slow: Slow) -> dict[str, Any]:
    facts = slow._asdict()
    del facts["order"]
    return facts
