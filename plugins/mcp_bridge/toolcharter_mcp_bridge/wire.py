"""`Session`: JSON-RPC with one untrusted MCP server, in bounded memory, over any transport.

Source: Model Context Protocol 2025-11-25 (`initialize`), and 2026-07-28 for servers without a handshake.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Any, Final, Protocol

import orjson

from toolcharter import TRACE

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
_CLIENT: Final = {"name": "toolcharter", "version": "0.1"}
_META: Final = "io.modelcontextprotocol/"
_UNSUPPORTED_VERSION: Final = -32022
_METHOD_NOT_FOUND: Final = -32601
_MAX_FAULTS: Final = 100
"""How many malformed lines one connection may have: some servers print greetings."""
_MAX_UNASKED: Final = 1_000
_UNASKED_S: Final = 10.0
"""The seconds in which a server may send at most `_MAX_UNASKED` messages that answer no request."""
_LONGEST_NUMBER: Final = 200
"""The longest identifier of a server's request, in characters."""
_MAX_REPLIES: Final = 16
"""The maximum number of answers to the server's own requests that are being sent."""


class ConnectionLost(Exception):
    """The connection has ended; the text says why, for people."""


class ServerError(Exception):
    """The server answered a request with an error."""

    def __init__(self, code: object, message: object) -> None:
        self.code = code
        super().__init__(message if isinstance(message, str) else "no message")


class Link(Protocol):
    """Sends messages to a server. Its transport passes messages to `Session.feed`, and its end to `mark_lost`."""

    version: str
    """The version of the protocol, once it is agreed on."""

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send one message.

        Raises:
            ConnectionLost: The message cannot be sent.
        """
        ...


class Session:
    """One connection, used in one event loop."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done when the connection has ended; the result says why."""
        self.changed = asyncio.Event()
        """Set when the server announces changed tools, or the connection has ended."""
        self.heard = 0
        """How many messages have come."""
        self.server: tuple[str, str] = ("", "")
        """The name and version that the server gives itself."""
        self.has_tools = False
        self._modern = False
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._last = 0
        self._faults = 0
        self._unasked: tuple[float, int] = (monotonic(), 0)
        self._replies: set[asyncio.Task[None]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way."""
        return bool(self._pending)

    async def initialize(self) -> None:
        """Agree on a version, and learn the server's name.

        Raises:
            ServerError: The server supports none of the versions.
            ConnectionLost: As for `request`.
        """
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
        try:
            answer = await self.request("initialize", params)
        except ServerError as error:
            if error.code not in {_UNSUPPORTED_VERSION, _METHOD_NOT_FOUND}:
                raise
            self._modern = True
            self._negotiate(MODERN)
            answer = await self.request("server/discover", {})
            info = _mapping(_mapping(answer.get("_meta")).get(f"{_META}serverInfo"))
        else:
            version = answer.get("protocolVersion")
            self._negotiate(version if isinstance(version, str) else LEGACY)
            info = _mapping(answer.get("serverInfo"))
            await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        name, version = info.get("name"), info.get("version")
        self.server = (name if isinstance(name, str) else "", version if isinstance(version, str) else "")
        self.has_tools = "tools" in _mapping(answer.get("capabilities"))

    def _negotiate(self, version: str) -> None:
        if self.link is not None:
            self.link.version = version

    async def ping(self) -> None:
        """Check that the server answers; raises as `request`."""
        if self._modern:
            await self.request("server/discover", {})
        else:
            await self.request("ping", {})

    async def request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request, and wait without a limit for the answer. Cancelling the wait for a tool notifies the server.

        Raises:
            ServerError: The server answered with an error.
            ConnectionLost: The connection has ended, or the request failed.
        """
        if self.lost.done():
            raise ConnectionLost(self.lost.result())
        self._last = number = self._last + 1
        trace = TRACE.get()
        meta: dict[str, Any] = {} if trace is None or method != "tools/call" else {**trace.headers()}  # SEP-414.
        if self._modern:
            meta |= {
                f"{_META}protocolVersion": MODERN,
                f"{_META}clientInfo": _CLIENT,
                f"{_META}clientCapabilities": {},
            }
        if meta:
            params = {**params, "_meta": meta}
        answer = self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            found = await answer
        except asyncio.CancelledError:
            if method == "tools/call":
                self._reply({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            raise
        finally:
            del self._pending[number]
        return _mapping(found)

    def feed(self, line: bytes | str) -> None:
        """Process one incoming message, or several in a list. Never raises: `lost` says why the connection ended."""
        if self.lost.done():
            return
        try:
            message = orjson.loads(line)
        except ValueError:
            self._count_fault()
            return
        for one in message if isinstance(message, list) else (message,):
            self.heard += 1
            if isinstance(one, dict):
                self._dispatch(one)
            else:
                self._count_fault()

    def _dispatch(self, message: dict[str, Any]) -> None:
        number, method = message.get("id"), message.get("method")
        if isinstance(method, str):
            self._count_unasked()
            if number is not None:
                self._answer(number, method)
            elif method == "notifications/tools/list_changed":
                self.changed.set()
            return
        answer = self._pending.get(number) if type(number) is int else None
        if answer is None or answer.done():
            self._count_unasked()
        elif isinstance(message.get("result"), dict):
            answer.set_result(message["result"])
        else:
            error = _mapping(message.get("error"))
            answer.set_exception(ServerError(error.get("code"), error.get("message")))

    def fail(self, number: object, why: Exception) -> None:
        """Fail the request *number*, because its answer cannot come any more."""
        answer = self._pending.get(number) if type(number) is int else None
        if answer is not None and not answer.done():
            answer.set_exception(why)

    def mark_lost(self, why: str) -> None:
        """End the connection; may be called again."""
        if not self.lost.done():
            self.lost.set_result(why)
            self.changed.set()
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(ConnectionLost(self.lost.result()))
        for task in self._replies:
            task.cancel()

    def _count_fault(self) -> None:
        self._faults += 1
        if self._faults > _MAX_FAULTS:
            self.mark_lost("It sends lines that are no JSON-RPC.")

    def _count_unasked(self) -> None:
        began, count = self._unasked
        now = monotonic()
        self._unasked = (began, count + 1) if now - began < _UNASKED_S else (now, 1)
        if self._unasked[1] > _MAX_UNASKED:
            self.mark_lost(f"It sent more than {_MAX_UNASKED} messages in {_UNASKED_S:.0f} s that answer no request.")

    def _answer(self, number: Any, method: str) -> None:
        """Answer a request of the server. Only `ping` is supported."""
        if not (type(number) is int or (isinstance(number, str) and len(number) <= _LONGEST_NUMBER)):
            self._count_fault()
        elif method == "ping":
            self._reply({"jsonrpc": "2.0", "id": number, "result": {}})
        else:
            error = {"code": _METHOD_NOT_FOUND, "message": "This client does not offer this method."}
            self._reply({"jsonrpc": "2.0", "id": number, "error": error})

    def _reply(self, message: Mapping[str, Any]) -> None:
        if len(self._replies) >= _MAX_REPLIES:
            self.mark_lost("It does not read the answers to its requests.")
            return
        task = asyncio.get_running_loop().create_task(self._send_quietly(message))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _send_quietly(self, message: Mapping[str, Any]) -> None:
        try:
            await self._send(message)
        except ConnectionLost as error:
            self.mark_lost(str(error))

    async def _send(self, message: Mapping[str, Any]) -> None:
        if self.link is None or self.lost.done():
            raise ConnectionLost("There is no connection.")
        await self.link.send(message)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


Opened = Callable[[Session], Awaitable[Callable[[], Awaitable[None]]]]
"""Opens a transport for a session, and returns the function that closes it."""
