"""Sample set 004 of subagents and of calls that lead nowhere, row by row."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.cases.conftest import Bench, tool_of
from tests.samples import row_params, sample_rows

from toolcharter.guards.session.state import of_call

ROWS = sample_rows("seeds/004-subagent-loop")
READ_STREAK = {"warn": 8, "deny": 12, "exploring": {"warn": 24, "deny": 36}}
"""The source's numbers."""
READING, CHANGING, WAITING = frozenset({"fs:read"}), frozenset({"fs:write"}), frozenset({"text"})
TOOLS = (
    tool_of("read_file", arguments=["path"], capabilities=READING),
    tool_of("edit", capabilities=CHANGING),
    tool_of("wait", capabilities=WAITING),
    tool_of("exec", "bash", capabilities={"proc:exec"}),
    tool_of("mcp__mail__query", "mcp", capabilities=READING),
    # What the source knows of the actions of its task tool; an action that is not declared may do anything.
    tool_of(
        "team_tasks",
        capabilities={**dict.fromkeys(("list", "get", "search"), READING), "progress": WAITING, "create": CHANGING},
    ),
)
Calls = Callable[..., str]


def params(*given: str, expected: str) -> list[Any]:
    return row_params([row for row in ROWS if set(given) <= row["input"].keys() and expected in row["expect"]])


@pytest.fixture
def levels(bench: Bench) -> Calls:
    """One session of calls, each with what the source would say to it; its `critical` is the refusal."""
    toolbox = bench.open({"mode": "dangerous", "session_guards": {"read_streak": READ_STREAK}}, *TOOLS)

    def call(tool: str, **args: Any) -> str:
        result = toolbox.call(tool, args)
        assert (result.outcome, result.reason) in {("ok", None), ("denied", "repeated_call")}
        return "critical" if result.reason else "warning" if "NOTE: " in result.text else ""

    return call


def streak(levels: Calls) -> int:
    """How many reads the guard has counted: how many fewer than 8 more of the same it takes to be warned."""
    following = [levels("read_file", path="a.txt") for _ in range(8)]
    return 7 - following.index("warning")


@pytest.mark.parametrize("row", params("reads", "distinct", expected="level"))
def test_reads_in_a_row(row: dict[str, Any], levels: Calls) -> None:
    """The different ones come first, then the first of them again."""
    given = row["input"]
    paths = [f"{number if number < given['distinct'] else 0}.txt" for number in range(given["reads"])]

    said = [levels("read_file", path=path) for path in paths]

    assert said[-1] == (row["expect"]["level"] or "")


@pytest.mark.parametrize("row", params("calls", expected="streak"))
def test_what_a_call_does_to_the_streak(row: dict[str, Any], levels: Calls) -> None:
    """Programs count neither way."""
    for text in row["input"]["calls"]:
        number, _, what = text.rpartition(" ")
        for _ in range(int(number or 1)):
            levels(*(("read_file",) if what in {"read", "reads"} else (what,)), **({"path": "a.txt"} if number else {}))

    assert streak(levels) == row["expect"]["streak"]


@pytest.mark.parametrize("row", params("action", expected="streak"))
def test_what_an_action_does_to_the_streak(row: dict[str, Any], levels: Calls) -> None:
    """Five reads, then the task tool: looking is one more read, and what it writes ends them."""
    for _ in range(5):
        levels("read_file", path="a.txt")

    levels("team_tasks", action=row["input"]["action"])

    assert streak(levels) == row["expect"]["streak"]


@pytest.mark.parametrize("row", row_params([row for row in ROWS if "same hash" in row["case"]]))
def test_calls_by_what_makes_them_the_same(row: dict[str, Any]) -> None:
    """Tool and arguments, in whatever order the arguments are."""
    first = of_call("list_files", None, {"path": ".", "depth": 1})

    same = first == of_call("list_files", None, {"depth": 1, "path": "."})
    other = first == of_call("read_file", None, {"path": ".", "depth": 1})

    assert (same, other) == (row["expect"]["ok"], False)
