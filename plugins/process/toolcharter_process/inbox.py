"""`InboxNotices`: puts the notices of a session's processes into its inbox, in a thread that does not delay output."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

from typing_extensions import override

from toolcharter import Inbox, ToolcharterError
from toolcharter_process.watches import Notice, Notices

_ENDS_S = 5.0
"""How long closing the toolbox waits for notices that are not in the inbox yet, in seconds."""


class TaskThread:
    """Runs functions one after the other, in its own thread."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], object]) -> None:
        """Queue *work*, which must not raise."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="toolcharter-notices", daemon=True)
                self._thread.start()
        self._waiting.put(work)

    def close(self) -> None:
        """Run the queued functions, and end the thread."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(_ENDS_S)

    def _work(self) -> None:
        while (work := self._waiting.get()) is not None:
            work()


class InboxNotices(Notices):
    """The notices of one session. A notice that the inbox does not take waits for the session's next call."""

    reports_ends = True

    def __init__(self, inbox: Inbox, thread: TaskThread) -> None:
        super().__init__()
        self._inbox = inbox
        self._task_thread = thread

    @override
    def add(self, notice: Notice) -> None:
        self._task_thread.submit(lambda: self._put(notice))

    def _put(self, notice: Notice) -> None:
        try:
            text = f"{notice['event']} ({notice['watch']}): {notice['text']}"
            self._inbox.put(text, source=f"process {notice['handle']}")
        except ToolcharterError:
            super().add(notice)
