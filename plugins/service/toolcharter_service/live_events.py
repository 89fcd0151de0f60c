"""Live events: each listener gets the events that it may see, in order, each once. A slow listener is dropped."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson

MAX_QUEUED = 1_000
"""The most events that may wait for one listener."""
MAX_KEPT = 1_000
"""How many events of a tenant are kept for listeners that reconnect."""
MAX_LISTENERS = 100
"""The most listeners of one tenant."""


class LiveEvent(NamedTuple):
    """One event with its number."""

    number: int
    line: bytes
    """The event as JSON."""
    agent: str | None
    user: str | None


class TenantEvents:
    """The events of one tenant in this process. Any thread may add events; listeners belong to one event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=MAX_KEPT)
        self._number = 0
        self.listeners: set[Listener] = set()

    def add(self, lines: bytes) -> None:
        """Add the events of complete lines."""
        # Parsed only if there is a listener, since every call comes through here.
        with self._lock:
            numbered = list(enumerate(lines.splitlines(), self._number + 1))
            self._number += len(numbered)
            self._kept.extend(numbered)
            listeners = list(self.listeners)
        for number, line in numbered if listeners else ():
            live = _parse_event(number, line)
            if live is not None:
                for listener in listeners:
                    listener.offer(live)

    def add_listener(self, may_see: Callable[[LiveEvent], bool], after: int | None) -> "Listener | None":
        """Add a listener; None if there are too many.

        Args:
            may_see: Whether the listener may see an event.
            after: The last number that it has seen; None to begin with the next event.
        """
        listener = Listener(self, may_see, asyncio.get_running_loop())
        with self._lock:
            if len(self.listeners) >= MAX_LISTENERS:
                return None
            first = self._kept[0][0] if self._kept else self._number + 1
            listener.has_gap = after is not None and (after + 1 < first or after > self._number)
            for number, line in self._kept if after is not None else ():
                if number > (after or 0) or listener.has_gap:
                    live = _parse_event(number, line)
                    if live is not None:
                        listener.offer(live)
            self.listeners.add(listener)
        return listener


def _parse_event(number: int, line: bytes) -> LiveEvent | None:
    """Parse the event of a line; None if it is no event."""
    try:
        event: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return LiveEvent(number, line, event.get("agent"), event.get("user"))


class Listener:
    """One stream of events."""

    def __init__(
        self, events: TenantEvents, may_see: Callable[[LiveEvent], bool], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.has_gap = False
        """Whether events are lost between the last event seen and the first event offered."""
        self.is_dropped = False
        """Whether it was too slow, and gets no further events."""
        self._events = events
        self._may_see = may_see
        self._loop = loop
        self._queue: deque[LiveEvent] = deque()
        self._has_events = asyncio.Event()

    def offer(self, live: LiveEvent) -> None:
        """Queue an event. May be called from any thread."""
        if self.is_dropped or not self._may_see(live):
            return
        if len(self._queue) >= MAX_QUEUED:
            self.is_dropped = True
        else:
            self._queue.append(live)
        try:
            self._loop.call_soon_threadsafe(self._has_events.set)
        except RuntimeError:  # The event loop is closed.
            self.is_dropped = True

    async def wait(self, timeout_s: float) -> None:
        """Wait until there is an event, at most *timeout_s* seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._has_events.wait()
        except TimeoutError:
            return

    def take(self) -> Iterator[LiveEvent]:
        """Yield and remove the queued events."""
        self._has_events.clear()
        while self._queue:
            yield self._queue.popleft()

    def close(self) -> None:
        """Remove the listener."""
        self._events.listeners.discard(self)


class LiveSink:
    """The sink of one toolbox that passes its lines on within this process."""

    def __init__(self, add: Callable[[bytes], object]) -> None:
        self._add = add

    def write(self, lines: bytes) -> None:
        """Pass *lines* on."""
        self._add(lines)

    def close(self) -> None:
        """Do nothing: there are no resources."""
