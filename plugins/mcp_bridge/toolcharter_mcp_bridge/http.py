"""The transports of servers behind a URL: streamable HTTP, and the older HTTP with server-sent events.

All connections go through the network guard, to the one host and port of the profile's URL; redirects are not followed.

Source: Model Context Protocol 2025-11-25 and 2026-07-28, "Transports"; 2024-11-05 for the older one; WHATWG HTML,
"Server-sent events".
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpx
import orjson

from toolcharter import Denied, DiscoveryRuntime, HttpLimits, ToolError
from toolcharter_mcp_bridge.policy import ServerPolicy
from toolcharter_mcp_bridge.stdio import resolve_secrets
from toolcharter_mcp_bridge.wire import MODERN, ConnectionLost, Session

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_LONGEST_S: Final = 3600.0
"""How long one stream may last, in seconds; then it is opened again."""
_SESSION: Final = "mcp-session-id"
_NOT_FOUND: Final = 404
_RETRY_PAUSE_S: Final = 5.0
"""The wait before the stream of notifications is opened again, in seconds."""
_FAILURES = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, Denied, ToolError, OSError)


class HttpLink:
    """Messages to one server over streamable HTTP. Satisfies `Link`."""

    version = ""

    def __init__(self, session: Session, url: str, client: httpx.AsyncClient, max_bytes: int) -> None:
        self._session = session
        self._url = url
        self._client = client
        self._max_bytes = max_bytes
        self._id: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._listens = False

    async def send(self, message: Mapping[str, Any]) -> None:
        """Post one message; a separate task reads the answer."""
        self._start_task(self._post(message))
        if message.get("method") == "notifications/initialized" and not self._listens:
            self._listens = True
            self._start_task(self._listen())

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        headers = {"accept": f"{_JSON}, {_EVENTS}", "content-type": _JSON}
        if self._id is not None:
            headers[_SESSION] = self._id
        if self.version:
            headers["mcp-protocol-version"] = self.version
        if self.version == MODERN and isinstance(method := message.get("method"), str):
            headers["mcp-method"] = method
            name = message.get("params", {}).get("name")
            headers |= {"mcp-name": name} if isinstance(name, str) and name.isascii() else {}
        return headers

    async def _post(self, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        try:
            headers = self._headers(message)
            async with self._client.stream("POST", self._url, content=orjson.dumps(message), headers=headers) as answer:
                if answer.status_code == _NOT_FOUND and self._id is not None:
                    self._session.mark_lost("The server has ended the session.")
                    return
                if not answer.is_success:
                    await self._handle_error(number, answer)
                    return
                if message.get("method") == "initialize":
                    self._id = answer.headers.get(_SESSION)
                await self._read(answer)
        except (*_FAILURES, ConnectionLost) as error:
            self._session.fail(number, ConnectionLost(_describe_error(error)))
            return
        self._session.fail(number, ConnectionLost("The server ended its answer without a message."))

    async def _handle_error(self, number: object, answer: httpx.Response) -> None:
        """Handle an error status; the body may hold a JSON-RPC error."""
        if answer.headers.get("content-type", "").startswith(_JSON):
            self._session.feed(await answer.aread())
        self._session.fail(number, ConnectionLost(f"The server answered with status {answer.status_code}."))

    async def _read(self, answer: httpx.Response) -> None:
        kind = answer.headers.get("content-type", "")
        if kind.startswith(_EVENTS):
            async for event, data in events_of(answer, self._max_bytes):
                if event == "message" and data:
                    self._session.feed(data)
        elif kind.startswith(_JSON):
            self._session.feed(await answer.aread())

    async def _listen(self) -> None:
        """Listen for changed tools, as long as the server offers a stream for notifications."""
        while not self._session.lost.done():
            with suppress(*_FAILURES, ConnectionLost):
                headers = {**self._headers({}), "accept": _EVENTS}
                async with self._client.stream("GET", self._url, headers=headers) as answer:
                    if not answer.is_success:
                        return
                    await self._read(answer)
            await asyncio.sleep(_RETRY_PAUSE_S)

    async def close(self) -> None:
        """End the session, and every request under way."""
        await _cancel_all(self._tasks)
        if self._id is not None:
            with suppress(*_FAILURES, TimeoutError):
                async with asyncio.timeout(2):
                    await self._client.delete(self._url, headers=self._headers({}))
        await self._client.aclose()


class SseLink:
    """Messages to one server over the older transport: one stream, and posts to a URL that the stream names."""

    version = ""

    def __init__(self, session: Session, url: str, client: httpx.AsyncClient, max_bytes: int) -> None:
        self._session = session
        self._url = url
        self._client = client
        self._max_bytes = max_bytes
        self._place: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._tasks = {asyncio.get_running_loop().create_task(self._listen())}

    async def send(self, message: Mapping[str, Any]) -> None:
        """Post one message to the URL that the stream has named."""
        await asyncio.wait({self._place})
        place = self._place.result()
        try:
            answer = await self._client.post(place, content=orjson.dumps(message), headers={"content-type": _JSON})
        except _FAILURES as error:
            raise ConnectionLost(_describe_error(error)) from error
        if not answer.is_success:
            raise ConnectionLost(f"The server answered with status {answer.status_code}.")

    async def _listen(self) -> None:
        why = "The server has ended its stream."
        try:
            async with self._client.stream("GET", self._url, headers={"accept": _EVENTS}) as answer:
                if not answer.is_success:
                    why = f"The server answered with status {answer.status_code}."
                    return
                async for event, data in events_of(answer, self._max_bytes):
                    if event == "endpoint":
                        self._set_post_url(data)
                    elif event == "message" and data:
                        self._session.feed(data)
        except _FAILURES as error:
            why = _describe_error(error)
        except ConnectionLost as error:
            why = str(error)
        finally:
            self._session.mark_lost(why)
            if not self._place.done():
                self._place.set_exception(ConnectionLost(why))
                self._place.exception()  # Retrieved here: perhaps no sender waits for it.

    def _set_post_url(self, place: str) -> None:
        here, there = urlsplit(self._url), urlsplit(found := urljoin(self._url, place))
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise ConnectionLost("The server wants messages to be sent to another host.")
        if not self._place.done():
            self._place.set_result(found)

    async def close(self) -> None:
        """End the stream."""
        await _cancel_all(self._tasks)
        await self._client.aclose()


async def open_http(session: Session, policy: ServerPolicy, rt: DiscoveryRuntime, max_bytes: int) -> HttpLink | SseLink:
    """Make the link to a server behind a URL. Only the `sse` transport connects at once: there the server speaks first.

    Raises:
        ConnectionLost: A header refers to a variable that is not set or a secret that does not exist, or the network
            guard refuses the policy.
    """
    limits = HttpLimits(timeout_s=_LONGEST_S, max_bytes=4 * max_bytes)
    headers = await asyncio.to_thread(resolve_secrets, policy.headers, rt)
    try:
        client = httpx.AsyncClient(
            transport=rt.transport(policy.reach, limits=limits),
            headers=headers,
            timeout=_LONGEST_S,
        )
    except (Denied, ToolError) as error:
        raise ConnectionLost(str(error)) from error
    kind = SseLink if policy.kind == "sse" else HttpLink
    session.link = link = kind(session, policy.url or "", client, max_bytes)
    return link


async def events_of(answer: httpx.Response, max_bytes: int) -> AsyncIterator[tuple[str, str]]:
    """Yield the events of a stream as type and data.

    Raises:
        ConnectionLost: An event is larger than *max_bytes*.
    """
    event, data, size = "message", list[str](), 0
    async for line in _lines(answer, max_bytes):
        size += len(line)
        if size > max_bytes:
            raise ConnectionLost(f"It sent a message of more than {max_bytes} bytes.")
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield event, "\n".join(data)
            event, data, size = "message", [], 0
        elif name == "event":
            event = value
        elif name == "data":
            data.append(value)


async def _lines(answer: httpx.Response, max_bytes: int) -> AsyncIterator[str]:
    rest = b""
    async for piece in answer.aiter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r").decode(errors="replace")
        if len(rest) > max_bytes:
            raise ConnectionLost(f"It sent a message of more than {max_bytes} bytes.")


async def _cancel_all(tasks: set[asyncio.Task[None]]) -> None:
    for task in (left := list(tasks)):
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _describe_error(error: Exception) -> str:
    """Say what went wrong, without text that a server could have chosen."""
    if isinstance(error, ConnectionLost):
        return str(error)
    reason = getattr(error, "reason", None)
    message = getattr(error, "message", "") if isinstance(error, Denied | ToolError) else ""
    return " ".join(filter(None, [f"{reason or type(error).__name__}.", message]))
