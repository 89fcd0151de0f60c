"""One hop: a new connection, one request, the head of its answer, and the body as it arrives."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib.metadata import version

import httpcore

from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.errors import ToolError
from toolcharter.guards.network.body import ACCEPTED_ENCODINGS, BodyDecoder
from toolcharter.guards.network.budget import timeout_error
from toolcharter.guards.network.dial import ConnectSettings, adial, dial
from toolcharter.guards.network.redirects import HopRequest, ResponseHead
from toolcharter.guards.network.urls import Url


class OpenResponse:
    """An answer whose head has arrived and whose body can be read."""

    def __init__(self, head: ResponseHead, response: httpcore.Response, settings: ConnectSettings) -> None:
        self.head = head
        self._response = response
        self._budget = settings.budget
        self.truncated = False
        """Whether the body was longer than the limit. Known only after the body has been read."""

    def body(self) -> Iterator[bytes]:
        """Yield the decompressed body piece by piece, up to the limit."""
        body = BodyDecoder(self.head.encoding, self._budget.limits.max_bytes)
        with translate_errors():
            for data in self._response.iter_stream():
                self._budget.count_body(len(data))
                yield body.feed(data)
                if body.truncated:
                    self.truncated = True
                    return

    async def abody(self) -> AsyncIterator[bytes]:
        """The same from asynchronous code."""
        body = BodyDecoder(self.head.encoding, self._budget.limits.max_bytes)
        with translate_errors():
            async for data in self._response.aiter_stream():
                self._budget.count_body(len(data))
                yield body.feed(data)
                if body.truncated:
                    self.truncated = True
                    return


@contextmanager
def exchange(request: HopRequest, settings: ConnectSettings) -> Generator[OpenResponse]:
    """Send a request whose URL has been checked. The connection closes with the block.

    Raises:
        Denied, ToolError: As `dial`; `invalid_response`, `response_too_large`.
    """
    stream = dial(request.url, settings)
    try:
        connection = httpcore.HTTP11Connection(_origin(request.url), stream)
        with translate_errors():
            response = connection.handle_request(_request(request))
        yield OpenResponse(_head(response, settings), response, settings)
    finally:
        stream.close()


@asynccontextmanager
async def aexchange(request: HopRequest, settings: ConnectSettings) -> AsyncGenerator[OpenResponse]:
    """The same from asynchronous code."""
    stream = await adial(request.url, settings)
    try:
        connection = httpcore.AsyncHTTP11Connection(_origin(request.url), stream)
        with translate_errors():
            response = await connection.handle_async_request(_request(request))
        yield OpenResponse(_head(response, settings), response, settings)
    finally:
        await stream.aclose()


@contextmanager
def translate_errors() -> Generator[None]:
    """Turn failures between a request and its answer into errors that repeat no text of the server's.

    Raises:
        ToolError: For each kind of error that httpcore raises.
    """
    try:
        yield
    except httpcore.TimeoutException as error:
        raise timeout_error() from error
    except httpcore.LocalProtocolError:
        # Without httpcore's message: it repeats the header, which may contain a key.
        message = "The request cannot be sent: its method or a header is not valid in HTTP."
        raise ToolError(message, reason=Reason.INVALID_ARGUMENTS) from None
    except httpcore.ProtocolError as error:
        message = "The host does not answer with complete and valid HTTP."
        raise ToolError(message, reason=GuardReason.INVALID_RESPONSE) from error
    except httpcore.NetworkError as error:
        message = "The host hung up."
        raise ToolError(message, reason=GuardReason.CONNECTION_FAILED, retryable=True) from error


def _origin(url: Url) -> httpcore.Origin:
    return httpcore.Origin(url.scheme.encode(), url.host_text.encode(), url.port)


def _request(request: HopRequest) -> httpcore.Request:
    url = httpcore.URL(
        scheme=request.url.scheme, host=request.url.host_text, port=request.url.port, target=request.url.target.encode()
    )
    return httpcore.Request(request.method, url, headers=[*_headers(request)], content=request.content)


def _headers(request: HopRequest) -> Iterator[tuple[bytes, bytes]]:
    yield b"Host", request.url.authority.encode()
    yield b"Connection", b"close"
    yield b"Accept-Encoding", ACCEPTED_ENCODINGS.encode()
    if isinstance(request.content, bytes) and (request.content or request.method not in {"GET", "HEAD"}):
        yield b"Content-Length", str(len(request.content)).encode()
    given = dict(request.headers)
    if "user-agent" not in given:
        yield b"User-Agent", _user_agent()
    if "accept" not in given:
        yield b"Accept", b"*/*"
    for name, value in request.headers:
        yield name.encode("latin-1", "replace"), value.encode("latin-1", "replace")


@cache
def _user_agent() -> bytes:
    return f"toolcharter/{version('toolcharter')}".encode()


def _head(response: httpcore.Response, settings: ConnectSettings) -> ResponseHead:
    if len(response.headers) > settings.budget.limits.max_headers:
        raise ToolError("The answer has too many headers.", reason=GuardReason.RESPONSE_TOO_LARGE)
    headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers)
    return ResponseHead(response.status, headers)
