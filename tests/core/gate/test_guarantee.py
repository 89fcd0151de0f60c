"""Exactly one before and one after per call, whatever the tool does.

Each row of the table is a way to misbehave; each runs synchronously and asynchronously, and the
whole list of events is compared.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from toolcharter.errors import Denied, ToolError
from toolcharter.profile.model import Limits

from .conftest import MakeToolbox, spec_with_runtime

BEFORE = ("hook.tool.before", "hook.policy.before")
OK = [*BEFORE, "hook.tool.after"]
DENIED = [*BEFORE, "hook.policy.deny", "hook.tool.after"]


def ends_twice(rt):
    def tool():
        ctx = rt.start("ends_twice")
        ctx.ok("first")
        return ctx.error("second")

    return tool


def forgets_to_end(rt):
    def tool():
        rt.start("forgets_to_end")
        return "plain"

    return tool


def never_starts(rt):
    def tool():
        return None

    return tool


def raises(rt):
    def tool():
        raise ValueError("boom")

    return tool


def raises_after_the_end(rt):
    def tool():
        rt.start("raises_after_the_end").ok("done")
        raise ValueError("boom")

    return tool


def denies_twice(rt):
    def tool():
        ctx = rt.start("denies_twice")
        ctx.deny("name_not_allowed")
        ctx.ok("again")
        return ctx.deny("too_late")

    return tool


def raises_denied(rt):
    def tool():
        raise Denied("too_late", "The shop is closed.", hint="Come back tomorrow.")

    return tool


def raises_tool_error(rt):
    def tool():
        raise ToolError("no such shop", reason="shop_not_found", retryable=True)

    return tool


def denies(rt):
    def tool():
        return rt.start("denies").deny("name_not_allowed")

    return tool


def denies_then_ok(rt):
    def tool():
        ctx = rt.start("denies_then_ok")
        ctx.deny("name_not_allowed", "Not this one.")
        return ctx.ok("never mind")

    return tool


def errors(rt):
    def tool():
        return rt.start("errors").error("ERROR: it broke")

    return tool


def exits(rt):
    def tool():
        raise SystemExit(4)

    return tool


def ends_as_a_generator(rt):
    def tool():
        raise GeneratorExit

    return tool


def cancels_itself(rt):
    def tool():
        raise asyncio.CancelledError

    return tool


def swallows_everything(rt):
    def tool():
        try:
            raise KeyError("x")  # noqa: TRY301 - the point of the row
        except BaseException:  # noqa: BLE001 - the point of the row
            return "calm"

    return tool


def returns_data(rt):
    def tool():
        return {"n": 1}

    return tool


def returns_what_is_no_json(rt):
    def tool():
        return object

    return tool


ROWS = [
    (ends_twice, OK, ("ok", None, "first"), {"fault": ["ended_twice"]}),
    (forgets_to_end, OK, ("ok", None, "plain"), {}),
    (never_starts, OK, ("ok", None, ""), {}),
    (raises, OK, ("error", "unexpected_failure", "ERROR: unexpected_failure: ValueError: boom"), {}),
    (raises_after_the_end, OK, ("ok", None, "done"), {"fault": ["raised_after_end"]}),
    (
        raises_denied,
        DENIED,
        (
            "denied",
            "too_late",
            "ERROR: denied_by_policy reason=too_late\nThe shop is closed.\nHint: Come back tomorrow.",
        ),
        {},
    ),
    (raises_tool_error, OK, ("error", "shop_not_found", "ERROR: no such shop"), {}),
    (denies, DENIED, ("denied", "name_not_allowed", "ERROR: denied_by_policy reason=name_not_allowed"), {}),
    (
        denies_then_ok,
        DENIED,
        ("denied", "name_not_allowed", "ERROR: denied_by_policy reason=name_not_allowed\nNot this one."),
        {"fault": ["ended_twice"]},
    ),
    (
        denies_twice,
        DENIED,
        ("denied", "name_not_allowed", "ERROR: denied_by_policy reason=name_not_allowed"),
        {"fault": ["ended_twice"]},
    ),
    (errors, OK, ("error", "tool_error", "ERROR: it broke"), {}),
    (exits, OK, ("error", "unexpected_failure", "ERROR: unexpected_failure: SystemExit: 4"), {}),
    (
        ends_as_a_generator,
        OK,
        ("error", "unexpected_failure", "ERROR: unexpected_failure: GeneratorExit: "),
        {},
    ),
    (cancels_itself, OK, ("error", "unexpected_failure", "ERROR: unexpected_failure: CancelledError: "), {}),
    (swallows_everything, OK, ("ok", None, "calm"), {}),
    (returns_data, OK, ("ok", None, '{"n":1}'), {}),
    (returns_what_is_no_json, OK, ("ok", None, "<class 'object'>"), {}),
]


def asynchronous(make: Callable[[Any], Callable[..., Any]]) -> Callable[[Any], Callable[..., Any]]:
    """The same tool with an `async def` body."""

    def made(rt):
        function = make(rt)

        async def tool():
            await asyncio.sleep(0)
            return function()

        return tool

    made.__name__ = make.__name__
    return made


@pytest.mark.parametrize("isolate", [False, True], ids=["inline", "isolated"])
@pytest.mark.parametrize(("make", "names", "outcome", "rare"), ROWS, ids=[row[0].__name__ for row in ROWS])
def test_a_synchronous_call_ends_once(make, names, outcome, rare, isolate, make_toolbox: MakeToolbox, events) -> None:
    """A synchronous body leaves one list of events, in the caller's thread and in its own."""
    toolbox = make_toolbox(spec_with_runtime(make, isolate=isolate))

    result = toolbox.call(make.__name__, {})

    assert (result.outcome, result.reason, result.text) == outcome
    assert [event["event"] for event in events] == names
    assert {key: events[-1][key] for key in ("fault", "abandoned") if key in events[-1]} == rare


@pytest.mark.slow
@pytest.mark.parametrize("body", ["sync", "async"])
@pytest.mark.parametrize(("make", "names", "outcome", "rare"), ROWS, ids=[row[0].__name__ for row in ROWS])
async def test_an_asynchronous_call_ends_once(make, names, outcome, rare, body, make_toolbox, events) -> None:
    """Awaiting a call leaves the same list of events, whatever its body is."""
    toolbox = make_toolbox(spec_with_runtime(make if body == "sync" else asynchronous(make)))

    result = await toolbox.acall(make.__name__, {})

    assert (result.outcome, result.reason, result.text) == outcome
    assert [event["event"] for event in events] == names
    assert {key: events[-1][key] for key in ("fault", "abandoned") if key in events[-1]} == rare


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


def test_a_blocked_isolated_body_frees_its_caller(make_toolbox, events) -> None:
    """With `isolate` the caller is free at the deadline; the after says that a thread was left behind."""
    toolbox = make_toolbox(spec_with_runtime(blocks, isolate=True), limits=Limits(timeout_s=0.05))

    result = toolbox.call("blocks", {"seconds": 1.0})

    assert (result.outcome, result.reason) == ("error", "timed_out")
    assert [event["event"] for event in events] == OK
    assert events[-1]["abandoned"] is True


async def test_a_blocked_isolated_body_frees_its_loop(make_toolbox, events) -> None:
    """The same from asynchronous code, where the loop runs on meanwhile."""
    toolbox = make_toolbox(spec_with_runtime(blocks, isolate=True), limits=Limits(timeout_s=0.05))

    result = await toolbox.acall("blocks", {"seconds": 1.0})

    assert (result.outcome, result.reason) == ("error", "timed_out")
    assert [event["event"] for event in events] == OK
    assert events[-1]["abandoned"] is True


def test_after_eight_stuck_threads_the_tool_denies(make_toolbox, events) -> None:
    """A tool that hangs cannot take all threads there are."""
    toolbox = make_toolbox(spec_with_runtime(blocks, isolate=True), limits=Limits(timeout_s=0.01))

    results = [toolbox.call("blocks", {"seconds": 1.5}) for _ in range(9)]

    assert [result.reason for result in results] == ["timed_out"] * 8 + ["tool_stuck"]
    assert results[-1].message == "8 earlier calls of 'blocks' never returned."
    assert [event["event"] for event in events[-4:]] == DENIED


async def test_a_stuck_tool_denies_asynchronous_calls_too(make_toolbox, events) -> None:
    """The count of stuck threads does not depend on who calls."""
    toolbox = make_toolbox(spec_with_runtime(blocks, isolate=True), limits=Limits(timeout_s=0.01))

    results = [await toolbox.acall("blocks", {"seconds": 1.5}) for _ in range(9)]

    assert [result.reason for result in results] == ["timed_out"] * 8 + ["tool_stuck"]


def test_what_an_abandoned_body_does_later_reaches_nobody(make_toolbox, events) -> None:
    """A late end of an abandoned body leaves no second after, and it may start nothing."""
    told: list[str] = []

    def lingers(rt):
        def tool():
            ctx = rt.start("lingers")
            time.sleep(0.1)
            ctx.ok("late")
            try:
                rt.start("another")
            except Exception as error:  # noqa: BLE001 - its type is what is told
                told.append(type(error).__name__)

        return tool

    toolbox = make_toolbox(spec_with_runtime(lingers, isolate=True), limits=Limits(timeout_s=0.02))

    result = toolbox.call("lingers", {})
    time.sleep(0.3)

    assert result.reason == "timed_out"
    assert told == ["NotGated"]
    assert [event["event"] for event in events] == OK


@pytest.mark.parametrize("isolate", [False, True], ids=["inline", "isolated"])
async def test_a_cancelled_call_leaves_its_after(isolate, make_toolbox, events) -> None:
    """Cancelling the caller's task closes the call and lets the cancellation through."""
    spec = spec_with_runtime(blocks, isolate=True) if isolate else spec_with_runtime(sleeps)
    toolbox = make_toolbox(spec)
    task = asyncio.ensure_future(toolbox.acall(spec.name, {"seconds": 0.5}))
    await asyncio.sleep(0.05)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert [event["event"] for event in events] == OK
    assert (events[-1]["outcome"], events[-1]["reason"]) == ("error", "cancelled")


@pytest.mark.parametrize("body", ["sync", "async"])
def test_an_interrupt_leaves_its_after(body, make_toolbox, events) -> None:
    """Ctrl-C in a body closes the call on its way through the gate."""

    def interrupted(rt):
        def tool():
            raise KeyboardInterrupt

        return tool

    toolbox = make_toolbox(spec_with_runtime(interrupted if body == "sync" else asynchronous(interrupted)))

    with pytest.raises(KeyboardInterrupt):
        toolbox.call("interrupted", {})

    assert [event["event"] for event in events] == OK
    assert (events[-1]["outcome"], events[-1]["reason"]) == ("error", "cancelled")


@pytest.mark.parametrize("name", ["event", "status", "message", "level", "name", "tool", "self", "args", "reason"])
async def test_no_argument_can_forge_a_field(name, make_toolbox, events) -> None:
    """An argument named like an event's field lies under `args`, in the call and in `rt.start`."""

    def forger(rt):
        async def tool(**given):
            ctx = rt.start("forger", **given)
            return ctx.ok("done")

        return tool

    spec = spec_with_runtime(forger, parameters={"type": "object", "properties": {name: {"type": "string"}}})
    toolbox = make_toolbox(spec)

    result = await toolbox["forger"].acall(**{name: "forged"})

    assert result.text == "done"
    assert [event["event"] for event in events] == OK
    assert [event["args"] for event in events] == [{name: "forged"}] * 3
    assert (events[-1]["status"], events[-1]["tool"]) == ("ok", "forger")
