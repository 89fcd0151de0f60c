"""Stage 3 in the gate: rules, modes, commands and availability decide calls, listings and dry runs alike."""

from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from tests.core.gate.conftest import ACT, ECHO, spec_of

from toolcharter.api.call import Caller, Invocation
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import (
    Availability,
    CallerPattern,
    Capabilities,
    Ceiling,
)


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


class TestAvailability:
    def test_a_tool_that_is_not_available_is_hidden_and_denied(self, make_toolbox, events) -> None:
        """Listing and calling use one evaluator; the denial names the entry for people."""
        entry = Availability(CallerPattern(agent=("guest*",)), tools=("echo",), name="guests", place="p.yaml:9:5")
        toolbox = make_toolbox(ECHO, ACT, availability=(entry,))
        guest = toolbox.for_caller(Caller(agent="guest-1"))

        result = guest.call("act", {})

        assert (list(toolbox), list(guest), "act" in guest, len(guest)) == (["echo", "act"], ["echo"], False, 1)
        assert (result.outcome, result.reason) == ("denied", "not_available")
        assert (events[-1]["stage"], events[-1]["rule"]) == ("availability", {"text": "[echo]", "source": "p.yaml:9:5"})
        assert guest["act"].call({}).reason == "not_available"

    def test_a_near_match_never_names_what_is_hidden(self, make_toolbox) -> None:
        """A hint is for the model: it gives nothing of the policy away."""
        toolbox = make_toolbox(ECHO, availability=(Availability(tools=()),))

        assert (toolbox.call("ecko", {}).reason, toolbox.call("ecko", {}).hint) == ("unknown_tool", None)

    def test_subagents_have_fewer_tools(self, make_toolbox) -> None:
        """A deny list by depth holds for every agent below the first."""
        entry = Availability(CallerPattern(depth=((">=", 1),)), deny=("act",))
        toolbox = make_toolbox(ECHO, ACT, availability=(entry,))

        assert list(toolbox.for_caller(Caller(depth=0))) == ["echo", "act"]
        assert list(toolbox.for_caller(Caller(depth=2))) == ["echo"]


class TestCeilings:
    @pytest.mark.parametrize(
        ("ceiling", "reason"),
        [
            pytest.param({"deny": ["act:push"]}, "denied_by_rule", id="deny"),
            pytest.param({"mode": "restrict"}, "not_in_allow", id="mode"),
            pytest.param({"capabilities": Capabilities(allow=("fs:read",))}, "capability_not_allowed", id="allow"),
            pytest.param({"capabilities": Capabilities(deny=("net:*",))}, "capability_not_allowed", id="capability"),
            pytest.param({"capabilities": Capabilities(max_safety="low")}, "safety_too_high", id="safety"),
        ],
    )
    def test_each_part_of_a_ceiling_tightens(self, make_toolbox, ceiling, reason) -> None:
        """What a profile permits, a ceiling can take away."""
        deny = tuple(parse_rule(rule, "policy.yaml:1:8") for rule in ceiling.pop("deny", ()))
        toolbox = make_toolbox(ACT, ceilings=(Ceiling("policy.yaml", deny=deny, **ceiling),))

        assert make_toolbox(ACT).call("act", {"action": "push"}).outcome == "ok"
        assert toolbox.call("act", {"action": "push"}).reason == reason

    def test_a_workspaces_file_holds_wherever_the_toolbox_is_opened(self, make_toolbox, tmp_path: Path) -> None:
        """The file is read when the toolbox is built; a broken one stops the start."""
        (tmp_path / ".toolcharter").mkdir()
        (tmp_path / ".toolcharter/policy.yaml").write_text("deny: [echo]\n")
        from toolcharter.testing import toolbox_of  # noqa: PLC0415 - reads the folder just made

        with toolbox_of(ECHO, workspace=tmp_path) as toolbox:
            assert toolbox.call("echo", {}).reason == "denied_by_rule"
