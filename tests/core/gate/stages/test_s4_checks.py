"""Checks that end as no check should: what leaves no answer denies, in every way a call can be made or rehearsed."""

import asyncio
import contextlib
import functools
import gc
import time
from typing import Any

import pytest
from tests.core.gate.conftest import spec_of

from toolcharter.api.call import Ask, Call, Decision, Deny
from toolcharter.errors import Denied, SyncCallInLoop
from toolcharter.profile.model import Limits

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


@pytest.mark.slow
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


def advised(toolbox: Any, **settings: Any) -> Any:
    """*toolbox* with its checks as profiles set them: advisory, or with less time."""
    toolbox._state.checks = tuple(check._replace(**settings) for check in toolbox._state.checks)
    return toolbox


async def hangs(call: Call) -> None:
    await asyncio.sleep(60)


async def refuses_to_end(call: Call) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(60)


async def blocks(call: Call) -> None:
    time.sleep(0.05)  # noqa: ASYNC251 - what a check must not do


@pytest.mark.slow
@each_way
@pytest.mark.parametrize("check", [hangs, refuses_to_end, blocks])
async def test_a_check_has_its_own_time(check, way, make_toolbox) -> None:
    """A check that takes longer denies, though the call itself could wait for ever; an answer that comes late is none."""
    toolbox = advised(make_toolbox(spec_of(act), checks={"slow": check}), timeout_s=0.02)

    found = await outcome(toolbox, way)

    assert found == ("denied", "check_failed", "The check of 'slow' raised TimeoutError.")
    assert ACTED == []


@pytest.mark.slow
async def test_a_denial_that_comes_late_is_one(make_toolbox) -> None:
    """Whoever says no is heard."""

    async def denies(call: Call) -> Deny:
        time.sleep(0.05)  # noqa: ASYNC251 - as above
        return Deny("too_much")

    toolbox = advised(make_toolbox(spec_of(act), checks={"slow": denies}), timeout_s=0.02)

    assert await outcome(toolbox, "acall") == ("denied", "too_much", None)


def raises(call: Call) -> None:
    raise ValueError("no")


async def raises_later(call: Call) -> None:
    raise ValueError("no")


def lies(call: Call) -> Any:
    return True


class Turncoat(Deny):
    """Says no, and something else whenever it is asked again."""

    @property
    def hint(self) -> str:
        raise AttributeError


def pretends(call: Call) -> Any:
    return Turncoat.__new__(Turncoat)


def says_nothing(call: Call) -> Any:
    return Deny.__new__(Deny)


FAILURES = [
    pytest.param(raises, "raised ValueError", id="raises"),
    pytest.param(raises_later, "raised ValueError", id="raises later"),
    pytest.param(hangs, "raised TimeoutError", id="hangs"),
    pytest.param(lies, "answered bool, not None, Deny or Ask", id="lies"),
    pytest.param(pretends, "answered Turncoat, not None, Deny or Ask", id="subclass"),
    pytest.param(says_nothing, "raised AttributeError", id="empty"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("check", "what"), FAILURES)
async def test_a_check_that_fails_denies(check, what, make_toolbox, events) -> None:
    """Whatever is no answer is a refusal, and no fault of the tool."""
    toolbox = advised(make_toolbox(spec_of(act), checks={"a": check}), timeout_s=0.02)

    found = [await outcome(toolbox, way) for way in ("call", "acall", "decide", "adecide")]

    assert found == [("denied", "check_failed", f"The check of 'a' {what}.")] * 4
    assert [event.get("fault") for event in events if event["event"] == "hook.tool.after"] == [None, None]
    assert ACTED == []


@pytest.mark.parametrize(("check", "what"), FAILURES)
async def test_an_advisory_check_that_fails_is_noted(check, what, make_toolbox, events) -> None:
    """The call goes on, and its event says that the check did not count."""
    toolbox = advised(
        make_toolbox(spec_of(act), checks={"a": check, "b": functools.partial(check)}), advisory=True, timeout_s=0.02
    )

    results = [await asyncio.to_thread(toolbox.call, "act", {}), await toolbox.acall("act", {})]
    decisions = [await asyncio.to_thread(toolbox.decide, "act", {}), await toolbox.adecide("act", {})]

    assert [result.outcome for result in results] == ["ok", "ok"]
    assert [decision.outcome for decision in decisions] == ["allow", "allow"]
    noted = [event["fault"] for event in events if event["event"] == "hook.tool.after"]
    assert noted == [["advisory_check_failed"]] * 2


async def test_the_denial_of_an_advisory_check_denies(make_toolbox, events) -> None:
    """Advisory is a check's failure, not its answer."""

    async def denies(call: Call) -> Deny:
        return Deny("too_much")

    toolbox = advised(make_toolbox(spec_of(act), checks={"a": denies}), advisory=True)

    found = [await outcome(toolbox, way) for way in ("call", "acall", "decide", "adecide")]

    assert found == [("denied", "too_much", None)] * 4
    assert "fault" not in events[-1]


def refuses(call: Call) -> None:
    raise Denied("too_much", "No more.", hint="Wait.")


async def refuses_later(call: Call) -> None:
    refuses(call)


def refuses_without_a_word(call: Call) -> None:
    raise Denied.__new__(Denied)


@pytest.mark.parametrize("advisory", [False, True])
@pytest.mark.parametrize(
    ("check", "reason", "message"),
    [
        pytest.param(refuses, "too_much", "No more.", id="raises"),
        pytest.param(refuses_later, "too_much", "No more.", id="raises later"),
        pytest.param(refuses_without_a_word, "check_failed", "The check of 'a' raised AttributeError.", id="empty"),
    ],
)
async def test_a_denial_that_is_raised_is_one(check, reason, message, advisory, make_toolbox, events) -> None:
    """What a tool may raise a check may raise; not even an advisory one lets pass what it has denied."""
    toolbox = advised(make_toolbox(spec_of(act), checks={"a": check}), advisory=advisory)

    found = [await outcome(toolbox, way) for way in ("call", "acall", "decide", "adecide")]

    assert found == [("denied", reason, message)] * 4
    assert "fault" not in events[-1]


async def test_checks_are_asked_one_after_the_other(make_toolbox) -> None:
    """In the order of their names; the first denial spares the others the question."""
    asked: list[str] = []

    def check(name: str, answer: Any) -> Any:
        async def look(call: Call) -> Any:
            asked.append(f"{name} begins")
            await asyncio.sleep(0)
            asked.append(f"{name} ends")
            return answer

        return look

    checks = {"c": check("c", Deny("third")), "b": check("b", Deny("second")), "a": check("a", Ask("first"))}

    found = await outcome(make_toolbox(spec_of(act), checks=checks), "acall")

    assert found == ("denied", "second", None)
    assert asked == ["a begins", "a ends", "b begins", "b ends"]


async def test_no_check_is_asked_after_a_refusal_to_wait(make_toolbox) -> None:
    """A synchronous call inside a loop ends at the first check that it would have to await, advisory or not."""
    asked: list[str] = []

    def later(call: Call) -> None:
        asked.append("b")

    toolbox = advised(make_toolbox(spec_of(act), checks={"a": hangs, "b": later}), advisory=True)

    with pytest.raises(SyncCallInLoop):
        toolbox.call("act", {})

    gc.collect()
    assert asked == []
