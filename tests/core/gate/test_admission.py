"""Stages 3 to 6 together: who sees a tool, what is remembered, who is asked, how many calls there may be, who is told."""

import asyncio
import logging
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from toolcharter.api.approval import ApprovalAnswer, ApprovalRequest
from toolcharter.api.call import Ask, Caller, Invocation
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.gate.toolbox import Toolbox
from toolcharter.loader.openers import Opener
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import (
    AfterCall,
    Approvals,
    Availability,
    CallerPattern,
    Capabilities,
    Ceiling,
    DependsOn,
    Notify,
    Rate,
    Rates,
    ReadBeforeWrite,
    Repeats,
    SessionGuards,
    SkipDuplicate,
)

from .conftest import spec_of, spec_with_runtime


def echo(word: str = "hi") -> str:
    """Say *word*."""
    return word


def act(action: str = "look", what: str = "") -> str:
    """Do *action*."""
    return f"{action} {what}"


ECHO = spec_of(echo, capabilities={"text"}, safety="low")
ACT = spec_of(act, capabilities={"look": {"fs:read"}, "push": {"fs:read", "net:write"}}, safety="medium")


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"].removeprefix("hook.") for event in events]


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


class TestMemory:
    def test_repeated_calls_are_warned_and_denied(self, make_toolbox, events) -> None:
        """The model is told first; then the call is refused, and so is the next."""
        toolbox = make_toolbox(ECHO, session_guards=SessionGuards(repeated_calls=Repeats(warn=2, deny=3)))

        results = [toolbox.call("echo", {}) for _ in range(4)]

        assert [result.outcome for result in results] == ["ok", "ok", "denied", "denied"]
        assert results[0].text == "hi"
        assert results[1].text.startswith("hi\nNOTE: ")
        assert (results[2].reason, events[-1]["stage"]) == ("repeated_call", "guard")
        assert toolbox.decide("echo", {}).reason == "repeated_call"
        assert toolbox.call("echo", {"word": "other"}).outcome == "ok"

    def test_sessions_do_not_share_memory_and_subagents_do(self, make_toolbox) -> None:
        """The caller's session is the key; one that names none shares that of all who name none."""
        toolbox = make_toolbox(ECHO, session_guards=SessionGuards(repeated_calls=Repeats(deny=2)))
        one, child, other = (
            toolbox.for_caller(Caller(agent=agent, session=session, depth=depth))
            for agent, session, depth in (("a", "s1", 0), ("b", "s1", 1), ("a", "s2", 0))
        )

        assert [view.call("echo", {}).outcome for view in (one, child, other)] == ["ok", "denied", "ok"]

    def test_calls_need_an_earlier_one_and_leave_a_message(self, make_toolbox) -> None:
        """`depends_on` and `after_call` speak the rule language."""
        memory = SessionGuards(
            depends_on=(DependsOn(parse_rule("act:push"), parse_rule("act:look"), "Look first."),),
            after_call=(AfterCall(parse_rule("act:push(what=v*)"), "Tell the team."),),
        )
        toolbox = make_toolbox(ACT, session_guards=memory)

        early = toolbox.call("act", {"action": "push"})
        toolbox.call("act", {})
        late = toolbox.call("act", {"action": "push", "what": "v1"})

        assert (early.reason, early.message) == ("precondition_failed", "Look first.")
        assert late.text == "push v1\nNOTE: Tell the team."

    def test_an_existing_file_must_be_read_before_it_is_written(self, make_toolbox, tmp_path: Path) -> None:
        """The path is asked about through the workspace's own guard."""

        def read_file(rt: Any) -> Callable[[str], str]:
            def read(path: str) -> str:
                with rt.paths.open_file(path) as file:
                    return file.read(100).decode()

            return read

        def write_file(path: str) -> str:
            (tmp_path / path).write_text("new")
            return "written"

        (tmp_path / "old.txt").write_text("old")
        memory = SessionGuards(read_before_write=ReadBeforeWrite("strict"))
        toolbox = make_toolbox(
            spec_with_runtime(read_file, capabilities={"fs:read"}), spec_of(write_file), session_guards=memory
        )

        blind = toolbox.call("write_file", {"path": "old.txt"})
        fresh = toolbox.call("write_file", {"path": "new.txt"})
        toolbox.call("read_file", {"path": "./old.txt"})
        seeing = toolbox.call("write_file", {"path": "old.txt"})

        assert (blind.outcome, blind.reason, fresh.outcome, seeing.outcome) == (
            "denied",
            "precondition_failed",
            "ok",
            "ok",
        )

    def test_duplicates_are_skipped(self, make_toolbox) -> None:
        """No cached result is given: the model has it already."""
        toolbox = make_toolbox(
            ACT, session_guards=SessionGuards(skip_duplicate=(SkipDuplicate(parse_rule("act:look"), ("what",)),))
        )

        outcomes = [toolbox.call("act", {"what": what}).outcome for what in ("a", "b", "a")]

        assert outcomes == ["ok", "ok", "denied"]

    def test_what_the_model_no_longer_sees_may_be_called_again(self, make_toolbox) -> None:
        """The results that are named, or all of them; of this session, and of no other's."""
        toolbox = make_toolbox(
            ACT, session_guards=SessionGuards(skip_duplicate=(SkipDuplicate(parse_rule("act:look")),))
        )
        one, other = (toolbox.for_caller(Caller(session=name)) for name in ("one", "other"))

        def outcomes(view: Toolbox) -> str:
            return " ".join(view.call("act", {"what": what}).outcome for what in ("a", "b"))

        first = one.call("act", {"what": "a"})
        one.call("act", {"what": "b"})
        outcomes(other)
        one.forget_results(first.call_id, "unknown")
        named = outcomes(one)
        one.forget_results()

        assert (named, outcomes(one), outcomes(other)) == ("ok denied", "ok ok", "denied denied")

    def test_without_guards_there_is_nothing_to_forget(self, make_toolbox) -> None:
        """A host need not know what the profile remembers."""
        toolbox = make_toolbox(ACT)

        toolbox.forget_results()

        assert toolbox.call("act", {}).outcome == "ok"


class TestRates:
    def test_a_call_counts_when_it_enters_its_tool(self, make_toolbox, events) -> None:
        """What the gate refuses takes no token; what fails in its body does."""

        def fails() -> str:
            raise ValueError("boom")

        toolbox = make_toolbox(spec_of(fails), ECHO, deny=["echo(word=no)"], rates=Rates(Rate(calls_per_hour=2)))

        outcomes = [
            toolbox.call("echo", {"word": "no"}).reason,
            toolbox.call("fails", {}).reason,
            toolbox.decide("echo", {}).outcome,
            toolbox.call("echo", {}).outcome,
        ]
        refused = toolbox.call("echo", {})

        assert outcomes == ["denied_by_rule", "unexpected_failure", "allow", "ok"]
        assert (refused.reason, refused.retryable, events[-1]["stage"]) == ("rate_limited", True, "limit")
        assert refused.message is not None
        assert "try again in" in refused.message

    def test_a_session_that_is_used_up_is_not_worth_another_try(self, make_toolbox) -> None:
        """Waiting helps against every limit but the session's; `retryable` says which it was."""
        toolbox = make_toolbox(ECHO, rates=Rates(Rate(calls_per_session=1)))
        toolbox.call("echo", {})

        refused = toolbox.call("echo", {})

        assert (refused.reason, refused.retryable) == ("rate_limited", False)
        assert refused.message == "calls_per_session is 1; no more in this session."

    def test_subagents_called_from_a_body_count_for_their_parent(self, make_toolbox) -> None:
        """A call below a call has the keys of the caller at the top, whatever it calls itself."""

        def outer(rt: Any) -> Callable[[], str]:
            return lambda: rt.call("echo", {}).outcome

        toolbox = make_toolbox(
            spec_with_runtime(outer), ECHO, rates=Rates(tools={"echo": Rate(calls_per_session=1)}, per="session")
        )
        view = toolbox.for_caller(Caller(session="s"))

        assert (view.call("outer", {}).text, view.call("echo", {}).reason) == ("ok", "rate_limited")

    def test_asynchronous_calls_are_limited_too(self, make_toolbox) -> None:
        """The same limit, awaited."""
        toolbox = make_toolbox(ECHO, rates=Rates(Rate(calls_per_minute=1)))

        async def twice() -> list[str]:
            return [(await toolbox.acall("echo", {})).outcome for _ in range(2)]

        assert asyncio.run(twice()) == ["ok", "denied"]


class TestNotify:
    def test_a_call_that_matches_is_told_after_it_has_ended(self, make_toolbox, caplog) -> None:
        """The log gets the closing event and the pattern."""
        toolbox = make_toolbox(ECHO, ACT, notify=(Notify((parse_rule("act:push"),), outcomes=("ok",)),))

        with caplog.at_level(logging.WARNING, "toolcharter.notify"):
            toolbox.call("act", {"action": "push"})
            toolbox.call("act", {})
            toolbox.decide("act", {"action": "push"})
            toolbox.close()

        told = [record.notification for record in caplog.records]
        assert [(one["tool"], one["action"], one["event"], one["notify"]) for one in told] == [
            ("act", "push", "hook.tool.after", {"match": "act:push"})
        ]


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

    def test_the_time_of_people_is_not_the_tools(self, make_toolbox, state) -> None:
        """A call's own time limit does not run while somebody thinks."""
        import time  # noqa: PLC0415 - for this test alone

        from toolcharter.profile.model import Limits  # noqa: PLC0415 - as above

        def approve(request: ApprovalRequest) -> str:
            time.sleep(0.3)
            return "allow_once"

        toolbox = make_toolbox(ECHO, mode="ask", approver=approve, limits=Limits(timeout_s=0.25))

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

        from toolcharter.gate.approvals.saved import entries, forget  # noqa: PLC0415 - as above

        approver = Approver("allow_always", "deny")
        toolbox = make_toolbox(ECHO, mode="ask", approver=approver)
        toolbox.call("echo", {})
        folder = state / "toolcharter" / "approvals"
        kept = entries(folder)

        assert (toolbox.call("echo", {}).outcome, kept[0].until > datetime.now(UTC)) == ("ok", True)
        assert forget(folder, "test", [kept[0].id]) == 1
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


def test_notifications_that_are_lost_are_counted(make_toolbox) -> None:
    """Its channel leads nowhere; the call does not care, and the toolbox says so once it is closed."""
    entry = Notify((parse_rule("*"),), "webhook", "http://127.0.0.1:1/hook")
    deaf = Mock(connect=Mock(side_effect=OSError("nobody listens")))
    toolbox = make_toolbox(ECHO, notify=(entry,), channels={"webhook": Opener("acme-webhook 1.0", lambda _: deaf)})

    result = toolbox.call("echo", {})
    before = (make_toolbox(ECHO).lost_notifications, make_toolbox(ECHO).lost_notification_because)
    toolbox.close()

    assert (result.outcome, before, toolbox.lost_notifications) == ("ok", (0, None), 1)
    assert str(toolbox.lost_notification_because) == "nobody listens"
