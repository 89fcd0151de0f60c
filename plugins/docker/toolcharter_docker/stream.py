"""Parse a container's output: frames of two streams on one connection, with bounded memory."""

from collections.abc import Iterator
from typing import Final

STDOUT: Final = 1
STDERR: Final = 2
_HEADER: Final = 8


class BoundedBuffer:
    """The first bytes of a stream; the rest is dropped."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.truncated = False
        self._limit = limit

    def add(self, chunk: bytes | memoryview) -> None:
        """Keep as much of *chunk* as fits."""
        room = self._limit - len(self.data)
        self.data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room


class Frames:
    """Splits the connection's bytes into the bytes of its streams.

    Source: Docker Engine API 1.41, ContainerAttach, "Stream format": one byte for the stream (0 stdin, 1 stdout, 2
    stderr), three of zero, four for the size, big-endian, then that many bytes.
    """

    def __init__(self) -> None:
        self._header = bytearray()
        self._stream = 0
        self._left = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, memoryview]]:
        """Yield the parts of *data* with the numbers of their streams. The parts are views of *data*."""
        rest = memoryview(data)
        while rest:
            if self._left == 0:
                rest = self._begin(rest)
            if part := rest[: self._left]:
                self._left -= len(part)
                rest = rest[len(part) :]
                yield self._stream, part

    def _begin(self, rest: memoryview) -> memoryview:
        wanted = _HEADER - len(self._header)
        self._header += rest[:wanted]
        if len(self._header) == _HEADER:
            self._stream, self._left = self._header[0], int.from_bytes(self._header[4:], "big")
            self._header.clear()
        return rest[wanted:]
