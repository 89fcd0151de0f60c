"""Streams that end with their request: no read, write or handshake outlasts its budget."""

import ssl
from collections.abc import Iterator

import httpcore

from toolcharter.guards.network.budget import Budget

PIECE = 4096
"""Bytes per write. The remaining time is applied to each write, so a large buffer cannot exceed the budget."""


def pieces(buffer: bytes) -> Iterator[bytes]:
    """Split *buffer* into the pieces in which it is written."""
    return (buffer[at : at + PIECE] for at in range(0, len(buffer), PIECE))


class TimedStream(httpcore.NetworkStream):
    """A stream on a budget. It ignores the timeouts that httpcore passes."""

    def __init__(self, inner: httpcore.NetworkStream, budget: Budget) -> None:
        self._inner = inner
        self._budget = budget

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the bytes that have arrived."""
        data = self._inner.read(max_bytes, self._budget.remaining_s())
        self._budget.spend(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of *buffer*."""
        for piece in pieces(buffer):
            self._inner.write(piece, self._budget.remaining_s())

    def close(self) -> None:
        """Hang up."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "TimedStream":
        """Return the same stream under TLS."""
        return TimedStream(
            self._inner.start_tls(ssl_context, server_hostname, self._budget.remaining_s()), self._budget
        )


class AsyncTimedStream(httpcore.AsyncNetworkStream):
    """The same for asynchronous code."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, budget: Budget) -> None:
        self._inner = inner
        self._budget = budget

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the bytes that have arrived."""
        data = await self._inner.read(max_bytes, self._budget.remaining_s())
        self._budget.spend(len(data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of *buffer*."""
        for piece in pieces(buffer):
            await self._inner.write(piece, self._budget.remaining_s())

    async def aclose(self) -> None:
        """Hang up."""
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "AsyncTimedStream":
        """Return the same stream under TLS."""
        inner = await self._inner.start_tls(ssl_context, server_hostname, self._budget.remaining_s())
        return AsyncTimedStream(inner, self._budget)
