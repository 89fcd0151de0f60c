"""What becomes of a call that waits for a person while its grant, or its server, changes."""

import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from tests.waiting import until

from toolcharter import MCP_RECORDS, McpAgentGrant, McpServerRecord, StoreHandle
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow
PROFILE = """
profile: bridged
description: Takes the servers that are registered, and asks before each call.
runner: host
extensions: {mcp_bridge: {extend: true, registered: true, servers: {}, trust: first, mark_output: false}}
ask: ["mcp:*"]
approvals: {timeout_s: 60}
"""
BOT = identity_headers("bot-token", "caller", agents=["bot"])
ANN = identity_headers("ann", "approver")
CALL = {"tool": "mcp__raw__echo", "args": {"text": "x"}}
SOON_S = 60.0


def test_a_grant_that_is_taken_back_closes_calls_that_wait(tmp_path: Path, project_root: Path) -> None:
    """An answer to the question is none to whether the server is open to the agent at all."""
    program, orders = project_root / "tests/plugins/mcp_bridge/servers/raw.py", tmp_path / "orders.json"
    orders.write_text('{"tools": [{"name": "echo"}]}')
    stores = StoreHandle(MemoryEngine)
    service = Service(configured(tmp_path, {"bot": PROFILE}), stores=stores)
    store = stores.bound("acme", MCP_RECORDS)
    store.put(McpServerRecord(name="raw", transport="stdio", command=sys.executable, args=(str(program), str(orders))))
    store.put(McpAgentGrant(server="raw", agent="bot"))
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        results: list[dict[str, Any]] = []

        def call() -> None:
            results.append(client.post("/v1/calls", json=CALL, headers=BOT).json())

        def asked() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = client.get("/v1/approvals?status=pending", headers=ANN).json()["approvals"]
            return found

        def answer() -> None:
            [one] = asked()
            body = {"answer": "allow_once", "digest": one["digest"]}
            assert client.post(f"/v1/approvals/{one['id']}", json=body, headers=ANN).status_code == 200

        until(lambda: "mcp__raw__echo" in client.get("/v1/tools", headers=BOT).text, within_s=SOON_S)
        for takes_back in (False, True):
            calling = threading.Thread(target=call)
            calling.start()
            until(lambda: len(asked()) == 1, within_s=SOON_S)
            if takes_back:
                store.delete(McpAgentGrant, "raw", "bot")
                until(
                    lambda: client.post("/v1/decide", json=CALL, headers=BOT).json()["outcome"] == "deny",
                    within_s=SOON_S,
                )
            answer()
            calling.join()

    assert [one["outcome"] for one in results] == ["ok", "denied"]
    assert results[1]["reason"] == "server_not_accessible"
