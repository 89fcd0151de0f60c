"""What a token is bound to, and what the service believes, holds beyond single routes: attacks that succeeded once."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine

from toolcharter import ConfigurationError, StoreHandle, open_store
from toolcharter_service.approvals import ApprovalRecord
from toolcharter_service.auth import Role
from toolcharter_service.auth import tokens as token_module
from toolcharter_service.auth.records import TokenRecord
from toolcharter_service.auth.tokens import NewToken
from toolcharter_service.calls.records import StoredCall
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

from .header_identity import HeaderAuthenticator, identity_headers
from .serving import configured, serving

pytestmark = pytest.mark.slow
PROFILE = """
profile: bound
description: Reads and writes, and has what the registry holds.
runner: host
tools: {read_file: {}, write_file: {}}
extensions: {registry: {extend: true}}
"""
REQUESTER = """
profile: asking
description: Asks before each line of a shell.
runner: host
mode: ask
tools: {bash: {}}
approvals: {timeout_s: 60}
"""


TOOL = {
    "name": "T",
    "description": "Prints.",
    "input_schema": {},
    "exec": {"type": "cmd", "cmd": "echo", "args": ["1"]},
}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, httpx.Client, Path]]:
    """A service with the agents `reviewer` and `coder`, who share a toolbox."""
    place = tmp_path_factory.mktemp("bounds")
    file = configured(place, {"reviewer": PROFILE, "coder": PROFILE})
    service = Service(file, stores=StoreHandle(MemoryEngine))
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        yield service, client, place


@pytest.mark.parametrize("inside", ["reviewer.db", "deep/reviewer.db"])
def test_no_store_lies_where_an_agent_writes(tmp_path: Path, inside: str) -> None:
    """An agent that writes its file would make tokens, grants and approvals of its own."""
    file = configured(tmp_path, {"reviewer": PROFILE})
    workspace = Path(file.config.tenants["acme"].agents["reviewer"].workspace)
    service = Service(file, stores=open_store(f"sqlite:///{workspace}/{inside}"))

    with pytest.raises(ConfigurationError, match="lies in the workspace"):
        service.build()

    service.close()


def test_acts_of_administration_reach_the_sinks(started: tuple[Service, httpx.Client, Path]) -> None:
    """Whoever makes a tool, or asks for it through a link, leaves a line in the file of the configuration."""
    _, client, place = started
    body = {"name": "hello", "command": "echo hello"}

    made = client.post("/v1/tools/custom", json=body, headers=identity_headers("ann", "operator"))

    events = [json.loads(line) for line in (place / "events.jsonl").read_text().splitlines()]
    [told] = [one for one in events if one.get("action") == "custom_tool.created"]
    assert made.status_code == 201
    assert {**told, "ts": ""} == {
        "event": "service.admin",
        "level": "info",
        "ts": "",
        "action": "custom_tool.created",
        "tenant": "acme",
        "by": "ann",
        "tool_id": "hello",
        "agent": None,
    }


def test_what_an_agent_says_of_a_tool_holds_for_its_own_calls(started: tuple[Service, httpx.Client, Path]) -> None:
    """Otherwise one agent could close a tool for all others of its tenant."""
    service, client, _ = started
    Path(service.config.tenants["acme"].agents["coder"].workspace, "a.txt").write_text("text")
    coder, reviewer = (identity_headers(name, "caller", agents=[name]) for name in ("coder", "reviewer"))
    record = {
        "id": "read_file",
        "name": "read_file",
        "description": "Reads.",
        "input_schema": {"nothing": "integer", "path": "integer"},
        "permissions": [],
        "safety_level": "low",
    }
    call = {"tool": "read_file", "args": {"path": "a.txt"}}

    made = client.post("/api/v1/tools", json=record, headers=coder)

    assert made.status_code == 200, made.text
    assert client.post("/v1/calls", json=call, headers=reviewer).json()["outcome"] == "ok"
    assert client.post("/v1/calls", json=call, headers=coder).json()["reason"] == "not_as_registered"


def test_a_key_is_of_the_person_too(started: tuple[Service, httpx.Client, Path]) -> None:
    """A later token of the same name that stands for somebody else gets no answer that the first one's user was given."""
    service, client, _ = started
    Path(service.config.tenants["acme"].agents["coder"].workspace, "b.txt").write_text("text")
    call, key = {"tool": "read_file", "args": {"path": "b.txt"}}, {"Idempotency-Key": "k", "X-Agent-ID": "coder"}

    first = client.post("/v1/calls", json=call, headers={**identity_headers("ci", "caller", agents=["coder"]), **key})
    second = client.post("/v1/calls", json=call, headers={**identity_headers("ci", "caller"), **key})

    assert first.status_code == 200, first.text
    assert (second.status_code, second.json()["reason"]) == (422, "idempotency_key_reused")


def question(agent: str) -> ApprovalRecord:
    """One that waits."""
    texts: dict[str, Any] = dict.fromkeys(("worker", "tool", "profile", "workspace", "user", "reason", "asked_at"), "x")
    more: dict[str, Any] = dict.fromkeys(("action", "message", "why_not_always"))
    return ApprovalRecord(
        **texts,
        **more,
        id=f"of-{agent}",
        call_id="c",
        stored_call="s",
        args={},
        commands=(),
        agent=agent,
        requested_by="bot",
        token_id="id-bot",
        digest="d",
        always=False,
        expires=time.time() + 60,
    )


def test_who_is_bound_to_agents_answers_for_those(started: tuple[Service, httpx.Client, Path]) -> None:
    """The questions of others are not there for it: neither in the list nor by their names."""
    service, client, _ = started
    for agent in ("reviewer", "coder"):
        service.store("acme").put(question(agent))
    ann = identity_headers("ann", "approver", agents=["reviewer"])
    body = {"answer": "allow_once", "digest": "d"}

    listed = client.get("/v1/approvals", headers=ann).json()["approvals"]
    other = client.post("/v1/approvals/of-coder", json=body, headers=ann)

    assert [one["agent"] for one in listed] == ["reviewer"]
    assert (other.status_code, other.json()["reason"]) == (404, "unknown_approval")
    assert client.get("/v1/approvals/of-coder", headers=ann).status_code == 404
    assert client.post("/v1/approvals/of-reviewer", json=body, headers=ann).json()["status"] == "allow_once"


def test_who_is_bound_to_agents_runs_the_place_for_those(started: tuple[Service, httpx.Client, Path]) -> None:
    """Neither servers, which are for all, nor grants, requests and tools of other agents are theirs to change."""
    _, client, _ = started
    ada, bound = identity_headers("ada", "admin"), identity_headers("bo", "admin", agents=["reviewer"])
    server = {"transport": "stdio", "command": "npx", "args": ["x"]}
    made = [
        client.put("/v1/mcp/servers/srv", json=server, headers=ada),
        client.put("/v1/mcp/servers/srv/grants/agent/coder", json={}, headers=ada),
        client.post(
            "/v1/mcp/requests",
            json={"server": "srv", "scope": "agent", "subject": "coder"},
            headers=identity_headers("cal", "caller", agents=["coder"]),
        ),
        client.post("/v1/tools/custom", json={"name": "theirs", "command": "echo 1", "agent_id": "coder"}, headers=ada),
        client.post("/api/v1/tools", json={**TOOL, "id": "coders"}, headers={**ada, "X-Agent-ID": "coder"}),
    ]
    assert [one.status_code for one in made] == [200, 200, 201, 201, 200], [one.text for one in made]
    request, custom = made[2].json()["id"], made[3].json()["id"]
    grants = "/v1/mcp/servers/srv/grants"
    refused: dict[tuple[str, str], Any] = {
        ("PUT", "/v1/mcp/servers/srv"): server,
        ("DELETE", "/v1/mcp/servers/srv"): None,
        ("PUT", f"{grants}/agent/coder"): {},
        ("PUT", f"{grants}/user/zoe"): {},
        ("DELETE", f"{grants}/agent/coder"): None,
        ("POST", f"/v1/mcp/requests/{request}/review"): {"approved": True},
        ("POST", "/v1/tools/custom"): {"name": "all", "command": "echo 1"},
        ("POST", "/v1/tools/custom?"): {"name": "other", "command": "echo 1", "agent_id": "coder"},
        ("PUT", f"/v1/tools/custom/{custom}"): {"name": "theirs", "command": "echo 2", "agent_id": "coder"},
        ("DELETE", f"/v1/tools/custom/{custom}"): None,
    }
    wrong: dict[str, Any] = {}
    for (method, path), body in refused.items():
        answer = client.request(method, path, json=body, headers=bound)
        if (answer.status_code, answer.json().get("reason")) != (403, "agent_not_allowed"):
            wrong[f"{method} {path}"] = answer.status_code, answer.text
    listed = client.get("/v1/mcp/requests", headers=bound).json()["requests"]
    deleted = client.delete("/api/v1/tools/coders", headers=bound)
    own = [
        client.put(f"{grants}/agent/reviewer", json={}, headers=bound),
        client.post("/v1/tools/custom", json={"name": "b", "command": "echo 1", "agent_id": "reviewer"}, headers=bound),
        client.post("/api/v1/tools", json={**TOOL, "id": "reviewers"}, headers=bound),
    ]

    assert wrong == {}
    assert (listed, deleted.json()["reason"]) == ([], "not_owner")
    assert [one.status_code for one in own] == [200, 201, 200], [one.text for one in own]
    assert own[2].json()["tool"]["created_by"] == "agent"


def until(client: httpx.Client, call: str, headers: dict[str, str], *states: str) -> dict[str, Any]:
    """The stored call, once it is in one of *states*."""
    found: dict[str, Any] = {}
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = client.get(f"/v1/calls/{call}", headers=headers).json()
        if found["state"] in states:
            return found
        time.sleep(0.02)
    raise AssertionError(found)


def test_a_call_does_not_outlive_the_token_that_asked(tmp_path: Path) -> None:
    """Neither while it waits for its turn nor while it waits for an approval."""
    service = Service(configured(tmp_path, {"reviewer": REQUESTER}), stores=StoreHandle(MemoryEngine))
    tokens = service.store("")

    def bearer(name: str, *roles: Role) -> tuple[dict[str, str], str]:
        made = token_module.create_token("acme", NewToken(name=name, roles=roles), "test")
        tokens.put(made.record, expected=0)
        return {"Authorization": f"Bearer {made.text}"}, made.record.digest

    bot, digest = bearer("bot", Role.CALLER)
    ann, _ = bearer("ann", Role.APPROVER)
    body = {"tool": "bash", "args": {"command": "touch made"}}
    with serving(create_app(service)) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        asked = client.post("/v1/calls", json=body, headers={**bot, "Prefer": "respond-async"}).json()
        until(client, asked["id"], ann, "waiting")
        [waits] = client.get("/v1/approvals?status=pending", headers=ann).json()["approvals"]
        record = service.store("acme").get(StoredCall, asked["id"])
        assert record is not None
        tokens.delete(TokenRecord, digest)
        answer = {"answer": "allow_once", "digest": waits["digest"]}
        client.post(f"/v1/approvals/{waits['id']}", json=answer, headers=ann)
        ended = until(client, asked["id"], ann, "done")
        later = record.record.model_copy(update={"id": "f" * 32, "state": "queued", "worker": ""})
        service.store("acme").put(later, expected=0)
        dropped = until(client, "f" * 32, ann, "done")

    workspace = Path(service.config.tenants["acme"].agents["reviewer"].workspace)
    assert (ended["result"]["outcome"], dropped["result"]["reason"]) == ("denied", "unauthenticated")
    assert not (workspace / "made").exists()
