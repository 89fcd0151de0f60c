"""`Bridge`: the object of the extension. It holds the servers of one toolbox or session, and their known tools."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolcharter import (
    Ask,
    Call,
    Caller,
    Denied,
    Deny,
    Discovery,
    DiscoveryRuntime,
    ProfileView,
    StoreConflict,
    StoreUnavailable,
    hookimpl,
    is_secret_reference,
)
from toolcharter_mcp_bridge import open_bridges
from toolcharter_mcp_bridge.policy import BridgeReason, McpBridgePolicy
from toolcharter_mcp_bridge.registered import MESSAGES, REFRESH_S, Registered
from toolcharter_mcp_bridge.schemas import UnusableSchema, expand_schema
from toolcharter_mcp_bridge.search import search_spec
from toolcharter_mcp_bridge.server import Offer, Server, Unavailable
from toolcharter_mcp_bridge.texts import full_name
from toolcharter_mcp_bridge.tools import ShownTool, in_loop, spec_of
from toolcharter_mcp_bridge.trust import Definition, TrustStore, describe_change

_CLOSING_S = 10.0
"""How long closing waits for programs to end, in seconds."""
_LISTING_WAIT_S = 8.0
"""How long a check waits for a server to list its tools, in seconds: less than the gate waits for checks."""
_MAX_ASKED = 1_000
"""How many unanswered questions are remembered."""


class Bridge:
    """The MCP servers of one toolbox. Thread-safe; the servers run in the event loop of its own thread."""

    def __init__(self, workspace: Path, policy: McpBridgePolicy) -> None:
        self._workspace = workspace
        self._own = policy
        """The policy in the profile."""
        self._policy = policy
        """The same policy, with the registered servers added."""
        self._registered: Registered | None = None
        self._keeping: dict[str, asyncio.Task[None]] = {}
        """The task that keeps the connection to each server; used only in the event loop."""
        self._left_out: tuple[str, ...] = ()
        """Why registered servers are left out."""
        self._trust: TrustStore | None = None
        self._rt: DiscoveryRuntime | None = None
        self._servers: dict[str, Server] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()
        self._offered: set[str] = set()
        """The full names of tools that a search has found."""
        self._names: dict[str, tuple[str, str]] = {}
        """Each tool's server and its name there, by the full name in lower case."""
        self._asked: OrderedDict[str, Definition | None] = OrderedDict()
        """The tool that a person was asked about, by call; None if calls with the same number asked about two tools."""
        open_bridges.register_bridge(self)

    @property
    def trust(self) -> TrustStore | None:
        """The store of approved tools; None before the first discovery."""
        return self._trust

    def definitions(self) -> dict[str, list[Definition]]:
        """Return all tools as the servers list them now, by server."""
        return {
            name: [offer.definition for offer in (server.tools or {}).values()]
            for name, server in self._servers.items()
        }

    @hookimpl
    def discover_tools(self, profile: ProfileView, rt: DiscoveryRuntime | None) -> Discovery:
        """Return what is known of the servers' tools. The first call with *rt* starts the servers."""
        with self._lock:
            if self._trust is None:
                self._trust = TrustStore(profile.name, self._workspace)
            if rt is not None and self._rt is None:
                self._rt = rt
                self._registered = Registered(rt.store) if self._own.registered else None
                self._start_loop(rt)
            shown = list(self.shown_tools())
            self._names = {one.name.lower(): (one.server, one.offer.definition.name) for one in shown}
        specs = [spec_of(one, self._policy.servers[one.server], self._policy, self) for one in shown]
        if len(specs) > self._policy.search_above and rt is not None and rt.is_live:
            specs = [spec for spec in specs if spec.name in self._offered]
            specs.append(search_spec(len(shown), self))
        return Discovery(
            found=tuple(specs),
            notes=tuple(self._notes()),
            wait_s=self._policy.wait_s if self._is_awaited() else 0.0,
            asks_itself=True,
        )

    def _is_awaited(self) -> bool:
        """Whether a server has not listed its tools yet: the known tools may be incomplete, or from an earlier day."""
        return any(not one.has_settled.is_set() for one in self._servers.values())

    def _approved(self, server: str) -> Mapping[str, Definition]:
        """Return the approved tools of *server*, if its command or URL is still the approved one."""
        if self._trust is None:
            return dict[str, Definition]()
        identity = self._policy.servers[server].identity
        return {name: one for name, one in self._trust.approved(server).items() if one.identity == identity}

    def _notes(self) -> Iterator[str]:
        yield from self._left_out
        for one in list(self._servers.values()):
            yield from one.notes
            if one.fault is not None:
                yield f"{one.name}: {one.fault}"

    def _start_loop(self, rt: DiscoveryRuntime) -> None:
        names = [name for name, server in self._policy.servers.items() if server.enabled]
        if not names and self._registered is None:
            return
        self._loop = loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, args=(loop,), name="toolcharter-mcp-bridge", daemon=True)
        self._thread.start()

        async def begin() -> None:
            for name in names:
                self._add_server(name, rt)
            if self._registered is not None:
                await self._sync_servers(self._registered, rt)
                _hold_task(loop.create_task(self._watch_registered(self._registered, rt)))

        asyncio.run_coroutine_threadsafe(begin(), loop).result()

    def _add_server(self, name: str, rt: DiscoveryRuntime) -> None:
        """Keep a connection to a server from now on."""
        self._servers[name] = server = Server(name, self._policy, rt, self._on_listed, rt.announce)
        self._keeping[name] = task = asyncio.get_running_loop().create_task(server.stay_connected())
        _hold_task(task)

    async def _watch_registered(self, registered: Registered, rt: DiscoveryRuntime) -> None:
        """Follow the registered servers. While the store cannot be read, known servers stay; grants do not."""
        seen = -1
        while True:
            await asyncio.sleep(REFRESH_S)
            with suppress(StoreUnavailable):
                change = await asyncio.to_thread(registered.last_change)
                if change != seen:
                    await self._sync_servers(registered, rt)
                    seen = change

    async def _sync_servers(self, registered: Registered, rt: DiscoveryRuntime) -> None:
        """Bring the running servers in line with those that are registered now and those of the profile."""
        try:
            found, notes = await asyncio.to_thread(registered.servers)
        except StoreUnavailable as error:
            self._left_out = (f"Registered servers are unknown: {error.message}",)
            return
        own = self._own.servers
        taken = sorted(own.keys() & found.keys())
        self._left_out = (
            *notes,
            *(f"{name}: the profile has a server of this name; the registered one is left out." for name in taken),
        )
        for policy in found.values():
            rt.keep_secret(
                value
                for value in (*policy.env.values(), *policy.headers.values())
                if isinstance(value, str) and not is_secret_reference(value)
            )
        before, wanted = self._policy.servers, {**found, **own}
        if wanted == before:
            return
        self._policy = self._own.model_copy(update={"servers": wanted})
        for name in [name for name in self._servers if wanted.get(name) != before.get(name)]:
            self._keeping.pop(name).cancel()
            del self._servers[name]
        for name in wanted.keys() - self._servers.keys():
            if wanted[name].enabled:
                self._add_server(name, rt)
        rt.announce()

    @staticmethod
    def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()

    def _on_listed(self, server: Server) -> None:
        """Trust each tool as it is first seen, if the profile says so; note which tools a registered server has."""
        if self._registered is not None and server.name not in self._own.servers:
            names = tuple(server.tools or ())
            _hold_task(asyncio.get_running_loop().create_task(self._store_names(self._registered, server.name, names)))
        if self._policy.trust == "first" and self._trust is not None:
            known = self._trust.approved(server.name)
            first = [offer.definition for name, offer in (server.tools or {}).items() if name not in known]
            if first:
                self._trust.approve(server.name, *first)

    @staticmethod
    async def _store_names(registered: Registered, server: str, names: tuple[str, ...]) -> None:
        with suppress(
            StoreUnavailable, StoreConflict
        ):  # The next listing notes them again; until then their names are not in the store.
            await asyncio.to_thread(registered.note_tools, server, names)

    def shown_tools(self) -> Iterator[ShownTool]:
        """Yield each tool as a person approved it, or as it is if no person has. Tools that are gone are left out."""
        for name, policy in self._policy.servers.items():
            if not policy.enabled:
                continue
            server = self._servers.get(name)
            tools = None if server is None else server.tools
            known = self._approved(name)
            if tools is None:
                approved = (_usable_offer(definition, self._policy) for definition in known.values())
                yield from (ShownTool(name, offer) for offer in approved if offer is not None)
                continue
            for own, offer in tools.items():
                before = known.get(own)
                shown = None if before is None or before == offer.definition else _usable_offer(before, self._policy)
                yield ShownTool(name, shown or offer)

    def tools_for(self, caller: Caller) -> Iterator[ShownTool]:
        """Yield each tool that *caller* may use by its grants.

        Raises:
            StoreUnavailable: The grants cannot be read.
        """
        for one in self.shown_tools():
            if (
                self._registered is None
                or one.server in self._own.servers
                or self._registered.refusal_for(one.server, (one.offer.definition.name, one.name), caller) is None
            ):
                yield one

    def offer(self, names: Iterable[str]) -> None:
        """Make the session offer these tools from now on."""
        self._offered.update(names)
        if self._rt is not None:
            self._rt.announce()

    @hookimpl
    def check_call(self, call: Call) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
        """Refuse tools that no grant opens; ask a person about tools that are not approved yet or have changed."""
        found = self._names.get(call.tool.lower())
        if found is None:
            return None
        if self._registered is not None and found[0] not in self._own.servers:
            return self._check_grant(self._registered, found, call)
        return self._check_approval(found, call)

    async def _check_grant(self, registered: Registered, found: tuple[str, str], call: Call) -> Deny | Ask | None:
        access = await registered.aaccess(found[0], call.caller)
        objection = access.objection(found[1], full_name(*found))
        if objection is not None:
            return Deny(objection, MESSAGES[objection].format(server=found[0]))
        answer = self._check_approval(found, call)
        return await answer if isinstance(answer, Awaitable) else answer

    def _check_approval(self, found: tuple[str, str], call: Call) -> Ask | Awaitable[Ask | None] | None:
        server = self._servers.get(found[0])
        if server is None:
            return None
        if server.tools is None and not server.has_settled.is_set() and not call.dry_run:
            return self._ask_once_listed(server, found[1], call)
        return self._ask_if_unapproved(server, found[1], call)

    async def _ask_once_listed(self, server: Server, tool: str, call: Call) -> Ask | None:
        await asyncio.to_thread(server.has_settled.wait, _LISTING_WAIT_S)
        return self._ask_if_unapproved(server, tool, call)

    def _ask_if_unapproved(self, server: Server, tool: str, call: Call) -> Ask | None:
        offer = server.offer_of(tool)
        if offer is None or self._trust is None:
            if not call.dry_run:
                self._remember_asked(call.call_id, None)
            return None
        definition = offer.definition
        standing = self._trust.state_of(server.name, definition)
        if standing == "approved":
            return None
        if not call.dry_run:
            self._remember_asked(call.call_id, definition)
        then = self._trust.approved(server.name).get(tool)
        if standing == "new":
            what = f"No person has agreed to this tool of the MCP server {server.name!r} yet."
            return Ask(BridgeReason.TOOL_NOT_APPROVED, f"{what}\n{describe_change(None, definition)}")
        what = f"This tool of the MCP server {server.name!r} has changed since a person agreed to it."
        return Ask(BridgeReason.TOOL_CHANGED, f"{what}\n{describe_change(then, definition)}")

    def _remember_asked(self, call_id: str, definition: Definition | None) -> None:
        """Keep which tool a person is asked about.

        Hosts choose the calls' numbers: an answer about one tool must not count for another tool with the same number.
        """
        with self._lock:
            self._asked[call_id] = definition if self._asked.get(call_id, definition) == definition else None
            while len(self._asked) > _MAX_ASKED:
                self._asked.popitem(last=False)

    def admit(self, server: str, tool: str, call_id: str) -> str | None:
        """Return None if the tool may run now, or else why not.

        It may run if it is approved, or if it is the tool that a person has just been asked about: the gate runs a body
        only after that person has agreed.
        """
        asked = self._asked.pop(call_id, None)
        offer = self._servers[server].offer_of(tool) if server in self._servers else None
        if offer is None or self._trust is None or self._trust.state_of(server, offer.definition) == "approved":
            return None
        if asked == offer.definition:
            self._trust.approve(server, offer.definition)
            if self._rt is not None:
                self._rt.announce()
            return None
        return f"The MCP server {server!r} has just changed this tool; the next call of the tool asks a person."

    async def send(self, server: str, tool: str, args: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """Call a tool for *caller*.

        Raises, in addition to the exceptions of `Server.call`:
            Denied: No grant opens the tool to *caller* any more.
            KeyError: The server no longer lists the tool.
            Unavailable: The server is not started, or has changed the tool.
        """
        found = self._servers.get(server)
        if found is None or self._loop is None:
            raise Unavailable("It is not started while a profile is only tried.")
        if found.tools is not None and tool not in found.tools:
            raise KeyError(tool)
        limit = None
        if self._registered is not None and server not in self._own.servers:
            access = await self._registered.aaccess(server, caller)
            # Checked again: the call may have waited for a person, and the server may have been closed meanwhile.
            objection = access.objection(tool, full_name(server, tool))
            if objection is not None:
                raise Denied(objection, MESSAGES[objection].format(server=server))
            limit = None if access.agent is None else access.agent.config_overrides.get("timeout_s")
        async with asyncio.timeout(limit):
            return await in_loop(self._loop, lambda: self._call_in_loop(found, tool, args))

    async def _call_in_loop(self, server: Server, tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make the call in the bridge's event loop. A tool that has changed while the call waited does not run."""

        def require_same() -> None:
            offer = server.offer_of(tool)
            if offer is None:
                raise KeyError(tool)
            if self._trust is None or self._trust.state_of(server.name, offer.definition) != "approved":
                raise Unavailable("It now has another tool of this name, and a person has to agree to it first.")

        return await server.call(tool, args, require_same)

    def close(self) -> None:
        """End all connections and programs."""
        loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return

        async def end() -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_CLOSING_S) if tasks else None

        asyncio.run_coroutine_threadsafe(end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(_CLOSING_S)


def _usable_offer(definition: Definition, policy: McpBridgePolicy) -> Offer | None:
    try:
        return Offer(definition, expand_schema(definition.schema, policy.max_schema_bytes))
    except UnusableSchema:
        return None


def _hold_task(task: "asyncio.Task[None]") -> None:
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


_tasks: set["asyncio.Task[None]"] = set()
"""The running tasks: an event loop holds only weak references to them."""
