"""Call records and counters, as HDN's cases say."""

from typing import Any

import orjson
import pytest

from toolcharter_service.watch.records import EndedCall, ToolMetrics, ended_calls, usage_lists


def after(outcome: str = "ok", **fields: Any) -> bytes:
    """The last event of a call."""
    event = {
        "event": "hook.tool.after",
        "ts": "2026-11-24T20:00:00.000000Z",
        "call_id": "c1",
        "agent": "ada",
        "project": "site",
        "tool": "read_file",
        "args": {"path": "a"},
        "outcome": outcome,
        "reason": None,
        "message": None,
        "elapsed_ms": 12.4,
        "output_chars": 3,
        "truncated": False,
        "fields": {"bytes": 3},
    }
    return orjson.dumps({**event, **fields}) + b"\n"


def describe(_: str | None, tool: str) -> tuple[tuple[str, ...], str]:
    """What is known of every tool."""
    return (f"{tool}:read",), "low"


def test_a_record_has_the_fields_of_its_source() -> None:
    """In its words: success, and no `error` where there was none."""
    ((record, duration_ms),) = ended_calls(after(), describe)

    assert duration_ms == 12.4
    assert record == {
        "id": "c1",
        "tool_id": "read_file",
        "tool_name": "read_file",
        "parameters": {"path": "a"},
        "status": "success",
        "duration_ms": 12,
        "agent_id": "ada",
        "project_id": "site",
        "timestamp": "2026-11-24T20:00:00.000000Z",
        "response": {"output_chars": 3, "truncated": False, "bytes": 3},
        "permissions": ["read_file:read"],
        "safety_level": "low",
    }


@pytest.mark.parametrize(
    ("outcome", "status", "counter"),
    [
        pytest.param("ok", "success", "success_calls", id="success"),
        pytest.param("error", "failure", "failure_calls", id="failure"),
        pytest.param("denied", "blocked", "blocked_calls", id="blocked"),
    ],
)
def test_a_call_is_recorded_and_counted_once(outcome: str, status: str, counter: str) -> None:
    """Seed 001-registry-lifecycle-045: a blocked call leaves one record, `blocked`, and counts as one call."""
    deny = orjson.dumps({"event": "hook.policy.deny", "call_id": "c1", "tool": "read_file"}) + b"\n"
    calls = ended_calls(deny + after(outcome, reason="because", message="of it"), describe)

    assert [call.record["status"] for call in calls] == [status]
    assert calls[0].record.get("error") == (None if outcome == "ok" else "because: of it")
    metrics = counted(12.4, record=dict(calls[0].record))
    assert metrics.model_dump(include={"total_calls", "success_calls", "failure_calls", "blocked_calls"}) == {
        "total_calls": 1,
        "success_calls": 0,
        "failure_calls": 0,
        "blocked_calls": 0,
        counter: 1,
    }


def counted(*durations_ms: float, record: dict[str, Any] | None = None) -> ToolMetrics:
    """The counters after calls that took so long."""
    metrics = ToolMetrics(tool_id="t", tool_name="t", last_called="", created_at="")
    for duration_ms in durations_ms:
        metrics = metrics.with_calls([EndedCall(record or {"status": "success", "timestamp": "now"}, duration_ms)])
    return metrics


@pytest.mark.parametrize(
    ("durations_ms", "averages"),
    [
        pytest.param([10, 20, 30], [10.0, 15.0, 20.0], id="001-registry-lifecycle-050"),
        pytest.param([0, 10], [0, 10.0], id="what-took-no-time-comes-first"),
        pytest.param([10, 0, 20], [10.0, 10.0, 40 / 3], id="what-took-no-time-leaves-the-average"),
    ],
)
def test_the_average_runs(durations_ms: list[float], averages: list[float]) -> None:
    """After each call."""
    shown = [counted(*durations_ms[: number + 1]).avg_duration_ms for number in range(len(durations_ms))]
    assert shown == averages


def test_many_calls_count_as_they_do_one_by_one() -> None:
    """Whatever their outcomes; the time of the last is kept."""
    calls = [
        EndedCall({"status": status, "timestamp": f"t{number}"}, number)
        for number, status in enumerate(["success", "blocked", "success", "failure", "success"])
    ]
    one_by_one = counted(3.0)
    for call in calls:
        one_by_one = one_by_one.with_calls([call])

    at_once = counted(3.0).with_calls(calls)

    assert at_once == one_by_one
    assert (at_once.total_calls, at_once.success_calls, at_once.last_called) == (6, 4, "t4")


def test_usage_goes_to_the_agents_list_and_everybodys() -> None:
    """Without agent, and for one that is called `global`, to everybody's alone."""
    lines = (
        after() + after("denied", agent=None, call_id="c2", reason="no") + after("error", agent="global", call_id="c3")
    )
    lists = usage_lists(ended_calls(lines, describe))

    assert {name: [entry["id"] for entry in entries] for name, entries in lists.items()} == {
        "tools:global:usage_history": ["c1", "c2", "c3"],
        "tools:ada:usage_history": ["c1"],
    }
    assert lists["tools:global:usage_history"][1] == {
        "ts": "2026-11-24T20:00:00.000000Z",
        "agent_id": "",
        "type": "failed",
        "tool": "read_file",
        "id": "c2",
        "status": "blocked",
        "duration_ms": 12,
        "project_id": "site",
        "error": "no",
    }


def test_a_torn_line_is_left_out() -> None:
    """A process died while it wrote; what comes behind counts."""
    assert len(ended_calls(after()[:50] + b"\n" + after(), describe)) == 1
