"""Events as they happen: who listens gets those it may see, in order, each once; who is too slow is dropped and told."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson

MAX_QUEUED = 1_000
"""How many events may wait for one listener."""
MAX_KEPT = 1_000
"""How many events of a tenant are kept for who comes back."""
MAX_LISTENERS = 100
"""How many may listen to one tenant."""


class LiveEvent(NamedTuple):
    """One event with its number."""

    number: int
    line: bytes
    """JSON."""
    agent: str | None
    user: str | None


class TenantEvents:
    """The events of one tenant in this process. Written from any thread, listened to in one event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=MAX_KEPT)
        self._number = 0
        self.listeners: set[Listener] = set()

    def add(self, lines: bytes) -> None:
        """Take whole lines of events."""
        # Read where somebody listens: this is on every call's way.
        with self._lock:
            numbered = list(enumerate(lines.splitlines(), self._number + 1))
            self._number += len(numbered)
            self._kept.extend(numbered)
            listeners = list(self.listeners)
        for number, line in numbered if listeners else ():
            live = _read(number, line)
            if live is not None:
                for listener in listeners:
                    listener.offer(live)

    def listen(self, sees: Callable[[LiveEvent], bool], after: int | None) -> "Listener | None":
        """Begin to listen; None if too many do.

        Args:
            sees: Which events are for the listener.
            after: The last number that it has seen; None for those from now on.
        """
        listener = Listener(self, sees, asyncio.get_running_loop())
        with self._lock:
            if len(self.listeners) >= MAX_LISTENERS:
                return None
            first = self._kept[0][0] if self._kept else self._number + 1
            listener.has_gap = after is not None and (after + 1 < first or after > self._number)
            for number, line in self._kept if after is not None else ():
                if number > (after or 0) or listener.has_gap:
                    live = _read(number, line)
                    if live is not None:
                        listener.offer(live)
            self.listeners.add(listener)
        return listener


def _read(number: int, line: bytes) -> LiveEvent | None:
    """The event of a line; None if it is none."""
    try:
        event: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return LiveEvent(number, line, event.get("agent"), event.get("user"))


class Listener:
    """One stream of events."""

    def __init__(
        self, events: TenantEvents, sees: Callable[[LiveEvent], bool], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.has_gap = False
        """Whether events were lost between the last that was seen and the first that comes."""
        self.is_dropped = False
        """Whether it was too slow: what comes after is lost."""
        self._events = events
        self._sees = sees
        self._loop = loop
        self._queue: deque[LiveEvent] = deque()
        self._some = asyncio.Event()

    def offer(self, live: LiveEvent) -> None:
        """Queue an event; from any thread."""
        if self.is_dropped or not self._sees(live):
            return
        if len(self._queue) >= MAX_QUEUED:
            self.is_dropped = True
        else:
            self._queue.append(live)
        try:
            self._loop.call_soon_threadsafe(self._some.set)
        except RuntimeError:  # The loop has gone.
            self.is_dropped = True

    async def wait(self, timeout_s: float) -> None:
        """Wait until there is something, or *timeout_s* seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._some.wait()
        except TimeoutError:
            return

    def take(self) -> Iterator[LiveEvent]:
        """What has come."""
        self._some.clear()
        while self._queue:
            yield self._queue.popleft()

    def close(self) -> None:
        """Listen no more."""
        self._events.listeners.discard(self)


class LiveSink:
    """A sink of one toolbox, for the listeners of its tenant."""

    def __init__(self, add: Callable[[bytes], object]) -> None:
        self._add = add

    def write(self, lines: bytes) -> None:
        """Hand *lines* on."""
        self._add(lines)

    def close(self) -> None:
        """Nothing is held."""
