"""What sample set 002 does around a call: reading before writing, repeated calls, cached results."""

from pathlib import Path
from typing import Any

import pytest
from tests.cases.conftest import Bench, bash_tool, make_tool
from tests.samples import row_params, sample_rows

from toolcharter.api.call import Call, Caller, Deny
from toolcharter.guards.session import ActiveSessionGuards
from toolcharter.guards.session.state import digest_call
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import ReadBeforeWrite, Repeats, SessionGuards, SkipDuplicate

ROWS = sample_rows("seeds/002-dispatch")

# Rows that the design decides otherwise or leaves out, each with the sentence that does.
SUPERSEDED = {
    "002-dispatch-051": "design, section 1: a call is one use of a tool; a model's replies never reach the gate.",
    "002-dispatch-052": "design, section 1: a call is one use of a tool; a model's replies never reach the gate.",
    "002-dispatch-066": "design, section 7: `cancelled` is a reason of its own, never read out of a message.",
    "002-dispatch-071": "design, section 6: strings cut at 400 characters; `events: {args: full|shape|none}`.",
}
LATER = {"002-dispatch-069": "issue 3, section 4, lists the guards with memory; locks between agents are none of them."}
TOOLS = {"Write": "write_file", "Edit": "edit_file", "Read": "read_file"}
READING = {"Read", "Glob", "Grep"}


def params(chosen: Any) -> list[Any]:
    ours = [row for row in ROWS if row["id"] not in {*SUPERSEDED, *LATER}]
    return row_params([row for row in ours if chosen(row)])


def is_about_reading(row: dict[str, Any]) -> bool:
    return row["case"] == "read before write"


def has_calls(row: dict[str, Any], kind: type) -> bool:
    return all(isinstance(call, kind) for call in row["input"].get("calls", [None]))


def call_of(tool: str, **args: Any) -> Call:
    return Call(TOOLS.get(tool, tool), None, args, Caller(), "1", None, "p", Path("/ws"), "builtin", None, "low")


def memory_of(settings: SessionGuards, *, exists: bool = False) -> ActiveSessionGuards:
    return ActiveSessionGuards(settings, matcher=lambda _: lambda _: True, identify=lambda _: 1 if exists else None)


@pytest.mark.parametrize("row", params(is_about_reading))
def test_reading_before_writing(row: dict[str, Any]) -> None:
    """The same decision in each mode; a denial and a warning name the file."""
    given, expect = row["input"], row.get("unified", row["expect"])
    memory = memory_of(SessionGuards(ReadBeforeWrite(given["mode"])), exists=given["file_exists"])
    if given["was_read"]:
        read = call_of("Read", path=given["path"])
        memory.entered("s", read, has_effects=False)
        memory.after("s", read, "ok", "content")
    write = call_of(given["tool"], path=given["path"])

    verdict = memory.before("s", write)

    reason, said = (verdict.reason, verdict.message or "") if isinstance(verdict, Deny) else (None, "".join(verdict))
    speaks = expect["decision"] == "deny" or "warning" in expect
    wanted = {"deny": "precondition_failed", "allow": None}[expect["decision"]]
    assert (reason, repr(given["path"]) in said) == (wanted, speaks)


@pytest.mark.parametrize("row", params(lambda row: has_calls(row, str)))
def test_nothing_is_answered_from_a_cache(row: dict[str, Any]) -> None:
    """Every call runs again once something may have changed, as `unified` says."""
    settings = SessionGuards(repeated_calls=Repeats(deny=4), skip_duplicate=(SkipDuplicate(parse_rule("*")),))
    memory = memory_of(settings)
    outcomes = []
    for line in row["input"]["calls"]:
        tool, _, rest = line.partition(" ")
        call = call_of(tool, rest=rest)
        denial = memory.entered("s", call, has_effects=tool not in READING)
        memory.after("s", call, "ok", line)
        outcomes.append("run" if denial is None else denial.reason)

    assert outcomes == row.get("unified", row["expect"])["outcome"]


@pytest.mark.parametrize("row", params(lambda row: has_calls(row, dict)))
def test_order_of_arguments(row: dict[str, Any]) -> None:
    """Two calls are the same by their canonical arguments."""
    names = {digest_call("tool", None, args) for args in row["input"]["calls"]}

    assert (len(names) == 1) is row.get("unified", row["expect"])["same"]


def file_tools() -> list[Any]:
    """Stand-ins for sample set 002's tools; those that read say that they do no more."""
    reading = [make_tool(name, arguments=["path"], capabilities=["fs:read"]) for name in ("read_file", "glob", "grep")]
    return [*reading, *(make_tool(name, arguments=["path"]) for name in ("write_file", "edit_file")), bash_tool()]


@pytest.mark.parametrize("row", params(is_about_reading))
def test_reading_before_writing_at_the_gate(row: dict[str, Any], bench: Bench) -> None:
    """The same through a toolbox, with a real file: a denied write never enters its tool, a warned one says so."""
    given, expect = row["input"], row.get("unified", row["expect"])
    toolbox = bench.open({"session_guards": {"read_before_write": {"mode": given["mode"]}}}, *file_tools())
    args = {"path": given["path"]}
    if given["file_exists"]:
        (bench.workspace / given["path"]).write_text("content")
    if given["was_read"]:
        toolbox.call("read_file", args)

    result = toolbox.call(TOOLS[given["tool"]], args)

    denied = ("denied", "precondition_failed")
    assert (result.outcome, result.reason) == (denied if expect["decision"] == "deny" else ("ok", None))
    assert (repr(given["path"]) in f"{result.message}{result.text}") == (
        result.outcome == "denied" or "warning" in expect
    )


@pytest.mark.parametrize("row", params(lambda row: has_calls(row, str)))
def test_nothing_is_answered_from_a_cache_at_the_gate(row: dict[str, Any], bench: Bench) -> None:
    """With all guards against repetition on, what may have another result runs again."""
    guards = {"repeated_calls": {"deny": 4}, "skip_duplicate": [{"match": "*"}]}
    toolbox = bench.open({"mode": "dangerous", "session_guards": guards}, *file_tools())
    results = []
    for line in row["input"]["calls"]:
        tool, _, rest = line.partition(" ")
        name = TOOLS.get(tool, tool.lower())
        results.append(toolbox.call(name, {"command" if name == "bash" else "path": rest}))

    assert ["run" if one.outcome == "ok" else one.reason for one in results] == row.get("unified", row["expect"])[
        "outcome"
    ]


@pytest.mark.parametrize("row", params(lambda row: has_calls(row, dict)))
def test_order_of_arguments_at_the_gate(row: dict[str, Any], bench: Bench) -> None:
    """The second of two calls that are the same is a repetition."""
    names = {name for call in row["input"]["calls"] for name in call}
    toolbox = bench.open({"session_guards": {"repeated_calls": {"deny": 2}}}, make_tool("tool", arguments=names))

    reasons = [toolbox.call("tool", call).reason for call in row["input"]["calls"]]

    same = row.get("unified", row["expect"])["same"]
    assert reasons == [None, *(["repeated_call" if same else None] * (len(reasons) - 1))]


def test_every_row_is_run_or_listed() -> None:
    """No row is left out in silence, and the lists name real rows only."""
    run = {
        param.id
        for chosen in (is_about_reading, lambda row: has_calls(row, str), lambda row: has_calls(row, dict))
        for param in params(chosen)
    }

    assert run | SUPERSEDED.keys() | LATER.keys() == {row["id"] for row in ROWS}
