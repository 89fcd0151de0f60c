"""Stage 7: bodies that are late, that block, that never return, or whose caller goes away."""

import asyncio
import threading
import time

import pytest
from tests.core.gate.conftest import spec_with_runtime

from toolcharter.gate import waiting
from toolcharter.gate.stages import s7_body
from toolcharter.profile.model import Limits

BEFORE = ("hook.tool.before", "hook.policy.before")
OK = [*BEFORE, "hook.tool.after"]
DENIED = [*BEFORE, "hook.policy.deny", "hook.tool.after"]


def sleeps(rt):
    async def tool(seconds: float):
        await asyncio.sleep(seconds)
        return "slept"

    return tool


def holds_on(rt):
    async def tool():
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            return "I stay"

    return tool


def blocks(rt):
    def tool(seconds: float):
        time.sleep(seconds)
        return "woke"

    return tool


async def test_a_slow_asynchronous_body_is_cancelled_at_its_deadline(make_toolbox, events) -> None:
    """The time limit of the profile ends an asynchronous body."""
    toolbox = make_toolbox(spec_with_runtime(sleeps), limits=Limits(timeout_s=0.05))

    result = await toolbox.acall("sleeps", {"seconds": 10.0})

    assert (result.outcome, result.reason, result.retryable) == ("error", "timed_out", True)
    assert result.message == "The call took longer than its limit of 0.05 s; its result is dropped."
    assert [event["event"] for event in events] == OK
    assert events[-1]["stage"] == "limit"


async def test_a_body_that_ignores_its_cancellation_is_late(make_toolbox, events) -> None:
    """A body cannot turn a missed deadline into success."""
    toolbox = make_toolbox(spec_with_runtime(holds_on), limits=Limits(timeout_s=0.05))

    result = await toolbox.acall("holds_on", {})

    assert (result.outcome, result.reason) == ("error", "timed_out")
    assert [event["event"] for event in events] == OK


def test_a_call_within_a_call_ends_with_its_parent(make_toolbox, events, monkeypatch) -> None:
    """However long its own tool may take: the parent's result would be dropped by then."""
    deadlines = []

    def outer(rt):
        def tool():
            deadlines.append(rt.deadline)
            return rt.call("inner", {}).text

        return tool

    def inner(rt):
        def tool():
            late = rt.deadline + 1.0
            deadlines.append(rt.deadline)
            monkeypatch.setattr(s7_body, "monotonic", lambda: late)
            return "late"

        return tool

    limits = {"outer": Limits(timeout_s=60), "inner": Limits(timeout_s=600)}
    toolbox = make_toolbox(spec_with_runtime(outer), spec_with_runtime(inner), tool_limits=limits)

    toolbox.call("outer", {})

    assert deadlines[0] == deadlines[1]
    assert [event["reason"] for event in events if event["event"] == OK[-1]] == ["timed_out", "timed_out"]
    assert (
        events[-2]["message"] == "The call took longer than the limit of the call that made it; its result is dropped."
    )


@pytest.mark.parametrize("finish", ["returns", "raises"])
def test_an_inline_body_past_its_deadline_has_its_result_dropped(finish, make_toolbox, events) -> None:
    """An inline body cannot be ended; its after comes when it returns, and says that it was late."""

    def late(rt):
        def tool():
            time.sleep(0.02)
            if finish == "raises":
                raise ValueError("boom")
            return rt.start("late").ok("too late", data={"secret": 1}, note="n")

        return tool

    toolbox = make_toolbox(spec_with_runtime(late), limits=Limits(timeout_s=0.001))

    result = toolbox.call("late", {})

    assert (result.outcome, result.reason, result.data) == ("error", "timed_out", None)
    assert [event["event"] for event in events] == OK


def test_a_denial_past_the_deadline_stays_a_denial(make_toolbox, events) -> None:
    """What policy forbids is reported as forbidden, however long it took to see."""

    def late(rt):
        def tool():
            time.sleep(0.02)
            return rt.start("late").deny("name_not_allowed")

        return tool

    toolbox = make_toolbox(spec_with_runtime(late), limits=Limits(timeout_s=0.001))

    assert toolbox.call("late", {}).outcome == "denied"
    assert [event["event"] for event in events] == DENIED


@pytest.fixture
def stuck():
    """A body that returns when the test is over."""
    over = threading.Event()

    def stuck(rt):
        def tool():
            over.wait(60)
            return "woke"

        return tool

    yield stuck
    over.set()


def test_a_blocked_isolated_body_frees_its_caller(make_toolbox, events, stuck) -> None:
    """With `isolate` the caller is free at the deadline; the after says that a thread was left behind."""
    toolbox = make_toolbox(spec_with_runtime(stuck, isolate=True), limits=Limits(timeout_s=0.05))

    result = toolbox.call("stuck", {})

    assert (result.outcome, result.reason) == ("error", "timed_out")
    assert [event["event"] for event in events] == OK
    assert events[-1]["abandoned"] is True


async def test_a_blocked_isolated_body_frees_its_loop(make_toolbox, events, stuck) -> None:
    """The same from asynchronous code, where the loop runs on meanwhile."""
    toolbox = make_toolbox(spec_with_runtime(stuck, isolate=True), limits=Limits(timeout_s=0.05))

    result = await toolbox.acall("stuck", {})

    assert (result.outcome, result.reason) == ("error", "timed_out")
    assert [event["event"] for event in events] == OK
    assert events[-1]["abandoned"] is True


def test_after_eight_stuck_threads_the_tool_denies(make_toolbox, events, stuck) -> None:
    """A tool that hangs cannot take all threads there are."""
    toolbox = make_toolbox(spec_with_runtime(stuck, isolate=True), limits=Limits(timeout_s=0.01))

    results = [toolbox.call("stuck", {}) for _ in range(9)]

    assert [result.reason for result in results] == ["timed_out"] * 8 + ["tool_stuck"]
    assert results[-1].message == "8 earlier calls of 'stuck' never returned."
    assert [event["event"] for event in events[-4:]] == DENIED


async def test_a_stuck_tool_denies_asynchronous_calls_too(make_toolbox, events, stuck) -> None:
    """The count of stuck threads does not depend on who calls."""
    toolbox = make_toolbox(spec_with_runtime(stuck, isolate=True), limits=Limits(timeout_s=0.01))

    results = [await toolbox.acall("stuck", {}) for _ in range(9)]

    assert [result.reason for result in results] == ["timed_out"] * 8 + ["tool_stuck"]


def test_what_an_abandoned_body_does_later_reaches_nobody(make_toolbox, events, monkeypatch) -> None:
    """A late end of an abandoned body leaves no second after, and it may start nothing."""
    told: list[str] = []
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()

    def lingers(rt):
        def tool():
            ctx = rt.start("lingers")
            begun.set()
            go_on.wait(60)
            ctx.ok("late")
            try:
                rt.start("another")
            except Exception as error:  # noqa: BLE001 - its type is what is told
                told.append(type(error).__name__)
            over.set()

        return tool

    def late() -> float:
        """What who waits for the body reads on the clock: its time is up once it has begun, and no sooner."""
        assert begun.wait(60)
        return time.monotonic() + 600

    toolbox = make_toolbox(spec_with_runtime(lingers, isolate=True), limits=Limits(timeout_s=60))
    monkeypatch.setattr(waiting, "monotonic", late)

    result = toolbox.call("lingers", {})
    go_on.set()

    assert over.wait(60)
    assert result.reason == "timed_out"
    assert told == ["NotGated"]
    assert [event["event"] for event in events] == OK


@pytest.mark.parametrize("isolate", [False, True], ids=["inline", "isolated"])
async def test_a_cancelled_call_leaves_its_after(isolate, make_toolbox, events, stuck) -> None:
    """Cancelling the caller's task closes the call and lets the cancellation through."""
    spec = spec_with_runtime(stuck, isolate=True) if isolate else spec_with_runtime(sleeps)
    toolbox = make_toolbox(spec)
    task = asyncio.ensure_future(toolbox.acall(spec.name, {} if isolate else {"seconds": 600.0}))
    await asyncio.sleep(0.05)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert [event["event"] for event in events] == OK
    assert (events[-1]["outcome"], events[-1]["reason"]) == ("error", "cancelled")
