"""Stage 3 in the gate: rules, modes, commands and availability decide calls, listings and dry runs alike."""

from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from tests.core.gate.conftest import spec_of

from toolcharter.api.call import Invocation


def bash_spec() -> Any:
    def bash(command: str) -> str:
        return f"ran {command}"

    return spec_of(bash, kind="bash", invocation=lambda args: Invocation(commands=(args["command"],)))


def test_the_rule_that_permits_a_call_is_on_its_last_event(make_toolbox, events) -> None:
    """A reviewer sees by which rule a call ran, and not only why others did not."""
    toolbox = make_toolbox(bash_spec(), allow=["bash:ls*"])

    toolbox.call("bash", {"command": "ls"})

    last = events[-1]
    assert (last["outcome"], last["rule"], last["stage"]) == (
        "ok",
        {"text": "bash:ls*", "source": "p.yaml:1:5"},
        "mode",
    )


@pytest.mark.parametrize(
    ("mode", "allow", "deny", "command", "expected"),
    [
        pytest.param("policy", [], [], "ls", ("denied", "not_in_allow", "mode"), id="no allow"),
        pytest.param("policy", ["bash:ls*"], [], "ls -l", ("ok", None, None), id="allowed"),
        pytest.param("policy", ["bash:ls *"], [], "ls", ("denied", "not_in_allow", "mode"), id="anchored"),
        pytest.param(
            "policy", ["bash"], ["bash:*sudo*"], "sudo ls", ("denied", "denied_by_rule", "deny"), id="deny wins"
        ),
        pytest.param("policy", ["*", "*:*", "b*"], [], "ls", ("denied", "not_in_allow", "mode"), id="bare globs"),
        pytest.param("dangerous", [], [], "ls", ("ok", None, None), id="dangerous"),
        pytest.param("dangerous", [], [], "ls 'rm", ("denied", "not_understood", "floor"), id="not understood"),
        pytest.param("ask", [], [], "ls", ("denied", "approval_unavailable", "approval"), id="nobody to ask"),
    ],
)
def test_a_bash_line_is_decided_by_its_command(make_toolbox, mode, allow, deny, command, expected) -> None:
    """What a line would run is what rules see of it."""
    toolbox = make_toolbox(bash_spec(), mode=mode, allow=allow, deny=deny)

    result = toolbox.call("bash", {"command": command})
    decision = toolbox.decide("bash", {"command": command})

    assert (result.outcome, result.reason) == expected[:2]
    assert decision.outcome == ({"ok": "allow", "denied": "deny"}[expected[0]] if mode != "ask" else "ask")
    assert decision.reason == (expected[1] if mode != "ask" else "not_in_allow")


class Deed(Enum):
    PUSH = "push"
    LOG = "log"


@pytest.mark.parametrize(
    "denied",
    [
        pytest.param("keep(path=*secret*)", id="glob over a path"),
        pytest.param({"rule": "keep", "when": {"path": {"pattern": "secret"}}}, id="when over a path"),
        pytest.param("keep:push", id="action that is an enum"),
    ],
)
def test_rules_see_the_json_of_typed_arguments(make_toolbox, denied) -> None:
    """A tool that declares a `Path` or an `Enum` is bound by the same rules as one that declares text."""

    def keep(path: Path, action: Deed = Deed.LOG) -> str:
        return f"kept {path} {action}"

    toolbox = make_toolbox(spec_of(keep), deny=[denied])

    result = toolbox.call("keep", {"path": "my/secret", "action": " PUSH "})

    assert (result.outcome, result.reason) == ("denied", "denied_by_rule")
    assert toolbox.call("keep", {"path": "my/other"}).outcome == "ok"


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(1e308, ("denied", "denied_by_rule"), id="a large float"),
        pytest.param(4.0, ("ok", None), id="below the bound"),
        pytest.param(2**70, ("error", "invalid_arguments"), id="an integer of 70 bits"),
    ],
)
def test_a_condition_judges_every_number_that_json_can_carry(make_toolbox, number, expected) -> None:
    """What the gate's JSON cannot carry never reaches a rule."""

    def count(n: float) -> str:
        return "counted"

    toolbox = make_toolbox(spec_of(count), deny=[{"rule": "count", "when": {"n": {"minimum": 5}}}])

    result = toolbox.call("count", {"n": number})

    assert (result.outcome, result.reason) == expected


def test_rules_that_cannot_answer_deny(make_toolbox, events, monkeypatch) -> None:
    """An exception on the way to a decision is no decision."""
    toolbox = make_toolbox(bash_spec(), deny=["bash:*x*"], mode="dangerous")
    monkeypatch.setattr("toolcharter.policy.rules_by_tool.DenyRules.first", lambda *_: 1 / 0)

    result = toolbox.call("bash", {"command": "ls"})

    assert (result.outcome, result.reason) == ("denied", "not_understood")
    assert [event["event"] for event in events][-2:] == ["hook.policy.deny", "hook.tool.after"]


def test_a_rule_may_use_another_name_of_an_argument(make_toolbox) -> None:
    """Whoever writes a deny rule with an alias denies the same calls."""

    def note(path: str) -> str:
        return path

    spec = spec_of(note, argument_aliases={"file": "path"})
    toolbox = make_toolbox(spec, deny=["note(file=*secret*)", {"rule": "note", "when": {"file": {"const": "x"}}}])

    reasons = [toolbox.call("note", args).reason for args in ({"path": "a-secret"}, {"file": "x"}, {"path": "b"})]

    assert reasons == ["denied_by_rule", "denied_by_rule", None]
