"""What another program, or another version, has written into the store: skipped, told, and in nobody's way."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from tests.waiting import until

from toolcharter import (
    MCP_RECORDS,
    McpAgentGrant,
    McpServerRecord,
    McpUserGrant,
    NewRow,
    Scope,
    StoreHandle,
    StoreRecord,
    open_store,
)
from toolcharter_service.approvals import ApprovalRecord
from toolcharter_service.auth import Role
from toolcharter_service.auth.records import SessionRecord, TokenRecord, UserRecord
from toolcharter_service.auth.tokens import NewToken, create_token
from toolcharter_service.calls.records import KeyedCall, StoredCall
from toolcharter_service.custom.records import CustomTool
from toolcharter_service.generated.records import ToolProposal
from toolcharter_service.grants.records import AccessRequest
from toolcharter_service.http.app import create_app
from toolcharter_service.registry.records import StoredTool
from toolcharter_service.service import Service
from toolcharter_service.unreadable import KINDS as KINDS_WITHOUT_ROUTE
from toolcharter_service.watch.records import RECENT, ToolMetrics, usage_list

pytestmark = pytest.mark.slow
PROFILE = """
profile: watched
description: Asks before it prints, and has what the store holds.
runner: host
tools: {bash: {}, read_file: {}}
allow: ["custom:*", "bash:true"]
ask: ["bash:echo *"]
approvals: {timeout_s: 60}
extensions: {registry: {extend: true}}
"""
ADMIN = identity_headers("ada", "admin")
SERVICE = "toolcharter-service"
KINDS: tuple[tuple[str, str, type[StoreRecord]], ...] = (
    ("", SERVICE, TokenRecord),
    ("", SERVICE, UserRecord),
    ("", SERVICE, SessionRecord),
    *(
        ("acme", SERVICE, model)
        for model in (
            ApprovalRecord,
            KeyedCall,
            StoredCall,
            StoredTool,
            CustomTool,
            ToolMetrics,
            ToolProposal,
        )
    ),
    ("acme", MCP_RECORDS, AccessRequest),
    ("acme", MCP_RECORDS, McpServerRecord),
    ("acme", MCP_RECORDS, McpAgentGrant),
    ("acme", MCP_RECORDS, McpUserGrant),
)
INDEXED: dict[str, Any] = {
    "tenant": "acme",
    "status": "pending",
    "state": "queued",
    "scope": "*",
    "server": "good",
    "enabled": True,
    "expires": 1,
    "asked_at": "9",
    "proposed_at": "9",
    "requested_at": "9",
    "id": "0123456789abcdef",
}
"""So that whoever lists, sweeps or takes turns meets the row."""
LISTS = (
    *("/v1/approvals", "/v1/approvals?status=pending", "/v1/mcp/servers", "/v1/mcp/servers/good/grants"),
    *("/v1/mcp/requests", "/v1/tools/custom", "/v1/tools", "/api/v1/tools", "/api/tools", "/api/tools/usage"),
    *("/api/tools/calls", "/api/v1/proposals", "/v1/tokens", "/v1/users", "/v1/sessions", "/v1/workers", "/metrics"),
    *("/readyz", "/monitor/tools", "/monitor/calls", "/monitor/approvals", "/monitor/grants"),
)


def hostile(key: tuple[str, ...], model: type[StoreRecord]) -> Iterator[str]:
    """Documents that are no record of *model*."""
    own = dict(zip(model.store_kind.key, key, strict=True))
    yield "<script>alert(1)</script>"
    yield "[" * 100_000
    yield json.dumps(own | {"a field of a version to come": 1})
    yield json.dumps(own | {"created_by": {"exec": "<b>"}, "exec": 5, "version": "9"})
    yield json.dumps(own | dict.fromkeys(model.store_kind.secret, 5) | {"env": [1], "roles": ["root"]})
    yield json.dumps(own | {field: {"A": "plain text"} for field in model.store_kind.secret})
    yield json.dumps({**own, model.store_kind.key[0]: "another"})
    yield json.dumps(own | {"x": "y" * 3_000_000})


def write(stores: StoreHandle, scope: Scope, model: type[StoreRecord], key: tuple[str, ...], document: str) -> None:
    """Write *document* as a program would that knows the tables alone."""
    kind = model.store_kind
    row = NewRow(key, document, {name: INDEXED.get(name) for name in kind.indexed}, "", kind.secret)
    stores.engine.transact(scope, lambda each: each.put(kind.name, row, expected=None), timeout_s=30)


def write_all(stores: StoreHandle) -> int:
    """Write every hostile row as a program would that knows the tables alone; returns how many."""
    count = 0
    for tenant, distribution, model in KINDS:
        kind = model.store_kind
        for number in range(8):
            key = tuple(f"!bad{number}" if name != "server" else "good" for name in kind.key)
            document = [*hostile(key, model)][number]
            write(stores, Scope(tenant, distribution), model, key, document)
            count += 1
    for name in (RECENT, usage_list("global")):
        items = ("{", '"text"', '{"agent_id": 5, "tool_id": "<script>"}')
        stores.engine.transact(
            Scope("acme", SERVICE),
            lambda each: each.push(name, *items, cap=100),  # noqa: B023 - run at once
            timeout_s=30,
        )
    return count


def write_in_front(stores: StoreHandle) -> None:
    """Of three kinds that are swept, what ended first of all: more rows than a sweep looks at, none of them readable, and one that is."""
    for tenant, model in (("", TokenRecord), ("acme", KeyedCall), ("acme", StoredCall)):
        kind = model.store_kind
        rows = [
            NewRow((f"!in front {number}",) * len(kind.key), "{", {"expires": 1} | INDEXED, "", ())
            for number in range(101)
        ]
        stores.engine.transact(
            Scope(tenant, SERVICE),
            lambda each: [each.put(kind.name, row, expected=None) for row in rows],  # noqa: B023 - run at once
            timeout_s=30,
        )
    old = create_token("acme", NewToken(name="old", roles=(Role.VIEWER,)), "test").record
    stores.bound("", SERVICE).put(old.model_copy(update={"expires": 2}))
    own = stores.bound("acme", SERVICE)
    own.put(KeyedCall(owner="o", key="k", fingerprint="", worker="", call_id="c", expires=2))
    call = dict.fromkeys(("agent", "session", "user", "project", "traceparent"), None)
    said = dict.fromkeys(("owner", "name", "token_id", "tool", "args", "created_at"), "")
    own.put(StoredCall.model_validate({"id": "old", "state": "done", "expires": 2, **said, **call}))


def swept(stores: StoreHandle) -> bool:
    """Whether what could be read of these is gone."""
    tokens = stores.bound("", SERVICE).page(TokenRecord, limit=1_000, skip_unreadable=True)
    own = stores.bound("acme", SERVICE)
    kept = "old" in {one.record.name for one in tokens.records}
    return not kept and own.get(KeyedCall, "o", "k") is None and own.get(StoredCall, "old") is None


def bearer(service: Service, *roles: Role) -> dict[str, str]:
    """The header of a new token."""
    created = create_token("acme", NewToken(name=roles[0], roles=roles), "test")
    service.store("").put(created.record)
    return {"Authorization": f"Bearer {created.text}"}


def test_unreadable_rows_are_in_nobodys_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every kind that is listed: lists answer with what can be read, turns and sweeps go on, and an event tells of each."""
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", "11" * 32)
    (tmp_path / "db").mkdir(mode=0o700)
    stores = open_store(f"sqlite:///{tmp_path}/db/store.db")
    service = Service(configured(tmp_path, {"reviewer": PROFILE}), stores=stores)
    stores.bound("acme", MCP_RECORDS).put(McpServerRecord(name="good", transport="sse", url="https://example.com/"))
    ada, ann, bot = (bearer(service, *roles) for roles in ((Role.ADMIN,), (Role.APPROVER,), (Role.CALLER,)))
    count = write_all(stores)
    write_in_front(stores)
    with (
        serving(create_app(service)) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60, headers=ada) as client,
    ):
        custom = {"name": "good_tool", "command": "echo good"}
        assert client.post("/v1/tools/custom", json=custom).status_code == 201
        body = {"tool": "bash", "args": {"command": "echo x"}}
        left = client.post("/v1/calls", json=body, headers={**bot, "Prefer": "respond-async"}).json()["id"]

        def asked() -> list[dict[str, Any]]:
            found = client.get("/v1/approvals?status=pending").json()
            return [*found.get("approvals", [])]

        until(lambda: bool(asked()), within_s=60)
        wrong = {path: answer.text[:200] for path in LISTS if (answer := client.get(path)).status_code != 200}
        assert wrong == {}
        assert [one["name"] for one in client.get("/v1/mcp/servers").json()["servers"]] == ["good"]
        assert "good_tool" in {tool["name"] for tool in client.get("/v1/tools").json()["tools"]}
        [question] = asked()
        given = {"answer": "allow_once", "digest": question["digest"]}
        assert client.post(f"/v1/approvals/{question['id']}", json=given, headers=ann).status_code == 200
        until(lambda: client.get(f"/v1/calls/{left}", headers=bot).json()["state"] == "done", within_s=60)
        assert client.get("/v1/approvals/!bad0").json()["reason"] == "store_unavailable"
        told = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
        unreadable = {event["message"] for event in told if event["event"] == "service.record_unreadable"}
        assert len(unreadable) > count / 2
        assert "alert(1)" not in str(unreadable)
        assert all("plain text" not in message for message in unreadable)
        until(lambda: swept(stores), within_s=60)
        assert _not_deleted(client, stores, ann) == {}
        told = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
        gone = [event for event in told if event.get("action") == "unreadable_deleted"]
        assert {event["kind"] for event in gone} == {*KINDS_WITHOUT_ROUTE}
        assert {event["by"] for event in gone} == {"token:admin"}


def _not_deleted(client: httpx.Client, stores: StoreHandle, operator: dict[str, str]) -> dict[str, Any]:
    """What an admin cannot delete of the rows that cannot be read, and what came of it."""
    for tenant, kind, key in (("", UserRecord, ("acme", "zed")), ("acme", StoredTool, ("zed",))):
        write(stores, Scope(tenant, SERVICE), kind, key, "{")
    write(stores, Scope("acme", MCP_RECORDS), McpServerRecord, ("zed",), "{")
    assert client.delete("/api/v1/tools/zed", headers=operator).status_code == 403
    wrong: dict[str, Any] = {}
    for path, status in (
        *(("/v1/tokens/0123456789abcdef", 204), ("/v1/sessions/0123456789abcdef", 204), ("/v1/users/zed", 204)),
        *(("/api/v1/tools/zed", 200), ("/v1/mcp/servers/zed", 200), ("/v1/mcp/servers/good", 200)),
        ("/v1/mcp/servers/good/grants/agent/!bad0", 404),
    ):
        answer = client.delete(path)
        if answer.status_code != status or (status < 300 and client.get(path).status_code == 503):
            wrong[path] = answer.status_code, answer.text
    assert client.get("/api/v1/tools").status_code == 200
    for name in KINDS_WITHOUT_ROUTE:
        place = f"/v1/unreadable/{name}"
        listed = client.get(place).json()["keys"]
        gone = [client.delete(place, params={"key": key}).status_code for key in listed]
        if len(gone) < 8 or {*gone} != {200} or client.get(place).json()["keys"]:
            wrong[place] = listed, gone
    [question] = client.get("/v1/approvals").json()["approvals"]
    refused = (
        ("/v1/unreadable/approvals", question["id"], 409),
        ("/v1/unreadable/approvals", "!bad0", 404),
        ("/v1/unreadable/keys", "one part", 400),
        ("/v1/unreadable/token", "x", 400),
    )
    wrong |= {
        f"{place} {key}": found
        for place, key, status in refused
        if (found := client.delete(place, params={"key": key}).status_code) != status
    }
    return wrong


def test_columns_of_other_types_are_no_500(tmp_path: Path) -> None:
    """SQLite keeps anything in any column."""
    (tmp_path / "db").mkdir(mode=0o700)
    stores = open_store(f"sqlite:///{tmp_path}/db/store.db")
    service = Service(configured(tmp_path, {"reviewer": PROFILE}), stores=stores)
    database = sa.create_engine(f"sqlite:///{tmp_path}/db/store.db")
    wrong: dict[str, str] = {}
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60, headers=ADMIN) as client,
    ):
        for column, value in (
            ("document", b"\xff\xfe"),
            ("version", "x"),
            ("seq", "x"),
            ("indexed", "{"),
            ("key", "text"),
            ("key", b"\xff"),
        ):
            tool = {"name": "a_tool", "command": "echo x"}
            client.post("/v1/tools/custom", json=tool)
            with database.begin() as connection:
                connection.execute(
                    sa.text(f"UPDATE toolcharter_records SET {column} = :value WHERE kind = 'custom_tools'"),
                    {"value": value},
                )
            for method, path in (("GET", "/v1/tools/custom"), ("GET", "/v1/tools"), ("POST", "/v1/tools/custom")):
                answer = client.request(method, path, json=tool if method == "POST" else None)
                if answer.status_code >= 500 and answer.json()["reason"] != "store_unavailable":
                    wrong[f"{column} {value!r} {method} {path}"] = answer.text[:200]
            with database.begin() as connection:
                connection.execute(sa.text("DELETE FROM toolcharter_records WHERE kind = 'custom_tools'"))
                connection.execute(sa.text("DELETE FROM toolcharter_values WHERE kind = 'custom_tools'"))
    database.dispose()

    assert wrong == {}


def test_an_answer_to_a_question_that_was_changed_is_none(tmp_path: Path, stores: StoreHandle) -> None:
    """Whoever changes what approvers are shown, or for what, has the call denied, now and after its process has gone."""
    service = Service(configured(tmp_path, {"reviewer": PROFILE}), stores=stores)
    ann, bot = bearer(service, Role.APPROVER), bearer(service, Role.CALLER)
    changes: list[dict[str, Any]] = [{"args": {"command": "echo harmless"}}, {"digest": "0" * 64}, {"agent": "another"}]
    outcomes: list[str] = []
    with (
        serving(create_app(service)) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        for change in changes:
            body = {"tool": "bash", "args": {"command": f"echo x >{len(outcomes)}"}}
            left = client.post("/v1/calls", json=body, headers={**bot, "Prefer": "respond-async"}).json()["id"]

            def question() -> ApprovalRecord | None:
                page = service.store("acme").page(ApprovalRecord, where={"status": "pending"})
                return page.records[0].record if page.records else None

            until(question, within_s=60)
            asked = question()
            assert asked is not None
            changed = asked.model_copy(update=change)
            service.store("acme").put(changed)
            answer = {"answer": "allow_once", "digest": changed.digest}
            client.post(f"/v1/approvals/{asked.id}", json=answer, headers=ann)
            until(lambda: _ended(client, left, bot), within_s=60)  # noqa: B023 - run at once
            outcomes.append(str(_ended(client, left, bot)["result"]["outcome"]))

    assert outcomes == ["denied"] * len(changes)
    assert [path.name for path in (tmp_path / "profile0").iterdir()] == []


def _ended(client: httpx.Client, call_id: str, headers: dict[str, str]) -> dict[str, Any]:
    """A stored call; empty as long as it has not ended."""
    call: dict[str, Any] = client.get(f"/v1/calls/{call_id}", headers=headers).json()
    return call if call["state"] == "done" else {}
