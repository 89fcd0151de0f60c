"""The tools of registered MCP servers that a caller may see, by the grants that the bridge also checks at each call."""

from collections.abc import Iterable

from toolcharter import (
    MCP_RECORDS,
    Caller,
    McpAccess,
    McpAgentGrant,
    McpServerRecord,
    McpUserGrant,
    Store,
    StoreUnavailable,
)
from toolcharter_service.service import Service

_PREFIX = "mcp__"


def filter_open_tools(service: Service, tenant: str, caller: Caller, names: Iterable[str]) -> set[str]:
    """Return the tools in *names* that are open to *caller*. MCP tools are closed if the store does not answer."""
    store, known, shown = service.store(tenant, distribution=MCP_RECORDS), dict[str, McpAccess | None](), set[str]()
    for name in names:
        server, _, own = name.removeprefix(_PREFIX).partition("__")
        if not name.startswith(_PREFIX) or not own:
            shown.add(name)
            continue
        if server not in known:
            try:
                known[server] = _read_access(store, server, caller)
            except StoreUnavailable:
                known[server] = McpAccess(None, None, None)
        access = known[server]
        if access is None or access.objection(own, name) is None:
            shown.add(name)
    return shown


def _read_access(store: Store, server: str, caller: Caller) -> McpAccess | None:
    """Return the grants that open *server*; None if it is not registered, but belongs to the profile."""
    record = store.get(McpServerRecord, server)
    if record is None:
        return None
    agent = store.get(McpAgentGrant, server, caller.agent) if caller.agent else None
    user = store.get(McpUserGrant, server, caller.user) if caller.user else None
    return McpAccess(record.record, None if agent is None else agent.record, None if user is None else user.record)
