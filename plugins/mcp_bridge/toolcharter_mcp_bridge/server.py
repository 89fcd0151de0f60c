"""`Server`: keeps the connection to one MCP server and the list of its tools. It runs in the bridge's event loop."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from toolcharter import DiscoveryRuntime, lazy
from toolcharter_mcp_bridge.policy import McpBridgePolicy
from toolcharter_mcp_bridge.schemas import UnusableSchema, expand_schema
from toolcharter_mcp_bridge.stdio import StdioLink, open_stdio
from toolcharter_mcp_bridge.texts import find_ambiguous, full_name, is_granted, visible_text
from toolcharter_mcp_bridge.trust import Definition
from toolcharter_mcp_bridge.wire import ConnectionLost, ServerError, Session

if TYPE_CHECKING:
    from toolcharter_mcp_bridge import http
else:
    http = lazy("toolcharter_mcp_bridge.http")  # servers that are programs need no HTTP

_MAX_PAGES = 50
"""The maximum number of pages in one listing of tools."""
_LONGEST_NAME = 128
"""The longest name of a tool, in characters."""
_MOST_STATE_CHARS = 700_000
"""The maximum size of all definitions of one server in the trust store, in characters."""
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class Offer(NamedTuple):
    """A tool of a server that may be used."""

    definition: Definition
    parameters: Mapping[str, Any]
    """The schema that arguments are validated by."""


class Server:
    """One server; a lost connection is opened again. `tools`, `notes` and `fault` may be read from any thread."""

    def __init__(
        self,
        name: str,
        bridge: McpBridgePolicy,
        rt: DiscoveryRuntime,
        on_listed: Callable[["Server"], None],
        on_change: Callable[[], None],
    ) -> None:
        """Prepare the server without connecting.

        Args:
            name: The server's name in the profile.
            bridge: The policy of all servers.
            rt: Gives access to runners, the network and secrets.
            on_listed: Called after each listing, before `on_change`.
            on_change: Called when the first attempt to connect has ended, and whenever the tools change after that.
        """
        self.name = name
        self.policy = bridge.servers[name]
        self.tools: Mapping[str, Offer] | None = None
        """The tools as last listed, by the server's own names; None before the first listing."""
        self.notes: tuple[str, ...] = ()
        """Why tools were left out, or why the last listing failed."""
        self.fault: str | None = None
        """Why there is no connection; None while there is one."""
        self.connections = 0
        """How many connections there have been."""
        self.has_settled = threading.Event()
        """Set once the first attempt to connect has succeeded or failed."""
        self._bridge = bridge
        self._rt = rt
        self._on_listed = on_listed
        self._on_change = on_change
        self._session: Session | None = None
        self._is_ready = asyncio.Event()
        self._wake = asyncio.Event()

    async def stay_connected(self) -> None:
        """Connect, and reconnect after each loss, until cancelled."""
        attempt = 0
        while True:
            began = monotonic()
            try:
                await self._connect_once()
            except (ConnectionLost, ServerError, TimeoutError) as error:
                late = f"It did not start and list its tools in {self.policy.connect_timeout_s:g} s."
                self._lose(late if isinstance(error, TimeoutError) else visible_text(str(error), 300))
            if monotonic() - began > self._bridge.max_backoff_s:
                attempt = 0
            attempt += 1
            await self._pause(self._bridge.delay(attempt))

    async def _pause(self, delay_s: float) -> None:
        """Wait before the next attempt. A call that needs the server shortens the wait, but not below `backoff_s`."""
        self._wake.clear()
        await asyncio.sleep(min(self._bridge.backoff_s, delay_s))
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, delay_s - self._bridge.backoff_s)):
                await self._wake.wait()

    def _lose(self, why: str) -> None:
        self.fault = why
        self._mark_settled()

    def _mark_settled(self) -> None:
        if not self.has_settled.is_set():
            self.has_settled.set()
            self._on_change()

    async def _connect_once(self) -> None:
        """Open one connection, and watch over it until it ends."""
        session = Session()
        link = None
        try:
            async with asyncio.timeout(self.policy.connect_timeout_s):
                link = await self._open(session)
                await session.initialize()
                await self._list(session)
            self._session, self.fault = session, None
            self.connections += 1
            self._is_ready.set()
            self._mark_settled()
            await self._watch_connection(session)
        finally:
            self._session = None
            self._is_ready.clear()
            session.mark_lost("The connection was closed.")
            if link is not None:
                await asyncio.shield(link.close())

    async def _open(self, session: Session) -> Any:
        limit = self._bridge.max_message_bytes
        if self.policy.kind == "stdio":
            return await self._start_program(session, limit)
        return await http.open_http(session, self.policy, self._rt, limit)

    async def _start_program(self, session: Session, limit: int) -> StdioLink:
        """Start the server's program and return the link to it. A program that starts too late is ended again."""
        starting = asyncio.ensure_future(open_stdio(session, self.policy, self._rt, limit))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_close_when_started)
            raise

    async def _watch_connection(self, session: Session) -> None:
        """Watch over a connection until it is lost.

        Raises:
            ConnectionLost: The connection is lost; always raised in the end.
        """
        changed = session.changed
        while not session.lost.done():
            heard = session.heard
            with suppress(TimeoutError):
                async with asyncio.timeout(self._bridge.health_s):
                    await changed.wait()
            if session.lost.done():
                break
            if changed.is_set():
                changed.clear()
                await self._list_again(session)
            elif heard == session.heard:
                await self._ping(session)
        raise ConnectionLost(session.lost.result())

    async def _ping(self, session: Session) -> None:
        """Check that the server answers. A server that works on a call may be too busy to answer."""
        try:
            async with asyncio.timeout(self._bridge.health_s):
                await session.ping()
        except TimeoutError:
            if not session.is_busy:
                raise ConnectionLost("It does not answer.") from None
        except ServerError:
            pass  # An error is an answer, too.

    async def _list_again(self, session: Session) -> None:
        try:
            async with asyncio.timeout(self.policy.connect_timeout_s):
                await self._list(session)
        except ServerError as error:
            self.notes = (
                f"{self.name}: the tools are as they were; listing them failed: {visible_text(str(error), 300)}",
            )
        except TimeoutError:
            raise ConnectionLost("It does not list its tools any more.") from None

    async def _list(self, session: Session) -> None:
        """List the server's tools."""
        listed = list[Any]()
        page: dict[str, Any] = {}
        for _ in range(_MAX_PAGES if session.has_tools else 0):
            answer = await session.request("tools/list", page)
            tools = answer.get("tools")
            if not isinstance(tools, list):
                raise ConnectionLost("Its list of tools is malformed.")
            listed += tools
            cursor = answer.get("nextCursor")
            if not isinstance(cursor, str) or len(listed) > self._bridge.max_tools:
                break
            page = {"cursor": cursor}
        notes = list[str]()
        before = self.tools
        self.tools = dict(self._usable_tools(session, listed, notes))
        self.notes = tuple(notes[:100])
        self._on_listed(self)
        if self.has_settled.is_set() and before != self.tools:
            self._on_change()

    def _usable_tools(self, session: Session, listed: list[Any], notes: list[str]) -> Iterator[tuple[str, Offer]]:
        """Yield the usable tools of a listing; add to *notes* why others are left out."""
        sound = [tool for tool in listed if isinstance(tool, dict) and _is_name(tool.get("name"))]
        if len(sound) < len(listed):
            notes.append(f"{self.name}: {len(listed) - len(sound)} tools have no usable name.")
        names = [tool["name"] for tool in sound]
        doubled = find_ambiguous(self.name, names)
        size = count = 0
        for tool in sound:
            name = tool["name"]
            shown = visible_text(name, _LONGEST_NAME)
            if not is_granted(self.name, name, self.policy.allow, self.policy.deny):
                continue
            if name in doubled:
                notes.append(f"{self.name}: {shown!r} is left out: another tool has the same name here.")
                continue
            if count >= self._bridge.max_tools:
                notes.append(f"{self.name}: tools beyond max_tools ({self._bridge.max_tools}) are left out.")
                return
            try:
                parameters = expand_schema(tool.get("inputSchema"), self._bridge.max_schema_bytes)
            except UnusableSchema as error:
                notes.append(f"{self.name}: {shown!r} is left out: {error}.")
                continue
            offer = Offer(self._definition(session, tool), parameters)
            size += len(str(offer.definition))
            if size > _MOST_STATE_CHARS:
                notes.append(f"{self.name}: tools are left out: all definitions together are too large.")
                return
            count += 1
            yield name, offer

    def _definition(self, session: Session, tool: Mapping[str, Any]) -> Definition:
        hints = tool.get("annotations")
        known = hints if isinstance(hints, dict) else {}
        return Definition(
            self.policy.identity,
            visible_text(" ".join(session.server), 200),
            tool["name"],
            visible_text(tool.get("description"), self._bridge.max_description_chars),
            tool["inputSchema"],
            {hint: known[hint] for hint in _HINTS if isinstance(known.get(hint), bool)},
        )

    def offer_of(self, tool: str) -> Offer | None:
        """Return a tool by the server's own name for it; None if the server does not list it."""
        return None if self.tools is None else self.tools.get(tool)

    async def call(self, tool: str, args: Mapping[str, Any], check: Callable[[], None]) -> Mapping[str, Any]:
        """Call one tool, once. A call whose answer is lost is not sent again: it may have run.

        Args:
            tool: The server's own name for the tool.
            args: Its arguments.
            check: Raises to stop the call. It runs once there is a connection, which may have brought other tools.

        Raises:
            Unavailable: There is no connection, and none was made in time.
            ConnectionLost: The connection ended before the answer came.
            ServerError: The server answered with an error.
            TimeoutError: The answer did not come in time.
        """
        session = await self.ready()
        check()
        async with asyncio.timeout(self.policy.timeout_s):
            return await session.request("tools/call", {"name": tool, "arguments": dict(args)})

    async def ready(self) -> Session:
        """Return the connection, or wait for it.

        Raises:
            Unavailable: No connection was made in time.
        """
        if self._session is None:
            self._wake.set()
            try:
                async with asyncio.timeout(self.policy.connect_timeout_s):
                    while self._session is None:
                        await self._is_ready.wait()
            except TimeoutError:
                raise Unavailable(self.fault or "It has not started yet.") from None
        return self._session


class Unavailable(Exception):
    """A server cannot be used now; the text says why."""


def _close_when_started(starting: "asyncio.Future[StdioLink]") -> None:
    if not starting.cancelled() and starting.exception() is None:
        task = asyncio.ensure_future(starting.result().close())
        _closing.add(task)
        task.add_done_callback(_closing.discard)


_closing: set["asyncio.Future[None]"] = set()
"""The tasks that end programs: the event loop holds only weak references to tasks."""


def _is_name(name: object) -> bool:
    return (
        isinstance(name, str)
        and 0 < len(name) <= _LONGEST_NAME
        and name.isprintable()
        and full_name("x", name) != "mcp__x__"
    )
