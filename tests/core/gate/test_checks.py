"""Checks that end as no check should: what leaves no answer denies, in every way a call can be made or rehearsed."""

import asyncio
import time
from typing import Any

import pytest

from toolcharter.profile.model import Limits
from toolcharter.spec.call import Call, Decision

from .conftest import spec_of

ACTED: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_has_acted() -> None:
    ACTED.clear()


def act() -> str:
    ACTED.append("acted")
    return "done"


async def outcome(toolbox: Any, way: str) -> tuple[Any, ...]:
    """What *way* says of a call of `act`."""
    if way == "call":
        result = await asyncio.to_thread(toolbox.call, "act", {})
    elif way == "decide":
        result = await asyncio.to_thread(toolbox.decide, "act", {})
    else:
        result = await getattr(toolbox, way)("act", {})
    return ("denied" if isinstance(result, Decision) else result.outcome), result.reason, result.message


each_way = pytest.mark.parametrize("way", ["call", "acall", "decide", "adecide"])


@each_way
@pytest.mark.parametrize("look", ["sync", "async"])
@pytest.mark.parametrize("leaving", [asyncio.CancelledError, SystemExit, GeneratorExit])
async def test_a_check_that_leaves_denies(leaving, look, way, make_toolbox) -> None:
    """Only the caller can cancel a call: a check that raises what looks like it has failed."""

    def leaves(call: Call) -> None:
        raise leaving

    async def leaves_later(call: Call) -> None:
        await asyncio.sleep(0)
        raise leaving

    toolbox = make_toolbox(spec_of(act), checks={"rude": leaves if look == "sync" else leaves_later})

    found = await outcome(toolbox, way)

    assert found == ("denied", "check_failed", f"The check of 'rude' raised {leaving.__name__}.")
    assert ACTED == []


async def test_a_cancellation_passes_through_a_check(make_toolbox, events) -> None:
    """A task that its caller cancels while a check is awaited is cancelled, and the call has its after."""

    async def waits(call: Call) -> None:
        await asyncio.sleep(60)

    toolbox = make_toolbox(spec_of(act), checks={"slow": waits})
    task = asyncio.ensure_future(toolbox.acall("act", {}))
    await asyncio.sleep(0.02)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert (events[-1]["event"], events[-1]["reason"]) == ("hook.tool.after", "cancelled")
    assert ACTED == []


@pytest.mark.parametrize("look", ["sync", "async"])
def test_an_interrupt_passes_through_a_check(look, make_toolbox, events) -> None:
    """Ctrl-C is the caller's, wherever it strikes."""

    def interrupted(call: Call) -> None:
        raise KeyboardInterrupt

    async def interrupted_later(call: Call) -> None:
        raise KeyboardInterrupt

    toolbox = make_toolbox(spec_of(act), checks={"a": interrupted if look == "sync" else interrupted_later})

    with pytest.raises(KeyboardInterrupt):
        toolbox.call("act", {})

    assert (events[-1]["event"], events[-1]["reason"]) == ("hook.tool.after", "cancelled")


@each_way
async def test_checks_that_use_up_the_time_deny(way, make_toolbox) -> None:
    """A synchronous check cannot be ended; that it was too slow denies all the same."""

    def slow(call: Call) -> None:
        time.sleep(0.03)

    toolbox = make_toolbox(spec_of(act), checks={"slow": slow}, limits=Limits(timeout_s=0.01))

    found = await outcome(toolbox, way)

    assert found == ("denied", "check_failed", "The checks took all the time that the call may take.")
    assert ACTED == []
