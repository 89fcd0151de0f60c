"""How stages wait: each is written once, as `async def`, for callers with and without an event loop.

A stage suspends only in `await wait_for(Wait(...))`. `drive_sync` runs it in the caller's thread and blocks there; if
the stage never waits, no event loop is used and asyncio is not imported. `drive_async` awaits in the caller's task.
"""

import math
import sys
import threading
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toolcharter._fork import renew_in_child
from toolcharter._lazy import lazy
from toolcharter.errors import SyncCallInLoop, ToolboxClosed

if TYPE_CHECKING:
    import asyncio
    from concurrent import futures
else:
    asyncio, futures = lazy("asyncio"), lazy("concurrent.futures")

T = TypeVar("T")
_Outcome = tuple[Any, BaseException | None]
"""A value and None, or None and an error."""

JOIN_S = 1.0
"""How long `LoopThread.close` waits for a loop that a body blocks, in seconds."""


class Wait(Generic[T]):
    """Something that a stage waits for, in one way for synchronous and in another for asynchronous callers."""

    def __init__(
        self, block: Callable[[], T], wait: Callable[[], Awaitable[T]], refuse: Callable[[], None] | None = None
    ) -> None:
        """Describe the wait; starts nothing yet.

        Args:
            block: Waits by blocking the thread, for synchronous code.
            wait: Waits on the event loop, for asynchronous code.
            refuse: Called before *block*; raises `SyncCallInLoop` if *block* would block a running event loop.
        """
        self.block = block
        self.wait = wait
        self.refuse = refuse


class StageStopped(BaseException):
    """Raised in a stage whose wait would block a running event loop. It never leaves a driver."""

    def __init__(self, why: SyncCallInLoop) -> None:
        super().__init__(why)
        self.why = why


@types.coroutine
def wait_for(wait: Wait[T]) -> Generator[Wait[T], _Outcome, T]:
    """Suspend the stage until *wait* is over; returns its value or raises its error."""
    value, error = yield wait
    if error is not None:
        raise error  # not by `throw`: a GeneratorExit thrown in would close the awaiting coroutine
    result: T = value
    return result


def drive_sync(stage: Coroutine[Wait[Any], _Outcome, T]) -> T:
    """Run *stage* in this thread, which blocks while the stage waits.

    Raises:
        SyncCallInLoop: The stage waits for something asynchronous, and an event loop runs in this thread.
    """
    outcome: _Outcome | None = None
    try:
        while True:
            wait = stage.send(outcome)  # type: ignore[arg-type]  # None starts it
            try:
                if wait.refuse is not None:
                    _raise_if_refused(wait.refuse)
                outcome = wait.block(), None
            except BaseException as error:  # noqa: BLE001 - the stage decides how to handle it
                outcome = None, error
    except StopIteration as end:
        result: T = end.value
        return result
    except StageStopped as stopped:
        raise stopped.why from None
    finally:
        stage.close()


def _raise_if_refused(refuse: Callable[[], None]) -> None:
    try:
        refuse()
    except SyncCallInLoop as error:
        raise StageStopped(error) from None


async def drive_async(stage: Coroutine[Wait[Any], _Outcome, T]) -> T:
    """Run *stage* in this task, which awaits while the stage waits."""
    outcome: _Outcome | None = None
    try:
        while True:
            wait = stage.send(outcome)  # type: ignore[arg-type]  # None starts it
            try:
                outcome = await wait.wait(), None
            except BaseException as error:  # noqa: BLE001 - the stage decides how to handle it
                outcome = None, error
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        stage.close()


def on_loop(loop: "LoopThread", make: Callable[[], Coroutine[Any, Any, T]]) -> Callable[[], T]:
    """Return a function that runs the coroutine from *make* on *loop*, and blocks the thread until it ends.

    If the coroutine cancels itself, its `CancelledError` is raised like any other error.
    """

    async def contained() -> _Outcome:
        try:
            return await make(), None
        except BaseException as error:
            if is_caller_cancellation(error):
                raise
            return None, error

    def block() -> T:
        value, error = loop.run(contained())
        if error is not None:
            raise error
        result: T = value
        return result

    return block


def signal(start: Callable[[Callable[[], object]], object], deadline: float) -> Wait[bool]:
    """Wait for a thread to signal its end.

    Args:
        start: Starts the thread; gets a function that the thread calls at its end.
        deadline: When to stop waiting, on `time.monotonic`'s clock, in seconds.

    Returns:
        A wait whose value is True if the thread has ended in time.
    """

    def block() -> bool:
        done = threading.Event()
        start(done.set)
        remaining = deadline - monotonic()
        # Event.wait refuses a timeout of infinity.
        return done.wait(None if remaining > threading.TIMEOUT_MAX else max(0.0, remaining))

    async def wait() -> bool:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[bool] = loop.create_future()

        def settle() -> None:
            if not ended.done():
                ended.set_result(True)

        def give_up() -> None:
            if not ended.done():
                ended.set_result(False)

        # One future and one timer are cheaper than an Event under asyncio.timeout, which makes both and more.
        remaining = remaining_s(deadline)
        timer = None if remaining is None else loop.call_later(remaining, give_up)
        try:
            start(partial(call_soon, loop, settle))
            return await ended
        finally:
            if timer is not None:
                timer.cancel()

    return Wait(block, wait)


def awaited(
    awaitable: Awaitable[T], deadline: float, loop: "LoopThread", refuse: Callable[[], None] | None = None
) -> Wait[T]:
    """Return a wait for *awaitable*.

    Args:
        awaitable: Awaited once, and cancelled at the deadline.
        deadline: On `time.monotonic`'s clock, in seconds; past it, the wait raises `TimeoutError`.
        loop: Runs *awaitable* for synchronous code.
        refuse: As for `Wait`.
    """
    wait = partial(until, deadline, awaitable)
    return Wait(on_loop(loop, wait), wait, refuse)


async def until(deadline: float, awaitable: Awaitable[T]) -> T:
    """Await *awaitable* until *deadline*, on `time.monotonic`'s clock, in seconds.

    Raises:
        TimeoutError: The time is up.
    """
    async with asyncio.timeout(remaining_s(deadline)):
        return await awaitable


def remaining_s(deadline: float) -> float | None:
    """Return the seconds until *deadline* for asyncio: at least 0, or None for an infinite deadline."""
    return None if math.isinf(deadline) else max(0.0, deadline - monotonic())


def call_soon(loop: "asyncio.AbstractEventLoop", call: Callable[[], object]) -> None:
    """Schedule *call* on *loop*, from any thread. Does nothing if the loop is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call)


class LoopThread:
    """An event loop in a daemon thread of its own, started by the first call that needs it."""

    def __init__(self) -> None:
        self._parents: list[Any] = []
        """Loops of the parent, in a forked child. Kept, because disposing of one would disturb the parent's loop."""
        self._reset()
        renew_in_child(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._loop: Any = None
        self._thread: threading.Thread | None = None

    def renew(self) -> None:
        """Start again in a forked child: it lacks the parent's thread, and a thread of the parent may hold the lock."""
        self._parents.append(self._loop)
        self._reset()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run *coroutine* to its end, with the caller's context variables, and return its result.

        An interrupt of the waiting thread cancels it.

        Raises:
            ToolboxClosed: The loop was closed before the coroutine's end.
        """
        with self._lock:  # a loop that `close` has stopped would never run the coroutine
            waiting = asyncio.run_coroutine_threadsafe(coroutine, self._ensure_started())
        try:
            return waiting.result()
        except futures.CancelledError:
            raise ToolboxClosed("the toolbox was closed before the call ended") from None
        except BaseException:
            waiting.cancel()
            raise

    def _ensure_started(self) -> Any:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_run, args=(self._loop,), name="toolcharter-loop", daemon=True)
            self._thread.start()
        return self._loop

    def close(self) -> None:
        """Stop the loop, if it was started, and wait for its thread up to `JOIN_S`, in case a body blocks it."""
        with self._lock:
            if self._thread is not None and self._thread is not threading.current_thread():
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join(JOIN_S)
            self._loop = self._thread = None


def _run(loop: Any) -> None:
    """Run *loop* until it is stopped. Neither a `SystemExit` nor the stop leaves a caller waiting forever."""
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            # asyncio has given the exception to the task, and so to the caller, but it also ends `run_forever`.
            continue
        break
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    # Tasks that ended just before the stop have not answered their callers yet, who would wait forever.
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


def is_caller_cancellation(error: BaseException) -> bool:
    """Whether *error*, raised while a body or a check ran, must also end the caller.

    This is true for Ctrl-C, for a cancellation of the current task, and for a driver that stops its stage. Any other
    exception is a failure of the body or check itself: `sys.exit`, or a `CancelledError` of something that it awaited.
    """
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(KeyboardInterrupt) is not None
    if "asyncio" not in sys.modules or not isinstance(error, asyncio.CancelledError):
        return isinstance(error, (KeyboardInterrupt, StageStopped))
    task = asyncio.current_task() if asyncio._get_running_loop() else None
    return task is not None and task.cancelling() > 0


def refuse_inside_loop(tool: str, *unawaited: Any, instead: str = "acall") -> None:
    """Raise for a synchronous call that would block, and so deadlock, the running event loop.

    Args:
        tool: The tool's name.
        unawaited: Coroutines to close, because they will not be awaited.
        instead: The method to use instead.

    Raises:
        SyncCallInLoop: An event loop runs in this thread. The text names *instead*.
    """
    if "asyncio" not in sys.modules or asyncio._get_running_loop() is None:
        return
    for coroutine in unawaited:
        # A future has no `close`, and needs none.
        getattr(coroutine, "close", bool)()
    raise SyncCallInLoop(
        f"{tool!r} or a check of it is asynchronous and an event loop is running here; await {instead}() instead"
    )
