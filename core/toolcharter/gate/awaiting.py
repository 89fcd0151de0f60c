"""The way of a call from asynchronous code: the stages of `Passage`, awaited where they wait."""

import asyncio
import math
from collections.abc import Awaitable, Generator, Mapping
from inspect import isawaitable
from time import monotonic
from typing import Any, TypeVar

from toolcharter.gate.checks import Answer, Waiting
from toolcharter.gate.context import CURRENT, CallContext
from toolcharter.gate.isolation import Body
from toolcharter.gate.loop import is_the_callers
from toolcharter.gate.obstacles import enter, heed_room, weigh
from toolcharter.gate.passage import Passage
from toolcharter.spec.call import ToolResult

T = TypeVar("T")


async def acall(
    passage: Passage, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None
) -> ToolResult:
    """One governed call; the same as `Passage.call`, and cancellable."""
    ctx = passage.enter(args, call_id, parent_id)
    try:
        if ctx.outcome is None and passage.is_hindered(ctx):
            await overcome(passage, ctx)
        if ctx.outcome is None and not ctx.closed:
            if passage.tool.spec.isolate:
                ctx = await isolated(passage, ctx, passage.body)
            elif passage.tool.function.is_async:
                await abody(passage, ctx)
            else:
                passage.body(ctx)  # inline: a thread hop costs 80 to 110 us (speed.md)
    except BaseException:
        passage.interrupt(ctx)
        raise
    return passage.closer.close(ctx)


async def overcome(passage: Passage, ctx: CallContext) -> None:
    """Stages 4 to 6, as `toolcharter.gate.obstacles` takes them from synchronous code."""
    question = weigh(passage, ctx, await object_to(passage, ctx))
    if question is not None:
        await passage.shared.desk.aseek(passage, ctx, question)
    if ctx.outcome is None and passage.room is not None:
        heed_room(ctx, await passage.room.atake(passage.keys(ctx)))
    if ctx.outcome is None:
        enter(passage, ctx)


async def object_to(passage: Passage, ctx: CallContext) -> Answer:
    """What the plugins' checks say of the call."""
    if not passage.shared.checks:
        return None
    checks = passage.objections(ctx)
    try:
        waiting = next(checks)
    except StopIteration as end:
        objection: Answer = end.value
        return objection
    return await drive(checks, waiting, ctx.deadline)


async def abody(passage: Passage, ctx: CallContext) -> None:
    """Stage 7 of an asynchronous body, cancelled at the deadline."""
    token = CURRENT.set(ctx)
    limit = asyncio.timeout(_remaining(ctx.deadline))
    try:
        async with limit:
            value = passage.tool.function.call(**ctx.values)
            if isawaitable(value):  # a decorator may have awaited it already
                value = await value
            passage.returned(ctx, value)
    except BaseException as error:
        if is_the_callers(error):
            raise
        if limit.expired():
            passage.time_out(ctx)
        else:
            passage.failed(ctx, error)
    finally:
        CURRENT.reset(token)


async def isolated(passage: Passage, ctx: CallContext, body: Body) -> CallContext:
    """Run *body* in a thread of its own and wait for it as long as the call may take."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    threads = passage.tool.isolated
    thread = threads.prepare(ctx, body, lambda: _tell(loop, done))
    if thread is None:
        return ctx
    thread.start()
    try:
        async with asyncio.timeout(_remaining(ctx.deadline)):
            await done.wait()
    except TimeoutError:
        return threads.abandon(ctx, thread, passage.time_out)
    except asyncio.CancelledError:
        passage.interrupt(threads.abandon(ctx, thread, passage.time_out))
        raise
    return ctx


def _tell(loop: asyncio.AbstractEventLoop, done: asyncio.Event) -> None:
    """Wake the waiting task, unless its loop has gone in the meantime."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(done.set)


async def drive(checks: Generator[Waiting, Any, Answer], waiting: Waiting, deadline: float) -> Answer:
    """Await *waiting*, the first that *checks* has yielded, and whatever else it yields.

    Each has its own time, and all together have until *deadline*, a moment of `time.monotonic`.
    """
    try:
        while True:
            try:
                answer = await until(min(deadline, monotonic() + waiting.timeout_s), waiting.answer)
            except BaseException as error:  # noqa: BLE001 - the generator knows which check it was, and whose the error is
                waiting = checks.throw(error)
            else:
                waiting = checks.send(answer)
    except StopIteration as end:
        found: Answer = end.value
        return found


async def until(deadline: float, awaitable: Awaitable[T]) -> T:
    """Await, but no longer than *deadline*, a moment of `time.monotonic`.

    Raises:
        TimeoutError: The time is up.
    """
    async with asyncio.timeout(_remaining(deadline)):
        return await awaitable


def _remaining(deadline: float) -> float | None:
    return None if math.isinf(deadline) else max(0.0, deadline - monotonic())
