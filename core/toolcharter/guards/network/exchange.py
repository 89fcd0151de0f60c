"""One hop: a new connection, one request, the head of its answer, and the body as it arrives."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib.metadata import version

import httpcore

from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.errors import ToolError
from toolcharter.guards.network.body import ACCEPTED, Body
from toolcharter.guards.network.budget import out_of_time
from toolcharter.guards.network.dial import Lines, adial, dial
from toolcharter.guards.network.redirects import Received, Sent
from toolcharter.guards.network.urls import Url


class Hop:
    """An answer whose head has arrived and whose body can be read."""

    def __init__(self, received: Received, response: httpcore.Response, lines: Lines) -> None:
        self.received = received
        self._response = response
        self._budget = lines.budget
        self.truncated = False
        """Whether the body was longer than the limit. Known only after the body has been read."""

    def body(self) -> Iterator[bytes]:
        """Yield the decompressed body piece by piece, up to the limit."""
        body = Body(self.received.encoding, self._budget.limits.max_bytes)
        with telling():
            for data in self._response.iter_stream():
                self._budget.is_body(len(data))
                yield body.feed(data)
                if body.truncated:
                    self.truncated = True
                    return

    async def abody(self) -> AsyncIterator[bytes]:
        """The same from asynchronous code."""
        body = Body(self.received.encoding, self._budget.limits.max_bytes)
        with telling():
            async for data in self._response.aiter_stream():
                self._budget.is_body(len(data))
                yield body.feed(data)
                if body.truncated:
                    self.truncated = True
                    return


@contextmanager
def exchange(sent: Sent, lines: Lines) -> Generator[Hop]:
    """Send a request whose URL has been checked. The connection closes with the block.

    Raises:
        Denied, ToolError: As `dial`; `invalid_response`, `response_too_large`.
    """
    stream = dial(sent.url, lines)
    try:
        connection = httpcore.HTTP11Connection(_origin(sent.url), stream)
        with telling():
            response = connection.handle_request(_request(sent))
        yield Hop(_head(response, lines), response, lines)
    finally:
        stream.close()


@asynccontextmanager
async def aexchange(sent: Sent, lines: Lines) -> AsyncGenerator[Hop]:
    """The same from asynchronous code."""
    stream = await adial(sent.url, lines)
    try:
        connection = httpcore.AsyncHTTP11Connection(_origin(sent.url), stream)
        with telling():
            response = await connection.handle_async_request(_request(sent))
        yield Hop(_head(response, lines), response, lines)
    finally:
        await stream.aclose()


@contextmanager
def telling() -> Generator[None]:
    """Turn failures between a request and its answer into errors that repeat no text of the server's.

    Raises:
        ToolError: For each kind of error that httpcore raises.
    """
    try:
        yield
    except httpcore.TimeoutException as error:
        raise out_of_time() from error
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


def _request(sent: Sent) -> httpcore.Request:
    url = httpcore.URL(
        scheme=sent.url.scheme, host=sent.url.host_text, port=sent.url.port, target=sent.url.target.encode()
    )
    return httpcore.Request(sent.method, url, headers=[*_headers(sent)], content=sent.content)


def _headers(sent: Sent) -> Iterator[tuple[bytes, bytes]]:
    yield b"Host", sent.url.authority.encode()
    yield b"Connection", b"close"
    yield b"Accept-Encoding", ACCEPTED.encode()
    if isinstance(sent.content, bytes) and (sent.content or sent.method not in {"GET", "HEAD"}):
        yield b"Content-Length", str(len(sent.content)).encode()
    given = dict(sent.headers)
    if "user-agent" not in given:
        yield b"User-Agent", _agent()
    if "accept" not in given:
        yield b"Accept", b"*/*"
    for name, value in sent.headers:
        yield name.encode("latin-1", "replace"), value.encode("latin-1", "replace")


@cache
def _agent() -> bytes:
    return f"toolcharter/{version('toolcharter')}".encode()


def _head(response: httpcore.Response, lines: Lines) -> Received:
    if len(response.headers) > lines.budget.limits.max_headers:
        raise ToolError("The answer has too many headers.", reason=GuardReason.RESPONSE_TOO_LARGE)
    headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers)
    return Received(response.status, headers)
