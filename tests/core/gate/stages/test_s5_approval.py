"""Stage 5: calls that wait for a person, what they are shown, and what an answer permits."""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from tests.core.gate.conftest import ECHO, spec_of, spec_with_runtime

from toolcharter.api.approval import ApprovalAnswer, ApprovalRequest
from toolcharter.api.call import Ask, Caller, Invocation
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.profile.settings import (
    Approvals,
)


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"].removeprefix("hook.") for event in events]


class Approver:
    """Answers as told, and remembers what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> Any:
        self.asked.append(request)
        return self.answers.pop(0)


def closing_door(answer: str) -> tuple[ToolSpec[ToolPolicy], Callable[[ApprovalRequest], str]]:
    """A tool whose own checks let it pass until somebody is asked, and the approver who shuts it and answers."""
    closed: list[bool] = []

    def door(rt: Any) -> Callable[[], str]:
        def go() -> str:
            ctx = rt.start("door")
            if closed:
                return ctx.deny("door_closed")
            ctx.policy_passed()
            return ctx.ok("through")

        return go

    def approve(request: ApprovalRequest) -> str:
        closed.append(True)
        return answer

    return spec_with_runtime(door, staged=True), approve


@pytest.fixture
def state(tmp_path_factory, monkeypatch) -> Path:
    """The user's state folder, outside every workspace."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


class TestApprovals:
    def test_what_is_allowed_once_runs_once(self, make_toolbox, events, state) -> None:
        """The life of an approved call as one list; the next call is asked about again."""
        approver = Approver(ApprovalAnswer("allow_once", "ann"), "deny")
        toolbox = make_toolbox(ECHO, mode="ask", approver=approver, caller=Caller(agent="bob"))

        first, second = toolbox.call("echo", {"word": "a"}), toolbox.call("echo", {"word": "a"})

        assert (first.text, second.reason) == ("a", "approval_denied")
        assert names(events) == [
            *("tool.before", "policy.before", "approval.request", "approval.decision", "tool.after"),
            *("tool.before", "policy.before", "approval.request", "approval.decision", "policy.deny", "tool.after"),
        ]
        request, decision = events[2], events[3]
        assert (decision["approver"], decision["answer"], decision["reason"]) == ("ann", "allow_once", None)
        assert request["expires"] == decision["expires"]
        asked = approver.asked[0]
        assert (asked.tool, dict(asked.args), asked.caller.agent, asked.reason) == (
            "echo",
            {"word": "a"},
            "bob",
            "not_in_allow",
        )
        assert (len(asked.digest), asked.timeout_s, asked.profile) == (64, 120.0, "test")

    def test_what_is_allowed_always_is_kept_for_the_next_toolbox(self, make_toolbox, events, state) -> None:
        """The kept rule covers this call and no other, and is named where it decides."""
        approver = Approver("allow_always", "deny")
        toolbox = make_toolbox(ECHO, mode="ask", approver=approver)
        toolbox.call("echo", {"word": "a"})

        again = toolbox.call("echo", {"word": "a"})
        later = make_toolbox(ECHO, mode="ask")

        assert (again.outcome, later.call("echo", {"word": "a"}).outcome, len(approver.asked)) == ("ok", "ok", 1)
        decision = later.decide("echo", {"word": "a"})
        assert (decision.outcome, decision.stage) == ("allow", "approval")
        assert decision.rule is not None
        assert str(state) in decision.rule.source
        assert later.call("echo", {"word": "b"}).reason == "approval_unavailable"
        assert toolbox.call("echo", {"word": "b"}).reason == "approval_denied"

    def test_the_tools_own_checks_come_before_a_person(self, make_toolbox, state) -> None:
        """Nobody is bothered about a call that its tool would refuse anyway."""

        def careful(rt: Any) -> Callable[[str], str]:
            def check(word: str) -> str:
                ctx = rt.start("careful", word=word)
                if word != "good":
                    return ctx.deny("bad_word")
                ctx.policy_passed()
                return ctx.ok("done")

            return check

        approver = Approver("allow_once")
        toolbox = make_toolbox(spec_with_runtime(careful, staged=True), mode="ask", approver=approver)

        refused = toolbox.call("careful", {"word": "bad"})
        decided = toolbox.decide("careful", {"word": "good"})
        done = toolbox.call("careful", {"word": "good"})

        assert (refused.reason, decided.outcome, decided.tool_checks) == ("bad_word", "ask", "passed")
        assert (done.text, len(approver.asked)) == ("done", 1)

    def test_an_approval_is_void_when_the_tools_checks_change_their_mind(self, make_toolbox, state) -> None:
        """What was rehearsed before the answer is rehearsed again after it."""
        door, approve = closing_door("allow_once")
        toolbox = make_toolbox(door, mode="ask", approver=approve)

        assert toolbox.call("door", {}).reason == "door_closed"

    def test_arguments_changed_while_somebody_thinks_void_the_approval(self, make_toolbox, events, state) -> None:
        """The digest is of what would run at that moment."""
        ran: list[Any] = []

        def run(words: list[str]) -> str:
            ran.append(words)
            return "ran"

        def check(call: Any) -> None:
            seen.append(call.args["words"])

        def approve(request: ApprovalRequest) -> str:
            seen[0].append("--force")
            return "allow_once"

        seen: list[list[str]] = []
        toolbox = make_toolbox(spec_of(run), mode="ask", approver=approve, checks={"a": check})

        result = toolbox.call("run", {"words": ["a"]})

        assert (result.reason, ran) == ("approval_denied", [])

    def test_what_a_check_asks_is_never_kept(self, make_toolbox, state) -> None:
        """A check decides anew each time; its question is not the profile's."""
        approver = Approver("allow_always", "allow_always")
        toolbox = make_toolbox(ECHO, approver=approver, checks={"a": lambda call: Ask("unsure", "Sure?")})

        outcomes = [toolbox.call("echo", {}).outcome for _ in range(2)]

        assert (outcomes, [request.always for request in approver.asked]) == (["ok", "ok"], [False, False])
        assert (approver.asked[0].reason, approver.asked[0].message) == ("unsure", "Sure?")

    def test_asynchronous_calls_wait_without_holding_the_loop(self, make_toolbox, state) -> None:
        """An asynchronous approver is awaited; another task runs meanwhile."""

        async def scenario() -> tuple[str, str]:
            gate = asyncio.Event()

            async def approve(request: ApprovalRequest) -> str:
                await gate.wait()
                return "allow_once"

            toolbox = make_toolbox(ECHO, mode="ask", approver=approve)
            waiting = asyncio.create_task(toolbox.acall("echo", {"word": "late"}))
            await asyncio.sleep(0)
            gate.set()
            return (await waiting).text, (await toolbox.adecide("echo", {})).outcome

        assert asyncio.run(scenario()) == ("late", "ask")

    def test_the_time_of_people_is_not_the_tools(self, make_toolbox, state, monkeypatch) -> None:
        """A call's own time limit does not run while somebody thinks."""
        import time  # noqa: PLC0415 - for this test alone

        from toolcharter.profile.model import Limits  # noqa: PLC0415 - as above

        thought = [0.0]

        def approve(request: ApprovalRequest) -> str:
            thought[0] = 100.0
            return "allow_once"

        for module in ("stages.s5_approval", "stages.s7_body"):
            monkeypatch.setattr(f"toolcharter.gate.{module}.monotonic", lambda: time.monotonic() + thought[0])
        toolbox = make_toolbox(ECHO, mode="ask", approver=approve, limits=Limits(timeout_s=60))

        assert toolbox.call("echo", {}).outcome == "ok"

    def test_nobody_in_time_is_a_timeout(self, make_toolbox, state) -> None:
        """The answer of a hanging approver reaches nobody."""
        import threading  # noqa: PLC0415 - for this test alone

        release = threading.Event()
        toolbox = make_toolbox(
            ECHO, mode="ask", approver=lambda request: release.wait(10), approvals=Approvals(timeout_s=0.05)
        )

        result = toolbox.call("echo", {})
        release.set()

        assert (result.reason, result.retryable) == ("approval_timeout", True)

    def test_a_bash_command_is_kept_as_it_stands(self, make_toolbox, state) -> None:
        """Not a character more: neither a longer word nor a second command is covered."""

        def bash(command: str) -> str:
            return "ran"

        spec = spec_of(bash, kind="bash", invocation=lambda args: Invocation(commands=(args["command"],)))
        toolbox = make_toolbox(spec, mode="ask", approver=Approver("allow_always", *["deny"] * 3))

        outcomes = [
            toolbox.call("bash", {"command": command}).reason
            for command in ("wc -l a", "wc -l a", "wc -l ab", "wc -l a b", "wc -l a; rm a")
        ]

        assert outcomes == [None, None, "approval_denied", "approval_denied", "approval_denied"]

    def test_what_is_forgotten_is_asked_about_again(self, make_toolbox, state) -> None:
        """A toolbox that is in use notices at the next call."""
        from datetime import UTC, datetime  # noqa: PLC0415 - for this test alone

        from toolcharter.gate.approvals.saved import read_approvals, remove_approvals  # noqa: PLC0415 - as above

        approver = Approver("allow_always", "deny")
        toolbox = make_toolbox(ECHO, mode="ask", approver=approver)
        toolbox.call("echo", {})
        folder = state / "toolcharter" / "approvals"
        kept = read_approvals(folder)

        assert (toolbox.call("echo", {}).outcome, kept[0].until > datetime.now(UTC)) == ("ok", True)
        assert remove_approvals(folder, "test", [kept[0].id]) == 1
        assert toolbox.call("echo", {}).reason == "approval_denied"

    def test_a_call_found_void_leaves_no_rule(self, make_toolbox, state) -> None:
        """What did not run is not kept for later either."""
        door, approve = closing_door("allow_always")
        toolbox = make_toolbox(door, mode="ask", approver=approve)

        assert toolbox.call("door", {}).reason == "door_closed"
        assert list(state.rglob("*.yaml")) == []


class Colour(StrEnum):
    """Something that is text and more."""

    RED = "red"


def test_rules_see_arguments_as_json(make_toolbox, state) -> None:
    """A path or an enumeration in a signature is text to a rule, and to an approval."""

    def paint(path: Path, colour: Colour = Colour.RED, words: tuple[str, ...] = ()) -> str:
        return f"{path} {colour} {len(words)}"

    deny = ["paint(path=*secret*)", {"rule": "paint", "when": {"words": {"type": "array", "minItems": 2}}}]
    toolbox = make_toolbox(spec_of(paint), deny=deny)
    asking = make_toolbox(spec_of(paint), mode="ask", approver=Approver("allow_always"))

    assert toolbox.call("paint", {"path": "a/secret.txt"}).reason == "denied_by_rule"
    assert toolbox.call("paint", {"path": "a", "words": ["x", "y"]}).reason == "denied_by_rule"
    assert toolbox.call("paint", {"path": "a"}).outcome == "ok"
    assert [asking.call("paint", {"path": "a"}).text for _ in range(2)] == ["a red 0"] * 2
