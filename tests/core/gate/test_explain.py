"""`Toolbox.explain`: what every stage of a dry run looked at and said."""

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcharter.api.approval import ApprovalAnswer
from toolcharter.api.call import Ask, Caller, Decision, Deny, Invocation
from toolcharter.api.explanation import Explanation, RuleNote, Step
from toolcharter.errors import ToolboxClosed
from toolcharter.profile.model import Limits
from toolcharter.profile.settings import Availability, Capabilities, Ceiling, Rate, Rates, Repeats, SessionGuards

from .conftest import spec_of, spec_with_runtime

NO_ARGUMENTS = "nothing: there are no valid arguments"
AHEAD = ("name", "arguments")
POLICY = ("floor", "deny", "availability", "capability", "ask", "mode")
BEHIND = ("check", "guard", "approval", "limit", "tool")


def greet(rt):
    def tool(name: str = "Ann", how: str = ""):
        ctx = rt.start("greet", name=name)
        if name == "Bob":
            return ctx.deny("not_listed", "Only Ann.")
        ctx.policy_passed()
        if how == "sleep":
            time.sleep(1)
        return ctx.ok("done")

    return tool


def greet_spec(**facts: Any) -> Any:
    return spec_with_runtime(greet, **{"staged": True, "capabilities": {"text"}, "safety": "low", **facts})


def bash_spec() -> Any:
    def bash(command: str) -> str:
        return f"ran {command}"

    return spec_of(bash, kind="bash", invocation=lambda args: Invocation(commands=(args["command"],)))


def verdicts(explanation: Explanation) -> dict[str, str]:
    return {step.stage: step.verdict for step in explanation.steps}


def deciding(explanation: Explanation) -> Step:
    (step,) = [step for step in explanation.steps if step.decides]
    return step


PASSED = dict.fromkeys((*AHEAD, *POLICY, *BEHIND), "pass")


def test_an_allowed_call_in_full(make_toolbox, events) -> None:
    """Every stage in the order of the gate; nothing is executed or logged."""
    toolbox = make_toolbox(greet_spec())

    found = toolbox.explain("Greet", {"name": "Ann"})

    allowed = Decision("allow", "mode", tool_checks="passed")
    assert found == Explanation(
        tool="greet",
        action=None,
        args={"name": "Ann", "how": ""},
        commands=(),
        profile="test",
        profile_digest=toolbox.digest,
        decision=allowed,
        steps=(
            Step("name", "'greet', from toolcharter-test; given as 'Greet'", "pass"),
            Step("arguments", "the schema of the arguments: how, name", "pass"),
            Step("floor", "what the call would run: no commands", "pass"),
            Step("deny", "deny rules: 0", "pass"),
            Step("availability", "the entries of `availability` for this caller", "pass"),
            Step("capability", "capabilities: text; safety 'low'; bounded by: nothing", "pass"),
            Step("ask", "ask rules: 0", "pass"),
            Step(
                "mode",
                "mode: policy; the tool is bounded, of kind 'builtin'; allow rules: 0",
                "allow",
                Decision("allow", "mode"),
                decides=True,
                changes=("add a deny rule such as 'greet'",),
            ),
            Step("check", "checks of plugins: none", "pass"),
            Step("guard", "session guards: none", "pass"),
            Step("approval", "no person has to be asked", "pass"),
            Step("limit", "rate limits: none apply to the tool", "pass"),
            Step("tool", "its own checks, in a dry run", "pass"),
        ),
    )
    assert json.loads(json.dumps(found.plain()))["decision"]["tool_checks"] == "passed"
    assert events == []


def asked(mode: str) -> dict[str, str]:
    return {**PASSED, "mode": mode, "approval": "unknown"}


def test_limits_and_guards_that_concern_the_call_are_named(make_toolbox) -> None:
    """What no dry run can ask is told as the profile and its ceilings have it, the smaller number once."""
    rates = Rates(Rate(calls_per_minute=9), tools={"greet": Rate(calls_per_hour=3), "other": Rate(calls_per_hour=1)})
    ceiling = Ceiling("site", rates=Rates(Rate(calls_per_minute=5)))
    memory = SessionGuards(repeated_calls=Repeats(deny=2), same_result=Repeats(warn=2))
    toolbox = make_toolbox(greet_spec(), rates=rates, ceilings=(ceiling,), session_guards=memory)

    found = {step.stage: (step.looked_at, step.verdict) for step in toolbox.explain("greet", {"name": "Ann"}).steps}

    limits = "rate limits: calls_per_minute 5, calls_per_hour 3 for greet; not counted in a dry run"
    assert found["limit"] == (limits, "unknown")
    assert found["guard"] == ("session guards: repeated_calls, same_result", "pass")


ROWS = [
    pytest.param(
        {}, {"deny": ["greet"]}, {"deny": "deny", "mode": "allow", **dict.fromkeys(BEHIND, "unknown")}, id="rule"
    ),
    pytest.param({"name": "Bob"}, {}, {"mode": "allow", "tool": "deny"}, id="tool"),
    pytest.param(
        {"name": 1}, {}, {"arguments": "error", **dict.fromkeys((*POLICY, *BEHIND), "unknown")}, id="arguments"
    ),
    pytest.param({}, {"mode": "ask"}, asked("ask"), id="ask"),
    pytest.param({"name": "Bob"}, {"mode": "ask"}, {**asked("ask"), "tool": "deny"}, id="ask, and the tool refuses"),
    pytest.param(
        {},
        {"checks": {"a": lambda call: Deny("no", "No.")}},
        {"mode": "allow", "check": "deny", **dict.fromkeys(BEHIND[1:], "unknown")},
        id="check",
    ),
    pytest.param(
        {}, {"checks": {"a": lambda call: Ask("hm", "Hm.")}}, {**asked("allow"), "check": "ask"}, id="asking check"
    ),
    pytest.param({}, {"rates": Rates(Rate(calls_per_hour=1))}, {"mode": "allow", "limit": "unknown"}, id="rates"),
]


@pytest.mark.parametrize(("args", "settings", "expected"), ROWS)
def test_the_decision_is_that_of_decide(args, settings, expected, make_toolbox, events) -> None:
    """One step decides, at the stage of the decision and with its reason; later ones say what they would, if they can."""
    toolbox = make_toolbox(greet_spec(), **settings)

    found = toolbox.explain("greet", args)

    assert found.decision == toolbox.decide("greet", args)
    assert verdicts(found) == {**PASSED, **expected}
    step = deciding(found)
    assert (step.stage, step.decision and step.decision.reason) == (found.decision.stage, found.decision.reason)
    assert events == []


def test_a_call_that_the_memory_refuses(make_toolbox) -> None:
    """What a session has done before counts, and the explanation itself does not."""
    toolbox = make_toolbox(greet_spec(), session_guards=SessionGuards(repeated_calls=Repeats(deny=2)))
    toolbox.call("greet", {})

    found = [toolbox.explain("greet", {}) for _ in range(3)][-1]

    assert deciding(found).stage == "guard"
    assert found.decision.reason == "repeated_call"


def test_a_kept_approval_is_named(make_toolbox, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any) -> None:
    """It turns `ask` into `allow`, and the explanation says which one did and how to undo it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    toolbox = make_toolbox(greet_spec(), mode="ask", approver=lambda _: ApprovalAnswer("allow_always", "ann"))
    toolbox.call("greet", {})

    found = toolbox.explain("greet", {})

    step = deciding(found)
    assert (found.decision.outcome, step.stage, step.verdict) == ("allow", "approval", "allow")
    assert [note.said for note in step.rules] == ["was saved, and covers the call"]
    assert step.changes == ("forget it with `toolcharter approvals forget`",)
    assert verdicts(found)["mode"] == "ask"


def test_a_body_that_takes_too_long_to_check(make_toolbox) -> None:
    """A dry run has the time of a call."""
    go_on = threading.Event()

    def slow(rt):
        def tool() -> str:
            go_on.wait(60)
            return ""

        return tool

    toolbox = make_toolbox(spec_with_runtime(slow, staged=True, isolate=True), limits=Limits(timeout_s=0.05))

    step = deciding(toolbox.explain("slow", {}))
    go_on.set()

    assert (step.stage, step.verdict, step.changes) == ("limit", "error", ("raise `timeout_s` in `limits`",))


def test_a_tool_that_is_not_staged_is_never_entered(make_toolbox) -> None:
    """Only a call can tell what it checks."""

    def act() -> str:
        raise AssertionError("entered")

    found = make_toolbox(spec_of(act)).explain("act", {})

    assert found.steps[-1] == Step("tool", "it is not staged: only a real call shows its checks", "unknown")


def test_invalid_arguments_show_every_fault(make_toolbox) -> None:
    """Each fault is something to mend; the arguments are shown as they were given."""
    found = make_toolbox(greet_spec()).explain("greet", {"nam": "x", "how": 1})

    step = deciding(found)
    assert step.changes == (
        "fix how: Input should be a valid string",
        "fix nam: no such argument. Did you mean 'name'?",
    )
    assert found.args == {"nam": "x", "how": 1}
    assert {step.looked_at for step in found.steps if step.stage in POLICY} == {NO_ARGUMENTS}


def test_arguments_that_are_no_mapping(make_toolbox) -> None:
    """Even they are answered."""
    toolbox = make_toolbox(greet_spec())

    found = [toolbox.explain(name, 5) for name in ("greet", "x")]

    assert [(one.decision.reason, one.args) for one in found] == [("invalid_arguments", {}), ("unknown_tool", {})]


def test_a_hidden_tool_says_why(make_toolbox) -> None:
    """Everything that hides it from this caller is named, and that it is not listed."""
    entries = (Availability(deny=("greet",), place="p.yaml:3:5"), Availability(tools=("x",), place="p.yaml:4:5"))
    toolbox = make_toolbox(greet_spec(), availability=entries, caller=Caller(agent="a"))

    found = toolbox.explain("greet", {})

    assert found.hidden == replace(found.decision, hint=None)
    assert deciding(found).rules == (
        RuleNote("greet", "p.yaml:3:5", "denies it to this caller", decides=True),
        RuleNote("[x]", "p.yaml:4:5", "leaves it out for this caller"),
    )


def test_commands_are_shown_without_their_secrets(make_toolbox) -> None:
    """Neither the command, nor what was looked at, nor the advised rule holds one."""
    token = "ghp_" + "a1B2" * 9
    line = f"curl -H {token}"

    found = make_toolbox(bash_spec()).explain("bash", {"command": line})

    assert found.commands == ("curl -H [REDACTED]",)
    assert deciding(found).changes == ("add an allow rule such as 'bash:curl -H [REDACTED]'",)
    assert token not in json.dumps(found.plain())


def test_arguments_that_became_objects_are_shown_as_text(make_toolbox) -> None:
    """A validator may make a path of a text."""

    def look(path: Path) -> str:
        return str(path)

    assert make_toolbox(spec_of(look)).explain("look", {"path": "a/b"}).args == {"path": "a/b"}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param(
            "gret",
            ("call it by its name. Did you mean 'greet'?", "no installed plugin provides it."),
            id="near",
        ),
        pytest.param("salve", ("list 'salve' under `tools`: 'toolcharter-salve' provides it",), id="installed"),
        pytest.param("salv", ("no installed plugin provides it. Did you mean 'salve'?",), id="nearly installed"),
    ],
)
async def test_an_unknown_name_has_what_is_near(name, changes, make_toolbox, monkeypatch) -> None:
    """In the profile, or among what is installed and not listed."""

    class Index:
        class _Entry:
            distribution = "toolcharter-salve"

        tools = {"salve": _Entry}  # noqa: RUF012 - a stand-in

    monkeypatch.setattr("toolcharter.loader.scan.find_installed", Index)
    toolbox = make_toolbox(greet_spec())

    found = toolbox.explain(name, {"a": 1})

    looked_at = "the 1 tools of the profile, by name and alias"
    decision = toolbox.decide(name, {})
    assert found.steps == (Step("name", looked_at, "deny", decision, decides=True, changes=changes),)
    assert (found.tool, found.args, found.decision) == (name, {"a": 1}, decision)
    assert await toolbox.aexplain(name, {"a": 1}) == found


async def test_the_same_from_asynchronous_code(make_toolbox) -> None:
    """`aexplain` answers as `explain` does, for asynchronous tools too."""

    async def later(name: str = "Ann") -> str:
        return name

    toolbox = make_toolbox(spec_of(later), greet_spec())

    assert await toolbox.aexplain("greet", {"name": "Bob"}) == toolbox.explain("greet", {"name": "Bob"})
    assert (await toolbox.aexplain("later", {})).decision.outcome == "allow"


@pytest.mark.parametrize("deny", [["greet"], []])
def test_rules_that_cannot_answer_are_told(deny, make_toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision stands all the same; what the rules would have said is unknown."""
    toolbox = make_toolbox(greet_spec(), deny=deny, mode="restrict")
    monkeypatch.setattr("toolcharter.policy.rules_by_tool.AllowRules.first", lambda *_: 1 / 0)

    found = toolbox.explain("greet", {})

    step = deciding(found)
    assert step.looked_at == "a rule cannot be compared with the call: ZeroDivisionError"
    assert (step.stage, found.decision.outcome) == ("deny" if deny else "floor", "deny")
    assert {one.verdict for one in found.steps if one.stage in POLICY and not one.decides} == {"unknown"}


DENIALS = [
    pytest.param({"availability": (Availability(deny=("greet",)),)}, "not_available", id="availability"),
    pytest.param({"deny": ["greet"]}, "denied_by_rule", id="rule"),
    pytest.param({"deny": [{"rule": "greet", "reason": "no_greetings"}]}, "no_greetings", id="a rule's own reason"),
    pytest.param({"mode": "restrict"}, "not_in_allow", id="mode"),
    pytest.param({"capabilities": Capabilities(())}, "capability_not_allowed", id="capability"),
    pytest.param({"capabilities": Capabilities(max_safety="low")}, "safety_too_high", id="safety"),
]


@pytest.mark.parametrize(("settings", "reason"), DENIALS)
def test_a_denial_speaks_to_the_model(settings, reason, make_toolbox) -> None:
    """Reason, message and a hint that gives nothing of the policy away; never to be taken for an unknown tool."""
    toolbox = make_toolbox(greet_spec(safety="high"), **settings)

    denied, unknown = toolbox.call("greet", {}), toolbox.call("grumble", {})

    assert (denied.outcome, denied.reason, denied.retryable) == ("denied", reason, False)
    assert denied.message
    assert denied.hint
    assert not any(word in denied.hint for word in ("greet", "p.yaml", "text", "restrict", "'"))
    assert toolbox.decide("greet", {}).hint == denied.hint
    assert (unknown.reason, unknown.message) == ("unknown_tool", "There is no tool named 'grumble'.")
    assert denied.text.splitlines()[0] == f"ERROR: denied_by_policy reason={reason}"
    assert unknown.text.splitlines()[0] == "ERROR: denied_by_policy reason=unknown_tool"


def test_a_closed_toolbox_explains_nothing(make_toolbox) -> None:
    """As with calls."""
    toolbox = make_toolbox(greet_spec())
    toolbox.close()

    with pytest.raises(ToolboxClosed):
        toolbox.explain("greet", {})


def test_a_call_within_calls_that_is_too_deep(make_toolbox) -> None:
    """The gate's own stop is a guard's."""
    found: list[Explanation] = []

    def nest(rt):
        def tool(depth: int) -> str:
            if depth == 0:
                found.append(toolbox.explain("nest", {"depth": 0}))
                return ""
            return rt.call("nest", {"depth": depth - 1}).text

        return tool

    toolbox = make_toolbox(spec_with_runtime(nest))
    toolbox.call("nest", {"depth": 16})

    assert [(step.stage, step.verdict) for one in found for step in one.steps if step.decides] == [("guard", "error")]
