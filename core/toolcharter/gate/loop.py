"""`LoopThread`: the event loop on which synchronous callers reach asynchronous tools."""

import os
import sys
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

from toolcharter.errors import SyncCallInLoop, ToolboxClosed

T = TypeVar("T")

JOIN_S = 1.0
"""How long `close` waits for a loop that a body holds up, in seconds."""


class LoopThread:
    """An event loop in a daemon thread of its own, started by the first call that needs it."""

    def __init__(self) -> None:
        self._parents: list[Any] = []
        """Loops that a fork has left here; kept, because to dispose of one disturbs the process that runs it."""
        self._begin()
        _ALL.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._loop: Any = None
        self._thread: threading.Thread | None = None

    def leave_to_the_parent(self) -> None:
        """In a fork's child: the thread is the parent's, and perhaps so is who held the lock."""
        self._parents.append(self._loop)
        self._begin()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run *coroutine* to its end, with the caller's context variables, and return its result.

        An interrupt of the waiting thread cancels it.

        Raises:
            ToolboxClosed: The loop was closed before the coroutine's end.
        """
        import asyncio  # noqa: PLC0415 - 40 ms that purely synchronous users never pay
        from concurrent.futures import CancelledError  # noqa: PLC0415 - as above

        waiting = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return waiting.result()
        except CancelledError:
            raise ToolboxClosed("the toolbox was closed before the call ended") from None
        except BaseException:
            waiting.cancel()
            raise

    def _started(self) -> Any:
        import asyncio  # noqa: PLC0415 - as above

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="toolcharter-loop", daemon=True)
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """Stop the loop, if one was started, and wait for its thread; a body that blocks it is left behind."""
        with self._lock:
            if self._thread is not None and self._thread is not threading.current_thread():
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join(JOIN_S)
            self._loop = self._thread = None


_ALL: "weakref.WeakSet[LoopThread]" = weakref.WeakSet()


def _leave_loops_to_the_parent() -> None:
    for loop in _ALL:
        loop.leave_to_the_parent()


os.register_at_fork(after_in_child=_leave_loops_to_the_parent)


def _run(loop: Any) -> None:
    """Run *loop* until it is stopped, and let nobody wait for it for ever: neither after an exit nor after its end."""
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            # asyncio has handed it to the task, and so to the caller; it also breaks the loop.
            continue
        break
    import asyncio  # noqa: PLC0415 - as above

    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.close()


def is_the_callers(error: BaseException) -> bool:
    """Whether *error*, raised where a body or a check ran, ends the caller as well.

    Ctrl-C does, and a cancellation of the task that waits here. Whatever else a body or a check raises is its own
    failure: `sys.exit`, or a `CancelledError` of something that it awaited.
    """
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(KeyboardInterrupt) is not None
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return isinstance(error, KeyboardInterrupt)
    task = asyncio.current_task() if asyncio._get_running_loop() else None  # noqa: SLF001 - the one that never raises
    return task is not None and task.cancelling() > 0


def refuse_inside_loop(tool: str, *unawaited: Any, instead: str = "acall") -> None:
    """Refuse a synchronous call that would block the running event loop until it deadlocks.

    Args:
        tool: The tool's name.
        unawaited: Coroutines that nobody will await then; they are closed.
        instead: The method to use instead.

    Raises:
        SyncCallInLoop: With the name of that method.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:  # noqa: SLF001 - the one that never raises
        return
    for coroutine in unawaited:
        # A future has no `close`, and needs none.
        getattr(coroutine, "close", bool)()
    raise SyncCallInLoop(
        f"{tool!r} or a check of it is asynchronous and an event loop is running here; await {instead}() instead"
    )
