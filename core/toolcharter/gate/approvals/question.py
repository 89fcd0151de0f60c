"""One call of an approver, in a daemon thread: its caller can stop waiting."""

import contextvars
import threading
from collections.abc import Callable
from contextvars import ContextVar
from inspect import iscoroutine
from typing import Any

from toolcharter.api.approval import ApprovalRequest, Approver

ABANDONED: ContextVar[threading.Event | None] = ContextVar("ABANDONED", default=None)
"""Set once the caller no longer waits for the answer; an approver that polls it ends then."""


class Question:
    """Calls *approver* once, with the asker's context variables."""

    def __init__(self, approver: Approver, request: ApprovalRequest, deadline: float) -> None:
        self.request = request
        self.deadline = deadline
        """A moment of `time.monotonic`."""
        self._approver = approver
        self._abandoned = threading.Event()
        self._given: Any = None
        self._error: BaseException | None = None
        self._ended = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake: Callable[[], object] = bool

    def start(self, done: Callable[[], object]) -> None:
        """Start the thread, which calls *done* at its end; `withdraw` does as well."""
        self.wake_by(done)
        context = contextvars.copy_context()
        context.run(ABANDONED.set, self._abandoned)

        def work() -> None:
            try:
                given = context.run(self._approver, self.request)
            except BaseException as error:  # noqa: BLE001 - the waiting caller judges it
                self._end(None, error)
            else:
                self._end(given, None)
            done()

        self._thread = threading.Thread(target=work, name="toolcharter-approver", daemon=True)
        self._thread.start()

    def _end(self, given: Any, error: BaseException | None) -> None:
        with self._lock:
            self._given, self._error, self._ended = given, error, True
            if self._abandoned.is_set() and iscoroutine(given):
                given.close()  # Python warns of one that is never awaited.

    def answer(self) -> Any:
        """What the approver has returned, which may have to be awaited.

        Raises:
            TimeoutError: It still runs.
            BaseException: What it raised.
        """
        with self._lock:
            if not self._ended:
                raise TimeoutError
            if self._error is not None:
                raise self._error
            return self._given

    def wake_by(self, wake: Callable[[], object]) -> None:
        """Have `withdraw` call *wake* from now on; at once, if that has happened already."""
        with self._lock:
            self._wake = wake
            late = self._abandoned.is_set()
        if late:
            wake()

    def withdraw(self) -> None:
        """Release the caller that waits, without an answer."""
        with self._lock:
            self._abandoned.set()
            wake = self._wake
        wake()

    def abandon(self) -> threading.Thread | None:
        """Notify the approver that the caller no longer waits.

        Returns:
            Its thread, if it still runs.
        """
        with self._lock:
            self._abandoned.set()
            return None if self._ended else self._thread
