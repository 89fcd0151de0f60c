"""What sample set 000's hooks refuse, and which rows of sample set 004's hooks are about memory: none."""

from pathlib import Path
from typing import Any

import pytest
from tests.cases.conftest import Bench, bash_tool, make_tool
from tests.samples import row_params, sample_rows

from toolcharter import ToolResult
from toolcharter.api.call import Call, Caller, Deny
from toolcharter.guards.session import ActiveSessionGuards
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import SessionGuards, SkipDuplicate

# Rows that the design decides otherwise or leaves out, each with the sentence that does.
SUPERSEDED = {
    "000-hooks-017": "design, section 4: `deny`, `allow`, ... append, for the rest the child wins; no defaults by tool.",
    "004-hooks-guard-029": "design, section 3: `check_call(call)` denies or asks; it never changes arguments.",
    "004-hooks-guard-038": "design, section 2: checks are entry points in `toolcharter.extensions`, whoever the host is.",
    "004-hooks-guard-039": "design, section 2: checks are entry points in `toolcharter.extensions`, whoever the host is.",
    "004-hooks-guard-053": "design, section 2: checks are entry points in `toolcharter.extensions`, no scripts.",
    "004-hooks-guard-073": "lessons, section 1: out of scope is text-only manipulation of the user.",
    "004-hooks-guard-074": "lessons, section 1: out of scope is text-only manipulation of the user.",
    "004-hooks-guard-075": "lessons, section 1: out of scope is text-only manipulation of the user.",
}
CHECKS = {
    f"004-hooks-guard-{number}": "design, section 5, stage 4: plugin checks (`check_call`), not the guards with memory."
    for number in ("006", "010", "015", "022", "057")
}


def rows(name: str) -> list[dict[str, Any]]:
    return sample_rows(f"seeds/{name}")


HOOKS = [row for row in rows("000-hooks") if row["id"] not in SUPERSEDED]


def by_subject(rule: Rule) -> Any:
    def matches(call: Call) -> bool:
        subjects = (call.tool, f"{call.tool}:{call.action}")
        return any(map(rule.glob.matches, subjects))

    return matches


def skipping(hook: dict[str, Any]) -> SkipDuplicate:
    assert hook["type"] == "skip_duplicate"
    return SkipDuplicate(parse_rule(hook["match"]), tuple(hook["match_args"]))


def call_of(given: dict[str, Any]) -> Call:
    args = given["args"]
    action = args.get("action")
    return Call(given["tool"], action, args, Caller(), "1", None, "p", Path("/ws"), "builtin", None, "low")


@pytest.mark.parametrize("row", row_params(HOOKS))
def test_before_a_call(row: dict[str, Any]) -> None:
    """The same calls are refused, with the reason that ours have."""
    given = row["input"]
    settings = SessionGuards(skip_duplicate=tuple(map(skipping, given["before_tool"])))
    memory = ActiveSessionGuards(settings, matcher=by_subject, identify=lambda _: None)
    for earlier in given["history"]:
        call = call_of(earlier)
        memory.entered("s", call, has_effects=False)
        memory.after("s", call, "ok", earlier["result"])

    verdict = memory.before("s", call_of(given["call"]))

    reason = verdict.reason if isinstance(verdict, Deny) else None
    assert reason == {"reject": "repeated_call", "allow": None}[row["expect"]["verdict"]]


def guards_of(given: dict[str, Any]) -> dict[str, Any]:
    """The source's hooks as the guards of a profile."""
    before, after = given.get("before_tool", []), given.get("after_tool", [])
    depends = [hook for hook in before if hook["type"] == "depends_on"]
    skips = [hook for hook in before if hook["type"] == "skip_duplicate"]
    return {
        "depends_on": [
            {"match": hook["match"], "needs": hook["prior"], "args": [hook["match_arg"]] if "match_arg" in hook else []}
            for hook in depends
        ],
        "skip_duplicate": [{"match": hook["match"], "args": hook["match_args"]} for hook in skips],
        "after_call": [{"match": unless(hook), "message": hook["message"]} for hook in after],
    }


def unless(hook: dict[str, Any]) -> dict[str, Any]:
    """The source speaks unless an argument has a value; ours where a condition holds."""
    when = {argument: {"not": {"const": value}} for argument, value in hook.get("unless", {}).items()}
    return {"rule": hook["match"], **({"when": when} if when else {})}


def play(bench: Bench, given: dict[str, Any], call: dict[str, Any]) -> ToolResult:
    """Make the calls of the history, and then *call*, through a toolbox with the row's hooks."""
    made = [*given.get("history", []), call]
    patterns = [pattern for hook in given.get("before_tool", []) for pattern in (hook["match"], hook.get("prior"))]
    patterns += [hook["match"] for hook in given.get("after_tool", [])]
    names = {one["tool"] for one in made} | {pattern.partition(":")[0] for pattern in patterns if pattern} - {"*"}
    arguments = {argument for one in made for argument in one["args"]}
    tools = [bash_tool() if name == "bash" else make_tool(name, arguments=arguments) for name in sorted(names)]
    toolbox = bench.open({"mode": "dangerous", "session_guards": guards_of(given)}, *tools)
    for earlier in given.get("history", []):
        toolbox.call(earlier["tool"], earlier["args"])
    return toolbox.call(call["tool"], call["args"])


@pytest.mark.parametrize("row", row_params(HOOKS))
def test_through_a_toolbox(row: dict[str, Any], bench: Bench) -> None:
    """The same calls are refused at the gate, by the guard and for its reason; the others run."""
    result = play(bench, row["input"], row["input"]["call"])

    wanted = {"reject": ("denied", "repeated_call"), "allow": ("ok", None)}[row["expect"]["verdict"]]
    assert (result.outcome, result.reason) == wanted


RECALL = {"match": "memory:recall", "type": "skip_duplicate", "match_args": ["days"]}
SEND = {"match": "term:send", "type": "depends_on", "prior": "term:capture", "match_arg": "handle"}
SPAWN = {"match": "term:spawn", "message": "Start a watcher.", "unless": {"wait": True}}
BOTH = [{"match": "term:capture", "message": "Message A."}, {"match": "term:*", "message": "Message B."}]


def made(tool: str, action: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": {"action": action, **args}}


@pytest.mark.parametrize(
    ("hook", "history", "call", "reason"),
    [
        pytest.param(
            RECALL, [made("memory", "recall", days=7)], made("memory", "recall", days=30), None, id="other value"
        ),
        pytest.param(RECALL, [made("memory", "recall")], made("memory", "recall"), "repeated_call", id="absent twice"),
        pytest.param(
            RECALL, [made("memory", "write", days=7)], made("memory", "recall", days=7), None, id="other action"
        ),
        pytest.param(
            RECALL,
            [made("memory", "recall", days=7, query="a")],
            made("memory", "recall", days=7, query="b"),
            "repeated_call",
            id="what does not count differs",
        ),
        pytest.param(SEND, [], made("term", "send", handle="p1"), "precondition_failed", id="nothing before"),
        pytest.param(SEND, [made("term", "capture", handle="p1")], made("term", "send", handle="p1"), None, id="met"),
        pytest.param(
            SEND,
            [made("term", "capture", handle="p2")],
            made("term", "send", handle="p1"),
            "precondition_failed",
            id="met for another handle",
        ),
        pytest.param(SEND, [], made("term", "capture", handle="p1"), None, id="the other action"),
    ],
)
def test_more_before_a_call(hook: Any, history: Any, call: Any, reason: str | None, bench: Bench) -> None:
    """The source's own tests of its hooks, with our reasons."""
    result = play(bench, {"before_tool": [hook], "history": history}, call)

    assert result.reason == reason


@pytest.mark.parametrize(
    ("hooks", "call", "said"),
    [
        pytest.param([SPAWN], made("term", "spawn"), "Start a watcher.", id="spoken"),
        pytest.param([SPAWN], made("term", "spawn", wait=False), "Start a watcher.", id="another value"),
        pytest.param([SPAWN], made("term", "spawn", wait=True), None, id="unless"),
        pytest.param([SPAWN], made("term", "capture"), None, id="another action"),
        pytest.param(BOTH, made("term", "capture"), "Message A.\nMessage B.", id="two"),
    ],
)
def test_after_a_call(hooks: Any, call: Any, said: str | None, bench: Bench) -> None:
    """What the source's hooks tell the model behind a result, ours tell it in the same order."""
    result = play(bench, {"after_tool": hooks}, call)

    assert result.outcome == "ok"
    notes = [line.removeprefix("NOTE: ") for line in result.text.splitlines()[1:] if line]
    assert notes == ([] if said is None else said.splitlines())


def test_every_row_is_run_or_listed() -> None:
    """No row is left out in silence, and the lists name real rows only."""
    run = {row["id"] for row in HOOKS}

    assert run | SUPERSEDED.keys() | CHECKS.keys() == {
        row["id"] for name in ("000-hooks", "004-hooks-guard") for row in rows(name)
    }
