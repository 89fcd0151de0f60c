"""`LoopThread`: the event loop on which synchronous callers reach asynchronous tools."""

import sys
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from toolcharter.errors import SyncCallInLoop

T = TypeVar("T")


class LoopThread:
    """An event loop in a daemon thread of its own, started by the first call that needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: Any = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run *coroutine* to its end, with the caller's context variables, and return its result.

        An interrupt of the waiting thread cancels it.
        """
        import asyncio  # noqa: PLC0415 - 40 ms that purely synchronous users never pay

        waiting = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return waiting.result()
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
        """Stop the loop, if one was started, and wait for its thread."""
        with self._lock:
            if self._thread is not None and self._thread is not threading.current_thread():
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop.close()
            self._loop = self._thread = None


def _run(loop: Any) -> None:
    """Run *loop* until it is stopped: an exit in one task must not leave the other callers waiting for ever."""
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            # asyncio has handed it to the task, and so to the caller; it also breaks the loop.
            continue
        return


def refuse_inside_loop(tool: str, *unawaited: Any) -> None:
    """Refuse a synchronous call that would block the running event loop until it deadlocks.

    Args:
        tool: The tool's name.
        unawaited: Coroutines that nobody will await then; they are closed.

    Raises:
        SyncCallInLoop: With the name of the method to use instead.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:  # noqa: SLF001 - the one that never raises
        return
    for coroutine in unawaited:
        if hasattr(coroutine, "close"):
            coroutine.close()
    raise SyncCallInLoop(
        f"{tool!r} or a check of it is asynchronous and an event loop is running here; await acall() instead"
    )
