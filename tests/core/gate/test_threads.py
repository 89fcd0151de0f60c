"""Threads left behind: what is counted, by whom, and what an interrupt leaves."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from toolcharter import Decision, ToolResult
from toolcharter.profile.model import Limits

from .conftest import spec_with_runtime

ENDED = ["hook.tool.before", "hook.policy.before", "hook.tool.after"]


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    """Lets the bodies that hang end."""
    event = threading.Event()
    yield event
    event.set()


def interrupt_whoever_waits() -> None:
    """Strike the main thread as Ctrl-C does, once it waits for a body that has begun.

    A signal that arrives just before a thread falls asleep does not wake it, in any Python: then it strikes once more.
    """
    main = threading.main_thread().ident
    assert main is not None
    while "wait" not in (names := {frame.f_code.co_name for frame in stack_of(main)}) or "start" in names:
        time.sleep(0.001)
    waiting = next(frame for frame in stack_of(main) if frame.f_code.co_name in {"wait", "block"})
    while any(frame is waiting for frame in stack_of(main)):
        time.sleep(0.01)  # By then it sleeps, as a rule.
        signal.pthread_kill(main, signal.SIGALRM)
        end = time.monotonic() + 1
        while any(frame is waiting for frame in stack_of(main)) and time.monotonic() < end:
            time.sleep(0.001)


def stack_of(thread: int) -> list[FrameType]:
    """Its frames within the present call, the innermost first."""
    frame, found = sys._current_frames().get(thread), list[FrameType]()
    while frame is not None and frame.f_code.co_name != "call":
        found.append(frame)
        frame = frame.f_back
    return found


def hanging(go_on: threading.Event, begun: Callable[[], object] = lambda: None, **facts):
    def hangs(rt):
        def tool() -> str:
            begun()
            go_on.wait()  # First: what begins after its time was up may start nothing, and would not hang.
            ctx = rt.start("hangs")
            ctx.policy_passed()
            return ctx.ok("done")

        return tool

    return spec_with_runtime(hangs, isolate=True, **facts)


@pytest.mark.slow
@pytest.mark.parametrize("rehearsed", ["sync", "async"])
async def test_rehearsals_do_not_make_a_tool_stuck(rehearsed, go_on, make_toolbox) -> None:
    """Dry runs move nothing that calls count by, and are themselves bounded as calls are."""
    toolbox = make_toolbox(hanging(go_on, staged=True), limits=Limits(timeout_s=0.1))

    async def decide() -> Decision:
        return await toolbox.adecide("hangs", {}) if rehearsed == "async" else toolbox.decide("hangs", {})

    async def call() -> ToolResult:
        return toolbox.call("hangs", {})

    *decided, last_decision = [await decide() for _ in range(9)]
    *called, last_result = [await call() for _ in range(9)]

    assert {one.reason for one in decided} | {one.reason for one in called} == {"timed_out"}
    assert (last_decision.reason, last_decision.message) == (
        "tool_stuck",
        "8 earlier dry runs of 'hangs' never returned.",
    )
    assert (last_result.reason, last_result.message) == ("tool_stuck", "8 earlier calls of 'hangs' never returned.")


@pytest.fixture
def _alarm_interrupts() -> Iterator[None]:
    """A signal of its own: the test runner has plans for Ctrl-C."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("_alarm_interrupts")
def test_an_interrupt_leaves_the_thread_behind(go_on, make_toolbox, events) -> None:
    """Ctrl-C frees the caller alone: the after says that the body still runs, and it is counted."""
    toolbox = make_toolbox(hanging(go_on, interrupt_whoever_waits))

    with pytest.raises(KeyboardInterrupt):
        toolbox.call("hangs", {})

    assert [event["event"] for event in events] == ENDED
    assert (events[-1]["outcome"], events[-1]["reason"], events[-1]["abandoned"]) == ("error", "cancelled", True)
    assert len(toolbox._tools["hangs"].threads._abandoned) == 1


@pytest.mark.usefixtures("_alarm_interrupts")
def test_an_interrupt_of_a_rehearsal_leaves_no_event(go_on, make_toolbox, events) -> None:
    """The same in a dry run, which is counted apart."""
    toolbox = make_toolbox(hanging(go_on, interrupt_whoever_waits, staged=True))

    with pytest.raises(KeyboardInterrupt):
        toolbox.decide("hangs", {})

    isolated = toolbox._tools["hangs"].threads
    assert (events, len(isolated._abandoned), len(isolated._abandoned_dry_runs)) == ([], 0, 1)


def test_an_interrupt_that_the_tool_itself_raises_apart_is_its_failure(make_toolbox, events) -> None:
    """Ctrl-C strikes the main thread: what comes from the body's own ends nothing but the call."""

    def pretends(rt):
        def tool() -> str:
            rt.start("pretends").ok("done", data={"n": 1})
            raise KeyboardInterrupt

        return tool

    result = make_toolbox(spec_with_runtime(pretends, isolate=True)).call("pretends", {})

    assert (result.outcome, result.reason, result.data, result.message) == (
        "error",
        "unexpected_failure",
        None,
        "The tool raised KeyboardInterrupt.",
    )
    assert [event["event"] for event in events] == ENDED
