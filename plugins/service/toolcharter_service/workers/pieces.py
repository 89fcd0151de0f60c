"""Byte streams between the runner `remote` and a worker: ordered pieces with flow control, which survive bus outages.

Piece N of the stream NAME of a job is the key `NAME-ID-N`, with N from 0. The reader deletes each piece, and publishes
how many it has read. The writer may be `WINDOW` pieces ahead, and then waits. The reader publishes its count again at
each poll, so a lost message costs about a second. Between polls, the bus is only asked after a message.
"""

import os
import select
import threading
from contextlib import suppress

from toolcharter import Bus, BusUnavailable

PIECE_BYTES = 65_536
WINDOW = 16
CALLER, WORKER = "caller", "worker"
RETENTION_S = 86_400.0
"""How long an unread piece is kept, in seconds."""


class Waker:
    """Wakes the one thread that waits for it. Any thread may ring it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read_end, self._write_end = os.pipe()
        self._is_open = True
        for descriptor in (self._read_end, self._write_end):
            os.set_blocking(descriptor, False)

    def wake(self) -> None:
        """Wake the waiting thread, or make its next wait return at once."""
        with self._lock, suppress(BlockingIOError):
            if self._is_open:
                os.write(self._write_end, b".")

    def wait(self, timeout_s: float, *, readable: int | None = None, writable: int | None = None) -> bool:
        """Wait until it rings, a descriptor is ready, or the time is over. Return whether *readable* is ready."""
        waiting = select.poll()
        waiting.register(self._read_end, select.POLLIN)
        if readable is not None:
            waiting.register(readable, select.POLLIN)
        if writable is not None:
            waiting.register(writable, select.POLLOUT)
        ready = [descriptor for descriptor, _ in waiting.poll(max(0.0, timeout_s) * 1000)]
        if self._read_end in ready:
            with suppress(BlockingIOError):
                os.read(self._read_end, 4096)
        return readable in ready

    def close(self) -> None:
        """Close its descriptors. No thread may wait any more."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                os.close(self._read_end)
                os.close(self._write_end)


class StreamEndpoint:
    """One end of a job's streams, `caller` or `worker`, and the messages about them."""

    def __init__(self, bus: Bus, tenant: str, job_id: str, own: str, waker: Waker) -> None:
        self.bus, self.tenant, self._job_id, self._waker = bus, tenant, job_id, waker
        self._writers: dict[str, Writer] = {}
        self._readers: dict[str, Reader] = {}
        self._to = f"job-{job_id}-{WORKER if own == CALLER else CALLER}"
        self._subscription = bus.subscribe(f"job-{job_id}-{own}", self._on_message)

    def writer(self, name: str) -> "Writer":
        """Return the writer of the stream *name*."""
        return self._writers.setdefault(name, Writer(self, name))

    def reader(self, name: str) -> "Reader":
        """Return the reader of the stream *name*."""
        return self._readers.setdefault(name, Reader(self, name))

    def key(self, name: str, number: int) -> str:
        """Return the bus key of a piece."""
        return f"{name}-{self._job_id}-{number}"

    def notify(self, what: str, name: str, count: int) -> None:
        """Publish a message to the other side. It is lost if the bus is unreachable."""
        self.bus.publish(self.tenant, self._to, f"{what} {name} {count}".encode())

    def poll(self) -> None:
        """Make the readers poll for pieces whose messages were lost."""
        for reader in self._readers.values():
            reader.poll()

    def close(self) -> None:
        """Stop receiving messages."""
        self._subscription.close()

    def _on_message(self, tenant: str, payload: bytes) -> None:
        what, name, count = payload.decode("ascii").split(" ")
        if tenant != self.tenant:
            return
        if what == "new" and name in self._readers:
            self._readers[name].is_due = True
        elif what == "read" and name in self._writers:
            self._writers[name].acknowledge(int(count))
        self._waker.wake()


class Writer:
    """Writes pieces while there is room for them. For one thread; any thread may call `acknowledge`."""

    def __init__(self, endpoint: StreamEndpoint, name: str) -> None:
        self._endpoint, self._name = endpoint, name
        self._count = self._acknowledged = 0

    @property
    def has_room(self) -> bool:
        """Whether another piece may be written."""
        return self._count - self._acknowledged < WINDOW

    def put(self, piece: bytes) -> None:
        """Write *piece*. The caller checks `has_room` first, and repeats the same piece after `BusUnavailable`."""
        self._endpoint.bus.create(
            self._endpoint.tenant, self._endpoint.key(self._name, self._count), piece, ttl_s=RETENTION_S
        )
        self._count += 1
        self._endpoint.notify("new", self._name, self._count)

    def acknowledge(self, count: int) -> None:
        """Note that the other side has read *count* pieces."""
        self._acknowledged = max(self._acknowledged, count)

    def drop(self) -> None:
        """Delete the unread pieces."""
        with suppress(BusUnavailable):  # They expire then.
            for number in range(self._acknowledged, self._count):
                self._endpoint.bus.delete(self._endpoint.tenant, self._endpoint.key(self._name, number))


class Reader:
    """Reads pieces in order. For one thread."""

    def __init__(self, endpoint: StreamEndpoint, name: str) -> None:
        self._endpoint, self._name = endpoint, name
        self.is_due = True
        """Whether a piece may be there: a message has announced one, or it is time to poll."""
        self._count = self._forgotten = 0
        self._is_polling = False

    def poll(self) -> None:
        """Poll at the next read, and publish the count again, since messages may be lost."""
        self.is_due = self._is_polling = True

    def next(self) -> bytes | None:
        """Return the next piece; None if it is not there.

        Raises:
            BusUnavailable: The bus is unreachable. A later call returns the same piece.
        """
        if not self.is_due:
            return None
        endpoint = self._endpoint
        if self._forgotten < self._count:
            endpoint.bus.delete(endpoint.tenant, endpoint.key(self._name, self._forgotten))
            self._forgotten = self._count
        self.is_due = False
        try:
            piece = endpoint.bus.get(endpoint.tenant, endpoint.key(self._name, self._count))
        except BusUnavailable:
            self.is_due = True
            raise
        if piece is not None:
            self.is_due = True
            self._count += 1
            with suppress(BusUnavailable):
                endpoint.bus.delete(endpoint.tenant, endpoint.key(self._name, self._forgotten))
                self._forgotten = self._count
        if piece is not None or self._is_polling:
            self._is_polling = False
            endpoint.notify("read", self._name, self._count)
        return piece

    def drop(self) -> None:
        """Read and discard all pieces."""
        with suppress(BusUnavailable):
            self.is_due = True
            while self.next() is not None:
                pass
