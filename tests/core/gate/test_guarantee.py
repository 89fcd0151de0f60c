"""Exactly one before and one after per call, whatever the tool does.

Each row of the table is a way to misbehave; each runs synchronously and asynchronously, and the
whole list of events is compared.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from toolcharter.errors import Denied, ToolError

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
