"""Counts calls, denials, approvals and latencies in event lines, in memory that does not grow with the file.

Latencies go into buckets whose borders grow by 2%, so each percentile is right to within 1% of its value.
"""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from toolcharter.cli.event_filters import ALL_EVENTS, EventFilter
from toolcharter.cli.output import in_one_line
from toolcharter.events import contract
from toolcharter.events.files import EventLine

MOST_KEYS = 1000
"""The most different keys that a table holds. Later keys are counted as `(others)`: a model can choose names."""
MOST_SPANS = 96
"""The most spans of time in which calls are counted. Where more would be needed, all spans become twice as long."""
MOST_ANSWERS = 10_000
"""The most answered calls that wait for their last event, which names the rule."""
SLOWEST = 10
LONGEST_ARGS = 60
"""The most characters of a call's arguments that a table shows."""
OTHERS = "(others)"
_GROWTH = math.log(1.02)
_LEAST_MS = 0.001
_PERCENTILES = (0.5, 0.95, 0.99)
_SKIPPED_PREFIXES = tuple(
    b'{"event":"%s"' % name.encode() for name in (contract.BEFORE, contract.POLICY_BEFORE, contract.POLICY_DENY)
)
_SAVED_APPROVAL = "approval "
"""The prefix of the rule that names a saved approval."""


class SlowCall(NamedTuple):
    """One of the slowest calls."""

    elapsed_ms: float
    order: int
    call_id: str
    tool: str
    action: str | None
    outcome: str
    ts: str
    agent: str | None
    user: str | None
    args: str | None


class Example(NamedTuple):
    """The first call of a row: the place of its rule, the line of its event, and a summary of its arguments."""

    rule_source: str | None
    first: str
    args: str | None


class Latencies:
    """The latencies of calls, as counts by bucket."""

    def __init__(self) -> None:
        self._buckets = Counter[int]()

    def add(self, elapsed_ms: float) -> None:
        """Count one call. All latencies below a microsecond share a bucket, as do all above eleven days."""
        self._buckets[math.ceil(math.log(min(max(elapsed_ms, _LEAST_MS), 1e9)) / _GROWTH)] += 1

    def percentile(self, share: float) -> float:
        """Return the least latency, in milliseconds, that *share* of the calls did not exceed; 0 < *share* <= 1."""
        wanted = math.ceil(share * self._buckets.total())
        borders = sorted(self._buckets)
        reached = accumulate(self._buckets[border] for border in borders)
        bucket = next(border for border, count in zip(borders, reached, strict=True) if count >= wanted)
        return _bucket_middle(bucket)

    def percentiles(self) -> dict[str, float]:
        """Return the percentiles that the tables show."""
        return {f"p{round(share * 100)}_ms": self.percentile(share) for share in _PERCENTILES}

    def histogram(self) -> list[dict[str, Any]]:
        """Count calls by upper border: 1, 2, 5, 10, 20, ... ms. A row counts calls above the previous row's border."""
        counts = Counter[float]()
        for bucket, count in self._buckets.items():
            counts[_round_border(_bucket_middle(bucket))] += count
        if not counts:
            return []
        least, most = min(counts), max(counts)
        return [{"up_to_ms": border, "count": counts[border]} for border in _borders() if least <= border <= most]


class Spans:
    """Counts of the calls by the time they ended, and by outcome."""

    def __init__(self) -> None:
        self.first: str | None = None
        self.last: str | None = None
        self._least = math.inf
        self._width_s = 1
        self._counts: dict[int, Counter[str]] = {}

    def add(self, ts: str, outcome: str) -> None:
        """Count a call that ended at *ts*.

        Raises:
            ValueError: *ts* is not a time.
        """
        moment = datetime.fromisoformat(ts).timestamp()
        self.first, self.last = min(self.first or ts, ts), max(self.last or ts, ts)
        self._least = min(self._least, moment)
        span = int(moment // self._width_s)
        if span not in self._counts:
            self._counts[span] = Counter()
            while max(self._counts) - min(self._counts) >= MOST_SPANS:
                self._widen()
                span //= 2
        self._counts[span][outcome] += 1

    def _widen(self) -> None:
        self._width_s *= 2
        wider: dict[int, Counter[str]] = {}
        for span, counts in self._counts.items():
            wider.setdefault(span // 2, Counter()).update(counts)
        self._counts = wider

    def rows(self) -> list[dict[str, Any]]:
        """Return the spans from the first to the last, including those without calls."""
        if not self._counts:
            return []
        return [
            {"from": self._start(span).isoformat(), **_outcome_counts(self._counts.get(span))}
            for span in range(min(self._counts), max(self._counts) + 1)
        ]

    def _start(self, span: int) -> datetime:
        """Return when *span* begins, but no earlier than the first event: a span may begin before the year 1."""
        return datetime.fromtimestamp(max(span * self._width_s, math.floor(self._least)), UTC)


class EventStats:
    """Counts lines one by one.

    Args:
        matches: Returns whether an event counts; by default all do.
    """

    def __init__(self, matches: EventFilter = ALL_EVENTS) -> None:
        self._matches = matches
        self.unreadable = 0
        self.redactions = 0
        self._counts = defaultdict[str, Counter[Hashable]](Counter)
        self._examples: dict[tuple[str, Hashable], Example] = {}
        self._latencies = defaultdict[Hashable, Latencies](Latencies)
        self._all_latencies = Latencies()
        self._spans = Spans()
        self._slowest: list[SlowCall] = []
        self._asked_because: dict[str, str | None] = {}
        self._answered: dict[str, tuple[tuple[str | None, ...], Example]] = {}
        self._seen = 0

    def add(self, line: EventLine) -> None:
        """Count *line*; a line that is not an event is counted as unreadable."""
        if line.raw.startswith(_SKIPPED_PREFIXES):
            return
        try:
            event = orjson.loads(line.raw)
            name = event["event"]
            if not self._matches(event):
                return
            match name:
                case contract.AFTER:
                    self._add_call(event, line)
                case contract.APPROVAL_REQUEST:
                    require_texts(event["call_id"], event["reason"])
                    _put_bounded(self._asked_because, event["call_id"], event["reason"])
                case contract.APPROVAL_DECISION:
                    self._add_answer(event, line)
                case _:
                    pass
        except (ValueError, KeyError, TypeError, OverflowError):
            self.unreadable += 1

    def _add_call(self, event: dict[str, Any], line: EventLine) -> None:
        outcome, elapsed_ms, ts = event["outcome"], float(event["elapsed_ms"]), event["ts"]
        redactions = int(event["redactions"])
        rule, source = (event["rule"]["text"], event["rule"].get("source")) if event["rule"] else (None, None)
        tool, action, who, reason = event["tool"], event["action"], (event["agent"], event["user"]), event["reason"]
        doing = (tool, action)
        require_texts(outcome, ts, event["call_id"], tool, action, *who, reason, rule, source, event["profile"])
        example = Example(source, f"{line.file}:{line.number}", summarise_args(event.get("args")))
        slow = SlowCall(elapsed_ms, -self._seen, event["call_id"], *doing, outcome, ts, *who, example.args)
        self._spans.add(ts, outcome)
        self._seen += 1
        (heapq.heappush if len(self._slowest) < SLOWEST else heapq.heappushpop)(self._slowest, slow)
        self.redactions += redactions
        self._count("outcomes", outcome)
        self._count("profiles", (event["profile"], outcome))
        self._count("callers", (*who, outcome))
        key = self._count("tools", (tool, outcome))
        self._latencies[OTHERS if key == OTHERS else tool].add(elapsed_ms)
        self._all_latencies.add(elapsed_ms)
        answer = self._answered.pop(event["call_id"], None)
        if answer is not None:
            self._count("approvals", (*answer[0], rule, *who), answer[1]._replace(rule_source=source))
        elif rule is not None and rule.startswith(_SAVED_APPROVAL):
            self._count("approvals", (*doing, None, "kept", None, rule, *who), example)
        if outcome == "denied":
            self._count("denials", (event["profile"], *doing, reason, rule, *who), example)
            self._count("reasons", reason)
        elif outcome == "error":
            self._count("errors", (tool, reason))

    def _add_answer(self, event: dict[str, Any], line: EventLine) -> None:
        because = self._asked_because.pop(event["call_id"], None)
        answer = (event["tool"], event["action"], event["approver"], event["answer"], because)
        require_texts(event["call_id"], *answer)
        example = Example(None, f"{line.file}:{line.number}", summarise_args(event.get("args")))
        late = _put_bounded(self._answered, event["call_id"], (answer, example))
        if late is not None:
            self._count("approvals", (*late[0], None, None, None), late[1])

    def _count(self, table: str, key: Hashable, example: Example | None = None) -> Hashable:
        counts = self._counts[table]
        chosen = key if key in counts or len(counts) < MOST_KEYS else OTHERS
        counts[chosen] += 1
        if example is not None:
            self._examples.setdefault((table, chosen), example)
        return chosen

    def summary(self) -> dict[str, Any]:
        """Return all tables as JSON values, the most frequent rows first."""
        for answer, example in self._answered.values():  # The files lack the last event of these calls.
            self._count("approvals", (*answer, None, None, None), example)
        self._answered.clear()
        outcomes = self._counts.get("outcomes", Counter())
        calls = outcomes.total()
        who = ("agent", "user")
        return {
            "calls": calls,
            "first": self._spans.first,
            "last": self._spans.last,
            "outcomes": dict(outcomes.most_common()),
            "redactions": self.redactions,
            "unreadable_lines": self.unreadable,
            "latency": self._all_latencies.percentiles() if calls else {},
            "tools": [
                {**row, **self._latencies[row["tool"]].percentiles()} for row in self._outcome_rows("tools", "tool")
            ],
            "profiles": self._outcome_rows("profiles", "profile"),
            "callers": self._outcome_rows("callers", *who),
            "reasons": [
                {**row, "deny_rate": round(row["count"] / calls, 4)} for row in self._rows("reasons", "reason")
            ],
            "denials": self._rows("denials", "profile", "tool", "action", "reason", "rule", *who),
            "errors": self._rows("errors", "tool", "reason"),
            "approvals": self._rows("approvals", "tool", "action", "approver", "answer", "asked_because", "rule", *who),
            "slowest": [_slow_row(slow) for slow in sorted(self._slowest, reverse=True)],
            "histogram": self._all_latencies.histogram(),
            "over_time": self._spans.rows(),
        }

    def _rows(self, table: str, *columns: str) -> list[dict[str, Any]]:
        counts = self._counts.get(table, Counter())
        return [
            {
                "count": count,
                **dict(zip(columns, key if isinstance(key, tuple) else [key] * len(columns), strict=True)),
                **(example._asdict() if (example := self._examples.get((table, key))) else {}),
            }
            for key, count in counts.most_common()
        ]

    def _outcome_rows(self, table: str, *columns: str) -> list[dict[str, Any]]:
        found: dict[tuple[Any, ...], Counter[str]] = {}
        for row in self._rows(table, *columns, "outcome"):
            found.setdefault(tuple(row[column] for column in columns), Counter())[row["outcome"]] += row["count"]
        return [
            {
                **dict(zip(columns, names, strict=True)),
                **_outcome_counts(by),
                "deny_rate": round(by["denied"] / by.total(), 4),
            }
            for names, by in sorted(found.items(), key=lambda item: -item[1].total())
        ]


def require_texts(*values: object) -> None:
    """Refuse a line whose fields are neither text nor null: no gate has written it.

    Raises:
        TypeError: One of *values* is neither text nor null.
    """
    if not all(value is None or isinstance(value, str) for value in values):
        raise TypeError


def summarise_args(args: object) -> str | None:
    """Summarise a call's arguments in few characters, safe for a terminal: the command, the path, or all as JSON."""
    if not isinstance(args, dict) or not args:
        return None
    text = next((args[name] for name in ("command", "path") if isinstance(args.get(name), str)), None)
    if text is None:
        try:
            text = orjson.dumps(args).decode()
        except TypeError:  # Nested deeper than a gate writes.
            return None
    cut = text if len(text) <= LONGEST_ARGS else f"{text[:LONGEST_ARGS]}..."
    return in_one_line(cut)


def format_cell(column: str, value: object) -> str:
    """Format *value* for a table; `-` for an approver without a name."""
    if value is None:
        return "-" if column == "approver" else ""
    return str(value)


def _put_bounded(kept: dict[str, Any], call_id: str, value: Any) -> Any:
    """Store the *value* of a call; if there are too many, remove and return the oldest."""
    forgotten = kept.pop(next(iter(kept))) if len(kept) >= MOST_ANSWERS else None
    kept[call_id] = value
    return forgotten


def _outcome_counts(counts: Counter[str] | None) -> dict[str, int]:
    by = counts or Counter()
    return {"calls": by.total(), "denied": by["denied"], "errors": by["error"]}


def _bucket_middle(bucket: int) -> float:
    return round(math.exp((bucket - 0.5) * _GROWTH), 3)


def _borders() -> Iterator[float]:
    return (factor * 10.0**exponent for exponent in range(-3, 10) for factor in (1, 2, 5))


def _round_border(elapsed_ms: float) -> float:
    return next((border for border in _borders() if elapsed_ms <= border), 5e9)


def _slow_row(slow: SlowCall) -> dict[str, Any]:
    facts = slow._asdict()
    del facts["order"]
    return facts
