"""Servers, grants and requests over HTTP: who may do what, and what is kept."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from tests.rows import each_row
from tests.samples import sample_rows

from toolcharter import MCP_RECORDS, McpAgentGrant, McpServerRecord, McpToolsRecord, McpUserGrant, StoreHandle
from toolcharter_service.grants.records import AccessRequest
from toolcharter_service.grants.servers import NewServer
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

ADMIN, OPERATOR = identity_headers("ada", "admin"), identity_headers("otto", "operator")
SERVER = {"transport": "stdio", "command": "npx", "args": ["@acme/issues"], "env": {"TOKEN": "t0psecret"}}


@pytest.fixture
def stores() -> StoreHandle:
    return StoreHandle(MemoryEngine)


@pytest.fixture
def client(tmp_path: Path, stores: StoreHandle) -> Iterator[httpx.Client]:
    service = Service(configured(tmp_path), stores=stores)
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as address,
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield client


@pytest.fixture
def issues(client: httpx.Client, stores: StoreHandle) -> httpx.Client:
    """The server `issues` is registered, and a bridge has seen its tools."""
    assert client.put("/v1/mcp/servers/issues", json=SERVER, headers=OPERATOR).status_code == 200
    tools = McpToolsRecord(
        server="issues", names=("list", "open"), full_names=("mcp__issues__list", "mcp__issues__open")
    )
    stores.bound("acme", MCP_RECORDS).put(tools)
    return client


def grant(client: httpx.Client, path: str, body: dict[str, Any], who: dict[str, str] = ADMIN) -> httpx.Response:
    return client.put(f"/v1/mcp/servers/{path}", json=body, headers=who)


def test_what_is_secret_never_leaves(issues: httpx.Client, stores: StoreHandle) -> None:
    """Neither when it is registered nor later, and not for an administrator; the bridge reads it."""
    shown = issues.get("/v1/mcp/servers/issues", headers=ADMIN)

    assert (shown.json()["env"], shown.json()["created_by"]) == (["TOKEN"], "otto")
    assert "t0psecret" not in shown.text + issues.get("/v1/mcp/servers", headers=ADMIN).text
    found = stores.bound("acme", MCP_RECORDS).get(McpServerRecord, "issues")
    assert found is not None
    assert found.record.env == {"TOKEN": "t0psecret"}
    assert "t0psecret" not in str(stores.engine.__dict__)


def test_grants_name_tools_that_exist(issues: httpx.Client, stores: StoreHandle) -> None:
    """By their own or full names; what no tool bears is refused when it is granted, not found out at a call."""
    assert grant(issues, "issues/grants/agent/bot", {"tool_allow": ["list", "mcp__issues__open"]}).status_code == 200
    assert grant(issues, "issues/grants/agent/bot", {"tool_allow": ["lits"]}).json()["reason"] == "unknown_tool"
    assert grant(issues, "issues/grants/user/eve", {"tool_deny": ["li*"]}).json()["reason"] == "unknown_tool"
    assert grant(issues, "nowhere/grants/user/eve", {}).json()["reason"] == "unknown_server"
    issues.put("/v1/mcp/servers/other", json=SERVER, headers=OPERATOR)
    assert grant(issues, "other/grants/user/eve", {"tool_allow": ["x"]}).json()["reason"] == "tools_unknown"
    assert grant(issues, "other/grants/user/eve", {"tool_allow": []}).status_code == 200
    kept = stores.bound("acme", MCP_RECORDS).get(McpAgentGrant, "issues", "bot")
    assert kept is not None
    assert kept.record.tool_allow == ("list", "mcp__issues__open")


def test_only_administrators_grant(issues: httpx.Client) -> None:
    """Operators register servers; what opens them is another's word. Another tenant sees nothing of either."""
    assert grant(issues, "issues/grants/agent/bot", {}, OPERATOR).status_code == 403
    assert grant(issues, "issues/grants/agent/bot", {}, identity_headers("bot", "caller")).status_code == 403
    stranger = identity_headers("mallory", "admin", tenant="other")
    assert issues.get("/v1/mcp/servers/issues", headers=stranger).json()["reason"] == "unknown_server"
    assert grant(issues, "issues/grants/agent/bot", {}, stranger).json()["reason"] == "unknown_server"


def test_a_server_that_is_deleted_takes_its_grants_along(issues: httpx.Client, stores: StoreHandle) -> None:
    """One that comes later under the same name is open to nobody."""
    grant(issues, "issues/grants/agent/bot", {})
    grant(issues, "issues/grants/user/eve", {})

    assert issues.delete("/v1/mcp/servers/issues", headers=OPERATOR).json() == {"deleted": "issues"}
    issues.put("/v1/mcp/servers/issues", json=SERVER, headers=OPERATOR)

    assert issues.get("/v1/mcp/servers/issues/grants", headers=ADMIN).json() == {"grants": []}
    assert issues.delete("/v1/mcp/servers/nothing", headers=OPERATOR).status_code == 404
    assert stores.bound("acme", MCP_RECORDS).get(McpToolsRecord, "issues") is None


def test_an_approved_request_makes_its_grant(issues: httpx.Client, stores: StoreHandle) -> None:
    """In one transaction, once, with what was asked for; what a grant had excluded stays excluded."""
    grant(issues, "issues/grants/agent/bot", {"tool_allow": [], "tool_deny": ["open"]})
    bot = identity_headers("bot-token", "caller", agents=["bot"])
    asked = issues.post(
        "/v1/mcp/requests", json={"server": "issues", "scope": "agent", "tool_allow": ["list"]}, headers=bot
    )
    assert (asked.status_code, asked.json()["subject"], asked.json()["status"]) == (201, "bot", "pending")
    review = f"/v1/mcp/requests/{asked.json()['id']}/review"

    assert issues.post(review, json={"approved": True}, headers=bot).status_code == 403
    assert issues.post(review, json={"approved": True}, headers=ADMIN).json()["status"] == "approved"
    assert issues.post(review, json={"approved": False}, headers=ADMIN).json()["reason"] == "reviewed"
    kept = stores.bound("acme", MCP_RECORDS).get(McpAgentGrant, "issues", "bot")
    assert kept is not None
    assert (kept.record.tool_allow, kept.record.tool_deny, kept.record.granted_by) == (("list",), ("open",), "ada")


def test_a_rejected_request_makes_none(issues: httpx.Client, stores: StoreHandle) -> None:
    """And nobody reviews what they asked for themselves, administrators neither."""
    eve = identity_headers("eve", "caller")
    asked = issues.post("/v1/mcp/requests", json={"server": "issues", "scope": "user", "reason": "please"}, headers=eve)
    issues.post(f"/v1/mcp/requests/{asked.json()['id']}/review", json={"approved": False, "note": "no"}, headers=ADMIN)
    own = issues.post("/v1/mcp/requests", json={"server": "issues", "scope": "user"}, headers=ADMIN)
    refused = issues.post(f"/v1/mcp/requests/{own.json()['id']}/review", json={"approved": True}, headers=ADMIN)

    assert refused.json()["reason"] == "own_request"
    assert stores.bound("acme", MCP_RECORDS).count(McpUserGrant) == 0
    listed = issues.get("/v1/mcp/requests", headers=eve).json()["requests"]
    assert [(one["requested_by"], one["status"], one["note"]) for one in listed] == [("eve", "rejected", "no")]
    assert len(issues.get("/v1/mcp/requests?status=pending", headers=ADMIN).json()["requests"]) == 1


def test_a_token_of_the_same_name_sees_no_requests_of_another_user(issues: httpx.Client, stores: StoreHandle) -> None:
    """Names of tokens are not given once only."""
    of_kim = AccessRequest(
        id="r1",
        server="issues",
        scope="agent",
        subject="bot",
        requested_by="eve",
        user="kim",
        requested_at="2026-11-29",
    )
    stores.bound("acme", MCP_RECORDS).put(of_kim)

    assert issues.get("/v1/mcp/requests", headers=identity_headers("eve", "caller")).json()["requests"] == []
    assert len(issues.get("/v1/mcp/requests", headers=ADMIN).json()["requests"]) == 1


def test_a_user_asks_for_itself(issues: httpx.Client) -> None:
    """And for nobody else."""
    body = {"server": "issues", "scope": "user", "subject": "ada"}

    assert (
        issues.post("/v1/mcp/requests", json=body, headers=identity_headers("eve", "caller")).json()["reason"]
        == "other_user"
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"server": "issues", "scope": "agent", "subject": "other"}, "other_agent"),
        ({"server": "issues", "scope": "user"}, "no_user"),
        ({"server": "nowhere", "scope": "agent"}, "unknown_server"),
        ({"server": "issues", "scope": "agent", "tool_allow": ["nothing"]}, "unknown_tool"),
    ],
)
def test_a_request_is_for_who_asks(issues: httpx.Client, body: dict[str, Any], reason: str) -> None:
    """A token of one agent asks for no other, and a user for itself."""
    answer = issues.post("/v1/mcp/requests", json=body, headers=identity_headers("bot-token", "caller", agents=["bot"]))

    assert answer.json()["reason"] == reason


def test_nobody_reviews_what_the_own_token_has_asked_for(issues: httpx.Client, stores: StoreHandle) -> None:
    """Ada's token is Ada: a second name does not make a second person."""
    record = AccessRequest(
        id="r1", server="issues", scope="agent", subject="bot", requested_by="ci", user="ada", requested_at="x"
    )
    stores.bound("acme", MCP_RECORDS).put(record)

    own = issues.post("/v1/mcp/requests/r1/review", json={"approved": True}, headers=ADMIN)
    other = issues.post("/v1/mcp/requests/r1/review", json={"approved": True}, headers=identity_headers("eve", "admin"))

    assert (own.status_code, own.json()["reason"], other.status_code) == (403, "own_request", 200)


def test_an_approved_request_keeps_the_shorter_time(issues: httpx.Client, stores: StoreHandle) -> None:
    """Neither it nor what a grant excludes was asked about."""
    body = {"tool_allow": ["list"], "tool_deny": ["open"], "config_overrides": {"timeout_s": 2.0}}
    assert grant(issues, "issues/grants/agent/bot", body).status_code == 200
    bot = identity_headers("bot-token", "caller", agents=["bot"])
    made = issues.post("/v1/mcp/requests", json={"server": "issues", "scope": "agent"}, headers=bot).json()

    issues.post(f"/v1/mcp/requests/{made['id']}/review", json={"approved": True}, headers=ADMIN)

    found = stores.bound("acme", MCP_RECORDS).get(McpAgentGrant, "issues", "bot")
    assert found is not None
    assert (found.record.tool_deny, found.record.config_overrides) == (("open",), {"timeout_s": 2.0})


@each_row(
    "url",
    [
        "http://127.0.0.1/mcp",
        "http://[::1]/",
        "http://169.254.169.254/latest",
        "ftp://a.example/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://0251.0376.0251.0376/",
        "http://127.1/",
        "http://localhost/",
        "http://localhost./",
        "http://8.8.8.8@127.0.0.1/",
        "http://8.8.8.8:99999/",
        "http://8.8.8.8:x/",
        "http://[::1/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://127\u30020\u30020\u30021/",
        "http://8.8.8.8\\@127.0.0.1/",
        "http:///mcp",
    ],
)
def test_addresses_that_are_not_public_are_refused(client: httpx.Client, url: str) -> None:
    """When they are registered; the bridge refuses them again when it connects."""
    answer = client.put("/v1/mcp/servers/x", json={"transport": "sse", "url": url}, headers=OPERATOR)

    assert answer.status_code in {400, 422}, answer.text
    assert client.get("/v1/mcp/servers", headers=ADMIN).json() == {"servers": []}


def sound(**fields: Any) -> bool:
    try:
        NewServer.model_validate(fields)
    except ValueError:
        return False
    return True


def test_samples_of_servers() -> None:
    """Another gateway's samples; what comes from the service's own environment is refused here, whatever its name."""
    seen = 0
    for row in sample_rows("seeds/004-mcp-net"):
        given, expected = row["input"], row["expect"].get("valid")
        if row["case"].startswith("server command"):
            valid = sound(transport="stdio", command=given["command"])
        elif row["case"].startswith("server arguments"):
            valid = sound(transport="stdio", command="node", args=given["args"])
        elif row["case"].startswith("whole server entry"):
            valid = sound(**given)
        elif row["case"].startswith("value taken from the environment"):
            valid = sound(transport="sse", url="https://a.example/", headers={"X": given["value"]})
            expected = not given["value"].startswith("env:")
        elif row["case"].startswith("headers"):
            valid = sound(transport="sse", url="https://a.example/", headers=given["headers"])
        else:
            continue
        seen += 1
        assert valid is expected, row
    assert seen >= 9
