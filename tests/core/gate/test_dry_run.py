"""Dry runs: what a call would meet, with nothing executed, counted, logged or asked."""

import asyncio
import threading
from enum import StrEnum
from typing import Any

import pytest

from toolcharter.api.call import Ask, Call, Decision, Deny
from toolcharter.errors import Denied, SyncCallInLoop, ToolError
from toolcharter.profile.model import Limits

from .conftest import spec_of, spec_with_runtime

acted: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_has_acted() -> None:
    acted.clear()


class Reason(StrEnum):
    NOT_LISTED = "not_listed"


def staged(rt, own_name="staged"):
    def tool(name: str = "Ann", how: str = "pass"):
        ctx = rt.start(own_name, name=name)
        if name != "Ann":
            return ctx.deny(Reason.NOT_LISTED, "Only Ann.", hint="Ask for Ann.")
        if how == "early":
            acted.append("rt.run")
            rt.run(["true"])
        if how == "call":
            rt.call("staged", {})
        if how == "deny":
            raise Denied("too_late")
        if how == "error":
            raise ToolError("no", reason="path_not_found")
        if how == "ok":
            return ctx.ok("nothing to do")
        try:
            ctx.policy_passed()
        except Exception:  # noqa: BLE001 - a careless tool; the mark must still end the dry run
            acted.append("caught the mark")
        acted.append("acted")
        return ctx.ok("done")

    return tool


def asynchronous(rt):
    body = staged(rt, "asynchronous")

    async def tool(name: str = "Ann", how: str = "pass"):
        await asyncio.sleep(0)
        return body(name, how)

    return tool


PASSED = Decision("allow", "mode", tool_checks="passed")
ROWS = [
    ({}, PASSED),
    (
        {"name": "Bob"},
        Decision("deny", "tool", "not_listed", "Only Ann.", "Ask for Ann.", tool_checks="denied"),
    ),
    ({"how": "deny"}, Decision("deny", "tool", "too_late", tool_checks="denied")),
    ({"how": "error"}, Decision("error", "tool", "path_not_found", "no", tool_checks="error")),
    ({"how": "ok"}, PASSED),
    (
        {"how": "early"},
        Decision(
            "error",
            "tool",
            "unexpected_failure",
            "the tool tried to act on the world before ctx.policy_passed()",
            tool_checks="error",
        ),
    ),
    (
        {"how": "call"},
        Decision(
            "error",
            "tool",
            "unexpected_failure",
            "the tool tried to act on the world before ctx.policy_passed()",
            tool_checks="error",
        ),
    ),
    ({"nme": "x"}, Decision("error", "arguments", "invalid_arguments", "nme: no such argument. Did you mean 'name'?")),
]


@pytest.mark.parametrize(("args", "decision"), ROWS, ids=[str(row[0]) for row in ROWS])
@pytest.mark.parametrize("make", [staged, asynchronous])
def test_a_staged_body_runs_up_to_its_mark(make, args, decision, make_toolbox, events) -> None:
    """Its own checks decide, nothing below the mark runs, and no event is left."""
    toolbox = make_toolbox(spec_with_runtime(make, staged=True))

    assert toolbox.decide(make.__name__, args) == decision
    assert events == []
    assert "acted" not in acted


@pytest.mark.parametrize(("args", "decision"), ROWS, ids=[str(row[0]) for row in ROWS])
@pytest.mark.parametrize("make", [staged, asynchronous])
async def test_the_same_from_asynchronous_code(make, args, decision, make_toolbox, events) -> None:
    """`adecide` answers as `decide` does."""
    toolbox = make_toolbox(spec_with_runtime(make, staged=True))

    assert await toolbox.adecide(make.__name__, args) == decision
    assert events == []


def test_a_body_that_is_not_staged_is_never_entered(make_toolbox) -> None:
    """Without a promise there is no rehearsal."""

    def act() -> str:
        acted.append("acted")
        return ""

    toolbox = make_toolbox(spec_of(act))

    assert toolbox.decide("act", {}) == Decision("allow", "mode", tool_checks="not_evaluated")
    assert acted == []


def test_an_unknown_name_and_an_unbounded_tool(make_toolbox) -> None:
    """What never reaches a body is decided without one."""

    def act() -> str:
        return ""

    toolbox = make_toolbox(spec_of(act, kind="cli", staged=True))

    # No near match: a hint never names a tool that the caller could not use.
    assert toolbox.decide("akt", {}) == Decision("deny", "name", "unknown_tool", "There is no tool named 'akt'.")
    decision = toolbox.decide("act", {})
    assert (decision.outcome, decision.stage, decision.reason) == ("deny", "mode", "not_in_allow")
    assert decision.tool_checks == "not_evaluated"


async def test_an_unknown_name_from_asynchronous_code(make_toolbox) -> None:
    """The same answer as from synchronous code."""
    assert (await make_toolbox().adecide("x", {})).reason == "unknown_tool"


def test_a_rehearsal_of_an_asynchronous_tool_inside_a_loop_names_adecide(make_toolbox) -> None:
    """A deadlock is refused."""
    toolbox = make_toolbox(spec_with_runtime(asynchronous, staged=True))

    async def inside() -> None:
        toolbox.decide("asynchronous", {})

    with pytest.raises(SyncCallInLoop, match=r"await adecide\(\) instead"):
        asyncio.run(inside())


LEAVES = {"exit": SystemExit, "generator": GeneratorExit, "cancel": asyncio.CancelledError}


def leaving(rt):
    def tool(how: str):
        raise LEAVES[how]

    return tool


def leaving_later(rt):
    async def tool(how: str):
        raise LEAVES[how]

    return tool


@pytest.mark.parametrize("how", LEAVES)
@pytest.mark.parametrize("make", [leaving, leaving_later])
async def test_a_body_that_leaves_a_rehearsal_has_failed(make, how, make_toolbox) -> None:
    """A dry run ends as the call would."""
    toolbox = make_toolbox(spec_with_runtime(make, staged=True))

    decisions = [
        await toolbox.adecide(make.__name__, {"how": how}),
        await asyncio.to_thread(toolbox.decide, make.__name__, {"how": how}),
    ]

    called = await toolbox.acall(make.__name__, {"how": how})
    assert called.text == f"ERROR: unexpected_failure: {LEAVES[how].__name__}: "
    assert decisions == [Decision("error", "tool", "unexpected_failure", called.message, tool_checks="error")] * 2


async def interrupted(toolbox: Any) -> str:
    task = asyncio.ensure_future(toolbox.adecide("dozing", {}))
    await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait([task])
    return "cancelled" if task.cancelled() else "ended"


async def test_a_cancellation_passes_through_a_rehearsal(make_toolbox) -> None:
    """A task that its caller cancels is cancelled."""

    def dozing(rt):
        async def tool():
            await asyncio.sleep(60)

        return tool

    assert await interrupted(make_toolbox(spec_with_runtime(dozing, staged=True))) == "cancelled"


@pytest.mark.parametrize("body", ["sync", "async"])
def test_an_interrupt_passes_through_a_rehearsal(body, make_toolbox) -> None:
    """Ctrl-C is the caller's."""

    def stopped(rt):
        def tool():
            raise KeyboardInterrupt

        async def later():
            raise KeyboardInterrupt

        return tool if body == "sync" else later

    toolbox = make_toolbox(spec_with_runtime(stopped, staged=True))

    with pytest.raises(KeyboardInterrupt):
        toolbox.decide("stopped", {})


@pytest.mark.parametrize("who", ["tool", "check", "asking check"])
def test_a_reason_that_is_no_word_is_the_same_word_in_both(who, make_toolbox) -> None:
    """A case written by what `decide` says holds for `call`."""

    def wordy(rt):
        def tool():
            ctx = rt.start("wordy")
            if who == "tool":
                return ctx.deny("No sentences, please!")
            ctx.policy_passed()
            return ctx.ok("done")

        return tool

    answer = {"tool": None, "check": Deny("No sentences, please!"), "asking check": Ask("No sentences, please!")}[who]
    toolbox = make_toolbox(spec_with_runtime(wordy, staged=True), checks={"a": lambda call: answer})

    decided = toolbox.decide("wordy", {}).reason
    called = toolbox.call("wordy", {}).reason

    assert decided == "malformed_no_sentences_please"
    assert called == ("approval_unavailable" if who == "asking check" else decided)


def test_a_child_context_in_a_rehearsal_leaves_no_event(make_toolbox, events) -> None:
    """What a tool starts above its mark is rehearsed too."""

    def parent(rt):
        def tool():
            ctx = rt.start("parent")
            rt.start("look").ok("seen")
            ctx.policy_passed()
            return ctx.ok("done")

        return tool

    toolbox = make_toolbox(spec_with_runtime(parent, staged=True))

    assert toolbox.decide("parent", {}) == PASSED
    assert events == []


def test_the_mark_of_a_child_does_not_end_the_rehearsal(make_toolbox, events) -> None:
    """What the parent checks below a child's mark decides as well."""

    def parent(rt):
        def tool():
            ctx = rt.start("parent")
            child = rt.start("look")
            child.policy_passed()
            child.ok("seen")
            return ctx.deny("not_listed")

        return tool

    toolbox = make_toolbox(spec_with_runtime(parent, staged=True))

    assert toolbox.decide("parent", {}) == Decision("deny", "tool", "not_listed", tool_checks="denied")
    assert toolbox.call("parent", {}).reason == "not_listed"


def test_before_the_mark_a_real_call_may_not_act_either(make_toolbox, events) -> None:
    """The promise of a staged body is enforced in every call."""
    toolbox = make_toolbox(spec_with_runtime(staged, staged=True))

    result = toolbox.call("staged", {"how": "early"})

    assert (result.outcome, result.reason) == ("error", "unexpected_failure")
    assert result.message == "the tool tried to act on the world before ctx.policy_passed()"


# Checks


def looks_at(seen: list[Call], answer: Any):
    def check_call(call: Call) -> Any:
        seen.append(call)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return check_call


def looks_slowly_at(seen: list[Call], answer: Any):
    plain = looks_at(seen, answer)

    async def check_call(call: Call) -> Any:
        await asyncio.sleep(0.01)
        return plain(call)

    return check_call


CHECKS = [
    (None, ("allow", "mode", None)),
    (Deny("too_much", "Not today."), ("deny", "check", "too_much")),
    (Ask("a_human_must_agree"), ("ask", "check", "a_human_must_agree")),
    (ValueError("secret detail"), ("deny", "check", "check_failed")),
    (True, ("deny", "check", "check_failed")),
]


@pytest.mark.parametrize("look", [looks_at, looks_slowly_at])
@pytest.mark.parametrize(("answer", "decision"), CHECKS, ids=[repr(row[0])[:12] for row in CHECKS])
def test_what_a_check_answers(answer, decision, look, make_toolbox) -> None:
    """None lets the call pass; an exception or another answer denies."""
    seen: list[Call] = []
    toolbox = make_toolbox(spec_with_runtime(staged, staged=True), checks={"a": look(seen, answer)})

    found = toolbox.decide("staged", {})

    assert (found.outcome, found.stage, found.reason) == decision
    assert seen[0].dry_run is True


@pytest.mark.parametrize("look", [looks_at, looks_slowly_at])
async def test_what_a_check_answers_to_asynchronous_code(look, make_toolbox, events) -> None:
    """A denial by a check never enters the body; a check sees the complete call."""
    seen: list[Call] = []
    toolbox = make_toolbox(
        spec_with_runtime(staged, capabilities={"text"}, safety="low"),
        checks={"a": look(seen, Deny("too_much", "Not today.", "Try tomorrow."))},
    )

    result = await toolbox.acall("STAGED", {"name": "Ann"}, call_id="c-1", parent_id="p-1")

    assert (result.outcome, result.reason, result.message, result.hint, acted) == (
        "denied",
        "too_much",
        "Not today.",
        "Try tomorrow.",
        [],
    )
    assert [event["event"] for event in events][2:] == ["hook.policy.deny", "hook.tool.after"]
    assert events[-1]["stage"] == "check"
    (call,) = seen
    assert (call.tool, call.args, call.call_id, call.parent_id, call.kind, call.capabilities, call.safety) == (
        "staged",
        {"name": "Ann", "how": "pass"},
        "c-1",
        "p-1",
        "builtin",
        frozenset({"text"}),
        "low",
    )
    assert call.dry_run is False


def test_the_first_denial_by_plugin_name_ends_the_call(make_toolbox) -> None:
    """Checks run in the order of their plugins' names; an Ask gives way to a later Deny."""
    seen: list[Call] = []
    toolbox = make_toolbox(
        spec_with_runtime(staged),
        checks={
            "c": looks_at(seen, Deny("third")),
            "b": looks_slowly_at(seen, Deny("second")),
            "a": looks_at(seen, Ask("first")),
        },
    )

    result = toolbox.call("staged", {})

    assert (result.reason, len(seen)) == ("second", 2)


def test_a_question_without_anybody_to_ask_denies(make_toolbox, events) -> None:
    """A check's Ask in a toolbox without approver is a denial at once, never a hang."""
    toolbox = make_toolbox(spec_with_runtime(staged), checks={"a": looks_at([], Ask("because", "Sure?"))})

    result = toolbox.call("staged", {})

    assert (result.outcome, result.reason, result.message) == (
        "denied",
        "approval_unavailable",
        "There is no one to ask.",
    )
    assert events[-1]["stage"] == "approval"


def test_a_check_that_hangs_denies_at_the_deadline(make_toolbox) -> None:
    """An asynchronous check has as long as the call has."""

    async def hangs(call: Call) -> None:
        await asyncio.sleep(60)

    toolbox = make_toolbox(spec_with_runtime(staged), checks={"slow": hangs}, limits=Limits(timeout_s=0.05))

    result = toolbox.call("staged", {})

    assert (result.outcome, result.reason, result.message) == (
        "denied",
        "check_failed",
        "The check of 'slow' raised TimeoutError.",
    )


async def test_a_synchronous_call_with_an_asynchronous_check_inside_a_loop_is_refused(make_toolbox, events) -> None:
    """The check cannot be awaited there; the call says so and is closed."""
    toolbox = make_toolbox(spec_with_runtime(staged), checks={"a": looks_slowly_at([], None)})

    with pytest.raises(SyncCallInLoop):
        toolbox.call("staged", {})

    assert events[-1]["reason"] == "cancelled"


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_rehearsal_of_a_body_that_may_hang_ends_on_time(way, make_toolbox, events) -> None:
    """An isolated body is rehearsed apart as well."""
    go_on = threading.Event()

    def hangs(rt):
        def tool():
            ctx = rt.start("hangs")
            go_on.wait(60)
            ctx.policy_passed()
            return ctx.ok("done")

        return tool

    toolbox = make_toolbox(spec_with_runtime(hangs, staged=True, isolate=True), limits=Limits(timeout_s=0.05))

    decision = await toolbox.adecide("hangs", {}) if way == "async" else toolbox.decide("hangs", {})
    go_on.set()

    assert (decision.outcome, decision.stage, decision.reason) == ("error", "limit", "timed_out")
    assert events == []


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_an_isolated_body_is_rehearsed(way, make_toolbox) -> None:
    """Its checks decide as any other's."""
    toolbox = make_toolbox(spec_with_runtime(staged, staged=True, isolate=True))

    decision = await toolbox.adecide("staged", {}) if way == "async" else toolbox.decide("staged", {})

    assert decision == PASSED


def test_a_rehearsed_body_cannot_make_a_call_of_an_unknown_name_either(make_toolbox, events) -> None:
    """A toolbox that a tool has got hold of is closed to it in a dry run."""
    held: list[Any] = []

    def sneaks(rt):
        def tool():
            ctx = rt.start("sneaks")
            held[0].call("nope", {})
            ctx.policy_passed()
            return ctx.ok("done")

        return tool

    held.append(make_toolbox(spec_with_runtime(sneaks, staged=True)))

    decision = held[0].decide("sneaks", {})

    assert (decision.outcome, decision.reason, events) == ("error", "unexpected_failure", [])


def test_a_rehearsal_needs_nobody_to_watch(make_toolbox, monkeypatch) -> None:
    """In use nobody collects the reasons that bodies give."""
    monkeypatch.setattr("toolcharter.gate.observe.OBSERVERS", [])

    assert make_toolbox(spec_with_runtime(staged, staged=True)).decide("staged", {}) == PASSED
