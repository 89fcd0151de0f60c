"""Bytes that go on between the runner `remote` and a worker: in pieces, in order, bounded, and kept while the bus is away.

Piece N of the stream NAME of a job is the key `NAME-ID-N`, with N from 0. Who reads it forgets it and says by a message
how many it has; who writes has at most `WINDOW` of them on their way, and waits then. The reader says it again with each
look, so that a message that was lost costs a second. Nobody asks the bus while there is nothing new.
"""

import os
import select
import threading
from contextlib import suppress

from toolcharter import Bus, BusUnavailable

PIECE_BYTES = 65_536
WINDOW = 16
CALLER, WORKER = "caller", "worker"
KEPT_S = 86_400.0
"""How long a piece that nobody reads is kept, in seconds."""


class Bell:
    """Wakes the one thread that waits for it; anybody rings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heard, self._rope = os.pipe()
        self._is_open = True
        for descriptor in (self._heard, self._rope):
            os.set_blocking(descriptor, False)

    def ring(self) -> None:
        """Wake it, or let its next wait be none."""
        with self._lock, suppress(BlockingIOError):
            if self._is_open:
                os.write(self._rope, b".")

    def wait(self, timeout_s: float, *, readable: int | None = None, writable: int | None = None) -> bool:
        """Return when it rings, when a descriptor is ready, or when the time is up; whether *readable* is ready."""
        waiting = select.poll()
        waiting.register(self._heard, select.POLLIN)
        if readable is not None:
            waiting.register(readable, select.POLLIN)
        if writable is not None:
            waiting.register(writable, select.POLLOUT)
        ready = [descriptor for descriptor, _ in waiting.poll(max(0.0, timeout_s) * 1000)]
        if self._heard in ready:
            with suppress(BlockingIOError):
                os.read(self._heard, 4096)
        return readable in ready

    def close(self) -> None:
        """Release it; nobody waits any more."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                os.close(self._heard)
                os.close(self._rope)


class Side:
    """One of the two that speak about a job, `caller` or `worker`: its streams, and the messages about them."""

    def __init__(self, bus: Bus, tenant: str, job_id: str, own: str, bell: Bell) -> None:
        self.bus, self.tenant, self._job_id, self._bell = bus, tenant, job_id, bell
        self._writers: dict[str, Writer] = {}
        self._readers: dict[str, Reader] = {}
        self._to = f"job-{job_id}-{WORKER if own == CALLER else CALLER}"
        self._subscription = bus.subscribe(f"job-{job_id}-{own}", self._heard)

    def writer(self, name: str) -> "Writer":
        """The end of the stream *name* that writes."""
        return self._writers.setdefault(name, Writer(self, name))

    def reader(self, name: str) -> "Reader":
        """The end of the stream *name* that reads."""
        return self._readers.setdefault(name, Reader(self, name))

    def key(self, name: str, number: int) -> str:
        """Where a piece lies."""
        return f"{name}-{self._job_id}-{number}"

    def tell(self, what: str, name: str, count: int) -> None:
        """Have the other one hear of it, if the bus is there."""
        self.bus.publish(self.tenant, self._to, f"{what} {name} {count}".encode())

    def look(self) -> None:
        """Have the readers look for what no message told of."""
        for reader in self._readers.values():
            reader.look()

    def close(self) -> None:
        """Hear of no more."""
        self._subscription.close()

    def _heard(self, tenant: str, payload: bytes) -> None:
        what, name, count = payload.decode("ascii").split(" ")
        if tenant != self.tenant:
            return
        if what == "new" and name in self._readers:
            self._readers[name].is_due = True
        elif what == "read" and name in self._writers:
            self._writers[name].read(int(count))
        self._bell.ring()


class Writer:
    """Puts pieces while there is room for them. For one thread; `read` for any."""

    def __init__(self, side: Side, name: str) -> None:
        self._side, self._name = side, name
        self._count = self._read = 0

    @property
    def has_room(self) -> bool:
        """Whether one more may be on its way."""
        return self._count - self._read < WINDOW

    def put(self, piece: bytes) -> None:
        """Put *piece*, for which there is room. After `BusUnavailable` the same piece is to be put again."""
        self._side.bus.create(self._side.tenant, self._side.key(self._name, self._count), piece, ttl_s=KEPT_S)
        self._count += 1
        self._side.tell("new", self._name, self._count)

    def read(self, count: int) -> None:
        """The other side has read *count*."""
        self._read = max(self._read, count)

    def drop(self) -> None:
        """Forget what nobody will read."""
        with suppress(BusUnavailable):  # Then it goes when its time is up.
            for number in range(self._read, self._count):
                self._side.bus.delete(self._side.tenant, self._side.key(self._name, number))


class Reader:
    """Takes pieces in their order. For one thread."""

    def __init__(self, side: Side, name: str) -> None:
        self._side, self._name = side, name
        self.is_due = True
        """Whether there may be a piece: it was heard of, or not looked for."""
        self._count = self._forgotten = 0
        self._looks = False

    def look(self) -> None:
        """Look for a piece of which no message told, and say what was read, which may not have been heard."""
        self.is_due = self._looks = True

    def next(self) -> bytes | None:
        """The next piece, if it is there.

        Raises:
            BusUnavailable: The bus is away; the same piece comes later.
        """
        if not self.is_due:
            return None
        side = self._side
        if self._forgotten < self._count:
            side.bus.delete(side.tenant, side.key(self._name, self._forgotten))
            self._forgotten = self._count
        self.is_due = False
        try:
            piece = side.bus.get(side.tenant, side.key(self._name, self._count))
        except BusUnavailable:
            self.is_due = True
            raise
        if piece is not None:
            self.is_due = True
            self._count += 1
            with suppress(BusUnavailable):
                side.bus.delete(side.tenant, side.key(self._name, self._forgotten))
                self._forgotten = self._count
        if piece is not None or self._looks:
            self._looks = False
            side.tell("read", self._name, self._count)
        return piece

    def drop(self) -> None:
        """Forget what is there."""
        with suppress(BusUnavailable):
            self.is_due = True
            while self.next() is not None:
                pass
