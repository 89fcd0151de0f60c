"""A real MCP server that is registered while the service runs: what is listed and what can be called agree."""

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from tests.plugins.service.workers.machines import Machines
from tests.waiting import until

from toolcharter import MCP_RECORDS, McpAgentGrant, McpServerRecord, StoreHandle
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow
PROFILE = """
profile: bridged
description: Takes the servers that are registered.
runner: host
extensions: {mcp_bridge: {extend: true, registered: true, servers: {}, trust: first, mark_output: false}}
allow: ["mcp:*"]
"""
TOOL = "mcp__raw__echo"
BOT = identity_headers("bot-token", "caller", agents=["bot"])


@pytest.fixture(params=["host", "remote"])
def profile(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One whose servers run here, or on a worker; what another one was trusted with counts for nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if request.param == "host":
        yield PROFILE
        return
    place = tmp_path / "machines"
    place.mkdir()
    machines = Machines(place)
    machines.worker()
    remote = f"{{tenant: acme, workspace: repo, bus: '{machines.server.url}', sandbox: false}}"
    yield PROFILE.replace("runner: host", "runner: remote").replace(
        "extensions: {", f"extensions: {{remote: {remote}, "
    )
    machines.close()


def test_listing_and_call_agree(tmp_path: Path, project_root: Path, profile: str) -> None:
    """Without a grant, with one, and after it was taken back."""
    program, orders = project_root / "tests/plugins/mcp_bridge/servers/raw.py", tmp_path / "orders.json"
    orders.write_text('{"tools": [{"name": "echo"}]}')
    stores = StoreHandle(MemoryEngine)
    service = Service(configured(tmp_path, {"bot": profile}), stores=stores)
    store = stores.bound("acme", MCP_RECORDS)
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as url,
        httpx.Client(base_url=url, trust_env=False, headers=BOT, timeout=60) as client,
    ):

        def is_listed() -> bool:
            return TOOL in client.get("/v1/tools").text

        def reason() -> str | None:
            answer = client.post("/v1/calls", json={"tool": TOOL, "args": {"text": "x"}}).json()
            return str(answer.get("reason") or answer["outcome"])

        store.put(
            McpServerRecord(name="raw", transport="stdio", command=sys.executable, args=(str(program), str(orders)))
        )
        until(lambda: reason() == "server_not_accessible")
        assert not is_listed()
        store.put(McpAgentGrant(server="raw", agent="bot", tool_allow=("echo",)))
        until(lambda: reason() == "ok")
        assert is_listed()
        store.delete(McpAgentGrant, "raw", "bot")
        until(lambda: reason() == "server_not_accessible")
        assert not is_listed()
