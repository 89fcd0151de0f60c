"""httpx transports under the network guard, for libraries that use their own `httpx.Client`."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager

import httpx

from toolcharter.api.call import trace_headers
from toolcharter.api.reasons import GuardReason
from toolcharter.errors import ToolError
from toolcharter.guards.network.dial import Lines
from toolcharter.guards.network.exchange import Hop, aexchange, exchange
from toolcharter.guards.network.judge import judge_url
from toolcharter.guards.network.redirects import OURS, Sent
from toolcharter.guards.network.urls import parse_url

_FRAMING = frozenset({"content-length", "transfer-encoding"})
_DROPPED = frozenset({"content-encoding", "content-length", "transfer-encoding", "set-cookie", "set-cookie2"})
"""Headers that are no longer true for the decompressed body, and cookies, which are not kept."""


class GuardedTransport(httpx.BaseTransport):
    """A transport with one connection per request. The budget begins with the request."""

    def __init__(self, lines: Callable[[], Lines]) -> None:
        self._lines = lines

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One hop."""
        lines = self._lines()
        opened = exchange(_sent(request, lines), lines)
        return _response(hop := opened.__enter__(), _Stream(opened, hop))


class AsyncGuardedTransport(httpx.AsyncBaseTransport):
    """The same for asynchronous code."""

    def __init__(self, lines: Callable[[], Lines]) -> None:
        self._lines = lines

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One hop."""
        lines = self._lines()
        opened = aexchange(_sent(request, lines), lines)
        return _response(hop := await opened.__aenter__(), _AsyncStream(opened, hop))


class _Stream(httpx.SyncByteStream):
    def __init__(self, opened: AbstractContextManager[Hop], hop: Hop) -> None:
        self._opened = opened
        self._hop = hop

    def __iter__(self) -> Iterator[bytes]:
        yield from self._hop.body()
        _require_whole(self._hop)

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


class _AsyncStream(httpx.AsyncByteStream):
    def __init__(self, opened: AbstractAsyncContextManager[Hop], hop: Hop) -> None:
        self._opened = opened
        self._hop = hop

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._hop.abody():
            yield piece
        _require_whole(self._hop)

    async def aclose(self) -> None:
        await self._opened.__aexit__(None, None, None)


def _require_whole(hop: Hop) -> None:
    if hop.truncated:
        raise ToolError("The answer is larger than the limit.", reason=GuardReason.RESPONSE_TOO_LARGE)


def _sent(request: httpx.Request, lines: Lines) -> Sent:
    """Convert a request for `exchange`: its URL is parsed and checked again, and most headers of `OURS` are dropped."""
    url = parse_url(str(request.url))
    judge_url(url, lines.policy)
    headers = [(name.lower(), value) for name, value in request.headers.multi_items()]
    headers += trace_headers(request.headers).items()
    kept = tuple((name, value) for name, value in headers if name not in OURS or name in _FRAMING)
    return Sent(url, request.method, kept, request.stream)  # type: ignore[arg-type]


def _response(hop: Hop, stream: httpx.SyncByteStream | httpx.AsyncByteStream) -> httpx.Response:
    headers = [(name, value) for name, value in hop.received.headers if name not in _DROPPED]
    return httpx.Response(hop.received.status, headers=headers, stream=stream)
