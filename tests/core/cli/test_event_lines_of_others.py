"""Event files may hold anything: whoever reads them gets tables, and no traceback."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcharter import Toolbox, build_tools
from toolcharter.cli import event_diff
from toolcharter.cli.event_check import EventCheck
from toolcharter.cli.event_diff import EventDiff
from toolcharter.cli.event_filters import ALL_EVENTS
from toolcharter.cli.event_page import render_page
from toolcharter.cli.event_stats import EventStats
from toolcharter.cli.event_tail import event_parser, line_parts
from toolcharter.events import contract
from toolcharter.events.files import EventLine

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
RULE = {"text": "a", "source": "b"}
GOOD: dict[str, Any] = {
    **dict.fromkeys((*contract.BASE_FIELDS, *contract.AFTER_FIELDS, *contract.DECISION_FIELDS)),
    "ts": "2026-11-21T10:15:37.042Z", "depth": 0, "tool": "list_files", "args": {"path": "."}, "outcome": "denied",
    "call_id": "c", "elapsed_ms": 1.5, "redactions": 0, "rule": RULE, "reason": "not_in_allow", "profile": "p",
}  # fmt: skip
MOMENTS = st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """An event of which some fields are anything."""
    event = GOOD | {"event": draw(st.sampled_from(contract.EVENTS)), "ts": draw(MOMENTS)}
    event |= draw(st.dictionaries(st.sampled_from(sorted(GOOD)), JSON, max_size=3))
    for field in draw(st.sets(st.sampled_from(sorted(GOOD)), max_size=2)):
        event.pop(field, None)
    return orjson.dumps(event)


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory):
    with build_tools("minimal", workspace=tmp_path_factory.mktemp("ws"), events=lambda _: None) as box:
        yield box


@given(st.lists(lines() | JSON.map(orjson.dumps) | st.binary(max_size=20), max_size=8))
@settings(max_examples=200)
def test_any_line_is_counted_or_called_unreadable(toolbox, raws: list[bytes]) -> None:
    """By every reader: what it counts adds up, and what it makes of it is JSON, text and HTML."""
    stats, check, diff, wanted = (
        EventStats(),
        EventCheck(),
        EventDiff(lambda _: (toolbox, toolbox)),
        event_parser(ALL_EVENTS, whole=True),
    )
    for number, raw in enumerate(raws, 1):
        line = EventLine("f", number, raw)
        stats.add(line)
        diff.add(line)
        shown = [*check.faults(line), *map(str, line_parts(wanted(raw) or {"event": "x"}))]
        assert "" not in shown

    summary, compared = stats.summary(), diff.summary()
    page = render_page(json.loads(orjson.dumps(summary)), ["f"], 3)
    assert page.startswith("<!doctype html>")
    assert sum(row["calls"] for row in summary["over_time"]) == summary["calls"] == sum(summary["outcomes"].values())
    assert sum(row["calls"] for row in summary["tools"]) == summary["calls"]
    assert compared["same"] + compared["undecidable"] == compared["calls"]
    assert all("is its last event" in fault for fault in check.unfinished_calls())


@pytest.mark.parametrize("depth", [300, 1000, 100_000])
def test_a_line_nested_deeper_than_a_gate_writes_is_no_event(toolbox, depth: int) -> None:
    """Reading it does not exhaust the stack, nor does writing what was read."""
    deep = b'{"event":"hook.tool.before","args":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    diff = EventDiff(lambda _: (toolbox, toolbox))

    diff.add(EventLine("f", 1, orjson.dumps({**GOOD, "event": contract.BEFORE})[:-1] + b"," + deep[1:]))

    assert (event_parser(ALL_EVENTS, whole=True)(deep), diff.unreadable + diff.calls) == (None, 1)


def test_a_moment_of_the_first_year_has_a_span() -> None:
    """The spans before it would begin where there are no dates."""
    stats = EventStats()
    for ts in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        stats.add(EventLine("f", 1, orjson.dumps({**GOOD, "event": contract.AFTER, "ts": ts})))

    rows = stats.summary()["over_time"]
    assert (rows[0]["from"], rows[0]["calls"], rows[-1]["calls"]) == ("0001-01-01T00:00:00+00:00", 1, 1)


def test_a_call_with_arguments_nested_deeper_than_a_gate_writes_counts_without_them() -> None:
    """They can be read, and not be written again."""
    stats, deep = EventStats(), b'{"a":' * 300 + b"1" + b"}" * 300
    raw = orjson.dumps({**GOOD, "event": contract.AFTER, "args": {"x": "HERE"}}).replace(b'"HERE"', deep)

    stats.add(EventLine("f", 1, raw))

    summary = stats.summary()
    assert (summary["calls"], summary["slowest"][0]["args"], summary["unreadable_lines"]) == (1, None, 0)


def test_of_many_toolboxes_the_first_are_forgotten(toolbox, monkeypatch) -> None:
    """Their calls are decided as if nobody knew where they were made."""
    monkeypatch.setattr(event_diff, "MOST_TOOLBOXES", 2)
    asked: list[str | None] = []

    def both(workspace: str | None) -> tuple[Toolbox, Toolbox]:
        asked.append(workspace)
        return toolbox, toolbox

    diff = EventDiff(both)
    opens = [
        {"event": contract.TOOLBOX_OPEN, "profile": name, "profile_digest": "d", "workspace": f"/{name}"}
        for name in "abc"
    ]
    calls = [
        {**GOOD, "event": contract.BEFORE, "profile": name, "profile_digest": "d", "args": {"word": name}}
        for name in "abc"
    ]

    for event in (*opens, *calls):
        diff.add(EventLine("f", 1, orjson.dumps(event)))

    assert (diff.calls, asked) == (3, [None, "/b", "/c"])
