"""`DeliveryQueue`: a bounded queue and a thread that delivers its items, so that offering an item never waits.

Items that are not delivered are counted as lost; nothing is raised.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from toolcharter.api.channel import Pause, Sender
from toolcharter.errors import NotDelivered

QUEUE_MAX = 1000
"""How many items may wait in one queue."""
LINGER_S = 5.0
"""How long an idle thread waits for the next item before it ends, in seconds. So a queue need not be closed."""

T = TypeVar("T")


class Losses:
    """The number of lost items, and the error of the last loss."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0
        self.last_error: BaseException | None = None

    def add(self, count: int, error: BaseException) -> None:
        """Count *count* more lost items."""
        with self._lock:
            self.count += count
            self.last_error = error.with_traceback(None)  # its frames would keep their objects alive


class DeliveryQueue(Generic[T]):
    """The queue of one destination, so that a slow destination does not delay another."""

    def __init__(
        self,
        open_sender: Callable[[], Sender[T]],
        losses: Losses,
        *,
        limit: int = QUEUE_MAX,
        linger_s: float = LINGER_S,
        pause: Pause | None = None,
    ) -> None:
        self._open = open_sender
        self._losses = losses
        self._limit = limit
        self._linger_s = linger_s
        self._given_up = threading.Event()
        self._pause = pause or self._given_up.wait
        self._changed = threading.Condition()
        self._queue: deque[T] = deque()
        self._is_delivering = False
        self._worker: threading.Thread | None = None
        """None: no item waits or is being delivered."""
        self._closing = False

    def offer(self, item: T) -> None:
        """Queue *item* for delivery, or count it as lost. Never waits."""
        with self._changed:
            if self._closing:
                self._losses.add(1, NotDelivered("closed"))
            elif len(self._queue) >= self._limit:
                self._losses.add(1, NotDelivered(f"{self._limit} items are waiting already"))
            else:
                self._queue.append(item)
                self._changed.notify_all()
                if self._worker is None:
                    self._start()

    def _start(self) -> None:
        worker = threading.Thread(target=self._work, name="toolcharter-notify", daemon=True)
        try:
            worker.start()
        except RuntimeError as error:  # no further thread can be started, or the interpreter shuts down
            self._queue.clear()
            self._losses.add(1, error)
        else:
            self._worker = worker

    def _work(self) -> None:
        sender: Sender[T] | None = None
        while (item := self._next()) is not None:
            try:
                if sender is None:
                    sender = self._open()
                sender.send(item, self._pause)
            except BaseException as error:  # noqa: BLE001 - a logging handler is the user's code; deliver the next item
                self._lose_current_item(error)
        if sender is not None:
            sender.close()

    def _next(self) -> T | None:
        with self._changed:
            self._is_delivering = False
            self._changed.wait_for(lambda: self._queue or self._closing, self._linger_s)
            if not self._queue:
                self._worker = None
                self._changed.notify_all()
                return None
            self._is_delivering = True
            return self._queue.popleft()

    def _lose_current_item(self, error: BaseException) -> None:
        with self._changed:
            if not self._given_up.is_set():  # else `close` has counted it
                self._losses.add(1, error)

    def close(self, timeout_s: float) -> None:
        """Wait until all items are delivered. Items that are left after *timeout_s* seconds are lost."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            if self._changed.wait_for(lambda: self._worker is None, timeout_s) or self._given_up.is_set():
                return
            self._given_up.set()
            left = len(self._queue) + self._is_delivering
            self._queue.clear()
            if left:
                self._losses.add(left, NotDelivered(f"{left} items were not delivered before the end"))
