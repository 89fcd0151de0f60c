"""Waiting for an approver on an event loop, never longer than its time and never for its cancellation."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

from toolcharter.gate.approvals.question import Question


class Cancelled(Exception):
    """An approver ended as cancelled, or would have ended the process; nobody else had asked for that."""


async def ended(question: Question) -> Any:
    """Ask *question* and wait for its thread; the same as `Question.answer`."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    question.start(partial(_call_soon, loop, done.set))
    with suppress(TimeoutError):  # `answer` raises it, unless the end came just then.
        async with asyncio.timeout(_remaining(question.deadline)):
            await done.wait()
    return question.answer()


async def until(question: Question, awaitable: Awaitable[Any]) -> Any:
    """Await what an approver has returned, but no longer than *question* has time.

    Raises:
        TimeoutError: The time is up, or the question withdrawn. What was awaited is cancelled, and left behind if it
            does not obey.
        Cancelled: It cancelled itself.
    """
    loop = asyncio.get_running_loop()
    withdrawn = asyncio.Event()
    task = asyncio.ensure_future(_contained(awaitable))
    gone = asyncio.ensure_future(withdrawn.wait())
    question.wake_by(partial(_call_soon, loop, withdrawn.set))
    try:
        await asyncio.wait({task, gone}, timeout=_remaining(question.deadline), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
    finally:
        gone.cancel()
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


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # The loop has gone in the meantime.
        loop.call_soon_threadsafe(call)


def _remaining(deadline: float) -> float | None:
    return None if math.isinf(deadline) else max(0.0, deadline - monotonic())
