"""Which tools of registered MCP servers a caller is shown."""

from pathlib import Path

from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.serving import configured

from toolcharter import MCP_RECORDS, Caller, McpAgentGrant, McpServerRecord
from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.grants.listing import filter_open_tools
from toolcharter_service.service import Service

NAMES = ["read_file", "mcp__issues__list", "mcp__issues__close", "mcp__own__look"]


def test_what_grants_close_is_not_shown(tmp_path: Path) -> None:
    """A server of the profile's own needs no grant; of a registered one what the grant names is shown."""
    stores = StoreHandle(MemoryEngine)
    store = stores.bound("acme", MCP_RECORDS)
    store.put(McpServerRecord(name="issues", transport="sse", url="https://issues.example.org/sse"))
    service = Service(configured(tmp_path), stores=stores)
    coder = Caller(agent="coder", tenant="acme")
    before = filter_open_tools(service, "acme", coder, NAMES)

    store.put(McpAgentGrant(server="issues", agent="coder", tool_allow=("list",)))

    assert before == {"read_file", "mcp__own__look"}
    assert filter_open_tools(service, "acme", coder, NAMES) == {"read_file", "mcp__issues__list", "mcp__own__look"}
