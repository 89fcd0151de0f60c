"""Servers that are registered in the store while a profile is in use, and the grants that open them to callers."""

import asyncio
import threading
from collections.abc import Mapping
from time import monotonic

import orjson
from pydantic import ValidationError

from toolcharter import (
    Caller,
    McpAccess,
    McpAccessReason,
    McpAgentGrant,
    McpServerRecord,
    McpToolsRecord,
    McpUserGrant,
    Store,
)
from toolcharter_mcp_bridge.policy import ServerPolicy
from toolcharter_mcp_bridge.texts import full_name

REFRESH_S = 1.0
"""How old the knowledge of the store may be, in seconds."""
_MAX_CACHED = 10_000
"""The maximum number of cached grants."""


class Registered:
    """Reads servers and grants from the store, with a cache. Thread-safe; each method may wait for the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._change = -1
        self._read_at = -REFRESH_S
        self._cached: dict[tuple[str, str, str], McpAccess] = {}
        """The cached access by server, agent and user; only access that opens the server is cached."""

    def last_change(self) -> int:
        """Return the number of the store's latest change, at most `REFRESH_S` old. A new change empties the cache.

        Raises:
            StoreUnavailable: The store cannot be read.
        """
        with self._lock:
            if monotonic() - self._read_at >= REFRESH_S:
                change = self._store.last_change()
                if change != self._change:
                    self._cached.clear()
                self._change, self._read_at = change, monotonic()
            return self._change

    def servers(self) -> tuple[dict[str, ServerPolicy], tuple[str, ...]]:
        """Return the enabled servers, by name, and why others are left out.

        Raises:
            StoreUnavailable: The store cannot be read.
        """
        found, notes, after = dict[str, ServerPolicy](), list[str](), ""
        while True:
            where = {"enabled": True}
            page = self._store.page(McpServerRecord, where=where, after=after, limit=500, skip_unreadable=True)
            notes += page.unreadable
            for stored in page.records:
                try:
                    found[stored.record.name] = policy_of(stored.record)
                except ValidationError as error:
                    why = "; ".join(str(fault["msg"]) for fault in error.errors())
                    notes.append(f"{stored.record.name}: the registered server is left out: {why}.")
            after = page.after
            if not after:
                return found, tuple(notes)

    def note_tools(self, server: str, names: tuple[str, ...]) -> None:
        """Store which tools *server* has, by its own names, for operators who give grants.

        Raises:
            StoreUnavailable: The store cannot be written.
            StoreConflict: Another process has just written the record.
        """
        names = tuple(sorted(names))
        record = McpToolsRecord(server=server, names=names, full_names=tuple(full_name(server, one) for one in names))
        found = self._store.get(McpToolsRecord, server)
        if found is None or found.record != record:
            self._store.put(record, expected=0 if found is None else found.version)

    async def aaccess(self, server: str, caller: Caller) -> McpAccess:
        """Return `access` from asynchronous code: from the cache at once, or else from the store in another thread."""
        known = self._cached.get(_key(server, caller)) if monotonic() - self._read_at < REFRESH_S else None
        return known if known is not None else await asyncio.to_thread(self.access, server, caller)

    def access(self, server: str, caller: Caller) -> McpAccess:
        """Return the server's record and the grants that may open it to *caller*.

        Raises:
            StoreUnavailable: The store cannot be read.
        """
        key = _, agent, user = _key(server, caller)
        change = self.last_change()
        known = self._cached.get(key)
        if known is not None:
            return known
        record = self._store.get(McpServerRecord, server)
        of_agent = self._store.get(McpAgentGrant, server, agent) if agent else None
        of_user = self._store.get(McpUserGrant, server, user) if user else None
        access = McpAccess(
            None if record is None else record.record,
            None if of_agent is None else of_agent.record,
            None if of_user is None else of_user.record,
        )
        with self._lock:
            if access.objection() is None and change == self._change and len(self._cached) < _MAX_CACHED:
                self._cached[key] = access
        return access

    def refusal_for(self, server: str, names: tuple[str, ...], caller: Caller) -> McpAccessReason | None:
        """Return why *caller* may not use a tool that has *names*; None if it may.

        Raises:
            StoreUnavailable: The store cannot be read.
        """
        return self.access(server, caller).objection(*names)


def _key(server: str, caller: Caller) -> tuple[str, str, str]:
    return server, caller.agent or "", caller.user or ""


MESSAGES: Mapping[str, str] = {
    McpAccessReason.SERVER_NOT_ACCESSIBLE: "No grant opens the MCP server {server!r} to this agent or user.",
    McpAccessReason.TOOL_NOT_IN_ALLOW_LIST: "The grants for the MCP server {server!r} do not name this tool.",
    McpAccessReason.TOOL_IN_DENY_LIST: "A grant for the MCP server {server!r} excludes this tool.",
}


def policy_of(record: McpServerRecord) -> ServerPolicy:
    """Convert a registered server to the policy of a server in a profile.

    Raises:
        ValidationError: The record is not valid as such a policy.
    """
    wanted = record.model_dump(
        mode="json", include={"transport", "command", "args", "env", "url", "headers", "timeout_s"}
    )
    return ServerPolicy.model_validate_json(
        orjson.dumps({name: value for name, value in wanted.items() if value not in (None, {}, [])})
    )
