"""The sink `nats://`: a thread publishes tool events from a bounded queue to JetStream.

A call only appends its lines to the queue. They wait while the server is unreachable. If the queue is full, the lines
are lost and `write` raises. The gate then counts the loss, or refuses the call if the profile requires events.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterable

from nats.errors import MaxPayloadError
from nats.js.api import StreamConfig
from nats.js.errors import NoStreamResponseError

from toolcharter import BusUnavailable
from toolcharter_nats.connection import REQUEST_S, Connection, Server
from toolcharter_nats.envelope import Message, messages

QUEUE_MAX = 10_000
"""The most writes that may wait. A call makes two: its events before and after."""
BATCH = 256
"""The most writes that are published at a time."""
RETRY_S = 0.5
CLOSE_S = 5.0
"""How long `close` waits for undelivered events, in seconds."""


class NatsSink:
    """A sink that publishes to *server*, subject `agi.tool.KIND` or `agi.tool.KIND.TENANT`.

    Args:
        server: The server.
        queue_max: The most writes that may wait. A call makes two: its events before and after.
        close_s: How long `close` waits for undelivered events, in seconds.
    """

    def __init__(self, server: Server, *, queue_max: int = QUEUE_MAX, close_s: float = CLOSE_S) -> None:
        self._connection = Connection(server)
        self._queue: deque[bytes] = deque()
        self._queue_max, self._close_s = queue_max, close_s
        self._changed = threading.Condition()
        self._closing = False
        self._given_up = threading.Event()
        self._made: set[str] = set()
        self._refused = 0
        self.lost = 0
        """How many lines are lost."""
        self._thread = threading.Thread(target=self._work, name="toolcharter-nats-events", daemon=True)
        self._thread.start()

    def write(self, lines: bytes) -> None:
        """Queue *lines* for publishing.

        Raises:
            OSError: The queue is full and *lines* are lost, or the server has refused earlier events.
        """
        with self._changed:
            if self._closing or len(self._queue) >= self._queue_max:
                self.lost += lines.count(b"\n")
                raise OSError(f"{len(self._queue)} events wait for {self._connection.server.display_url} already")
            self._queue.append(lines)
            self._changed.notify()
            refused, self._refused = self._refused, 0
        if refused:
            raise OSError(f"{self._connection.server.display_url} refused {refused} events: they are too large")

    def health(self) -> str | None:
        """Return why the server is unreachable; None if it is connected."""
        return self._connection.health()

    def close(self) -> None:
        """Deliver the waiting events and close the connection.

        Raises:
            OSError: Some events could not be delivered in time.
        """
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(self._close_s)
        self._given_up.set()
        self._connection.close()
        with self._changed:
            left = sum(lines.count(b"\n") for lines in self._queue)
            self._queue.clear()
            self.lost += left
        if left:
            raise OSError(f"{left} events were not delivered to {self._connection.server.display_url}")

    def _work(self) -> None:
        while not self._given_up.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closing)
                batch = [self._queue[index] for index in range(min(BATCH, len(self._queue)))]
            if not batch:
                return
            pending = [message for lines in batch for message in messages(lines)]
            while pending and not self._given_up.is_set():
                pending = self._publish_or_retain(pending)
            if pending:
                return
            with self._changed:
                for _ in batch:
                    self._queue.popleft()

    def _publish_or_retain(self, pending: list[Message]) -> list[Message]:
        """Publish, and return the messages that have to be published again."""
        started = time.monotonic()
        try:
            rest = self._connection.run(lambda: self._publish(pending), REQUEST_S * 2)
        except BusUnavailable:
            rest = pending
        if rest:
            self._given_up.wait(max(0.0, RETRY_S - (time.monotonic() - started)))
        return rest

    async def _publish(self, pending: Iterable[Message]) -> list[Message]:
        for tenant in {message.tenant for message in pending} - self._made:
            await self._make_stream(tenant)
        outcomes = await asyncio.gather(*(self._publish_one(message) for message in pending), return_exceptions=True)
        rest = []
        for message, outcome in zip(pending, outcomes, strict=True):
            if isinstance(outcome, MaxPayloadError):
                self._refused += 1
                self.lost += 1
            elif isinstance(outcome, NoStreamResponseError):
                self._made.discard(message.tenant)
                rest.append(message)
            elif isinstance(outcome, BaseException):
                rest.append(message)
        return rest

    async def _publish_one(self, message: Message) -> None:
        subject = f"agi.tool.{message.kind}" + (f".{message.tenant}" if message.tenant else "")
        headers = {"Nats-Msg-Id": message.event_id}
        await self._connection.jetstream.publish(subject, message.body, headers=headers)

    async def _make_stream(self, tenant: str) -> None:
        server = self._connection.server
        config = StreamConfig(
            name=f"toolcharter-{tenant or '_'}-events",
            subjects=[f"agi.tool.*.{tenant}" if tenant else "agi.tool.*"],
            max_age=server.max_age_s,
            num_replicas=server.replicas,
            duplicate_window=min(3600.0, server.max_age_s),
        )
        await self._connection.jetstream.add_stream(config)
        self._made.add(tenant)
