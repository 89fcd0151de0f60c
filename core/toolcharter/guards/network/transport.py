"""httpx transports under the network guard, for libraries that use their own `httpx.Client`."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager

import httpx

from toolcharter.api.call import trace_headers
from toolcharter.api.reasons import GuardReason
from toolcharter.errors import ToolError
from toolcharter.guards.network.checks import check_url
from toolcharter.guards.network.dial import ConnectSettings
from toolcharter.guards.network.exchange import OpenResponse, aexchange, exchange
from toolcharter.guards.network.redirects import MANAGED_HEADERS, HopRequest
from toolcharter.guards.network.urls import parse_url

_FRAMING = frozenset({"content-length", "transfer-encoding"})
_DROPPED = frozenset({"content-encoding", "content-length", "transfer-encoding", "set-cookie", "set-cookie2"})
"""Headers that are no longer true for the decompressed body, and cookies, which are not kept."""


class GuardedTransport(httpx.BaseTransport):
    """A transport with one connection per request. The budget begins with the request."""

    def __init__(self, settings: Callable[[], ConnectSettings]) -> None:
        self._settings = settings

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One hop."""
        settings = self._settings()
        opened = exchange(_hop_request(request, settings), settings)
        return _response(response := opened.__enter__(), _Stream(opened, response))


class AsyncGuardedTransport(httpx.AsyncBaseTransport):
    """The same for asynchronous code."""

    def __init__(self, settings: Callable[[], ConnectSettings]) -> None:
        self._settings = settings

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One hop."""
        settings = self._settings()
        opened = aexchange(_hop_request(request, settings), settings)
        return _response(response := await opened.__aenter__(), _AsyncStream(opened, response))


class _Stream(httpx.SyncByteStream):
    def __init__(self, opened: AbstractContextManager[OpenResponse], response: OpenResponse) -> None:
        self._opened = opened
        self._source = response

    def __iter__(self) -> Iterator[bytes]:
        yield from self._source.body()
        _require_whole(self._source)

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


class _AsyncStream(httpx.AsyncByteStream):
    def __init__(self, opened: AbstractAsyncContextManager[OpenResponse], response: OpenResponse) -> None:
        self._opened = opened
        self._source = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._source.abody():
            yield piece
        _require_whole(self._source)

    async def aclose(self) -> None:
        await self._opened.__aexit__(None, None, None)


def _require_whole(response: OpenResponse) -> None:
    if response.truncated:
        raise ToolError("The answer is larger than the limit.", reason=GuardReason.RESPONSE_TOO_LARGE)


def _hop_request(request: httpx.Request, settings: ConnectSettings) -> HopRequest:
    """Convert a request for `exchange`: its URL is parsed and checked again, and most `MANAGED_HEADERS` are dropped."""
    url = parse_url(str(request.url))
    check_url(url, settings.policy)
    headers = [(name.lower(), value) for name, value in request.headers.multi_items()]
    headers += trace_headers(request.headers).items()
    kept = tuple((name, value) for name, value in headers if name not in MANAGED_HEADERS or name in _FRAMING)
    return HopRequest(url, request.method, kept, request.stream)  # type: ignore[arg-type]


def _response(response: OpenResponse, stream: httpx.SyncByteStream | httpx.AsyncByteStream) -> httpx.Response:
    headers = [(name, value) for name, value in response.head.headers if name not in _DROPPED]
    return httpx.Response(response.head.status, headers=headers, stream=stream)
