"""Waiting for an approver on an event loop, never longer than its time and never for its cancellation."""

import asyncio
import math
from collections.abc import Awaitable
from contextlib import suppress
from time import monotonic
from typing import Any

from toolcharter.gate.approvals.question import Question


class Cancelled(Exception):
    """An approver ended as cancelled, or would have ended the process; nobody else had asked for that."""


async def ended(question: Question) -> Any:
    """Ask *question* and wait for its thread; the same as `Question.answer`."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def tell() -> None:
        with suppress(RuntimeError):  # The loop has gone in the meantime.
            loop.call_soon_threadsafe(done.set)

    question.start(tell)
    with suppress(TimeoutError):  # `answer` raises it, unless the end came just then.
        async with asyncio.timeout(_remaining(question.deadline)):
            await done.wait()
    return question.answer()


async def until(deadline: float, awaitable: Awaitable[Any]) -> Any:
    """Await, but no longer than *deadline*, a moment of `time.monotonic`.

    Raises:
        TimeoutError: The time is up. What was awaited is cancelled, and left behind if it does not obey.
        Cancelled: It cancelled itself.
    """
    task = asyncio.ensure_future(_contained(awaitable))
    try:
        await asyncio.wait({task}, timeout=_remaining(deadline))
        if not task.done():
            raise TimeoutError
    finally:
        if not task.done():
            task.add_done_callback(_look_away)
            task.cancel()
    if task.cancelled():
        raise Cancelled
    return task.result()


async def _contained(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except SystemExit as error:  # In a task it would end the loop, and all that runs there.
        raise Cancelled from error


def _look_away(task: "asyncio.Task[Any]") -> None:
    """Take what an abandoned task raises: asyncio complains where nobody does."""
    if not task.cancelled():
        task.exception()


def _remaining(deadline: float) -> float | None:
    return None if math.isinf(deadline) else max(0.0, deadline - monotonic())
