"""Every route of the OpenAPI document, asked by nobody, by each role, and by another tenant, with real tokens."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.plugins.service.auth.conftest import Deployment

from toolcharter_service.auth import Role

pytestmark = pytest.mark.slow
_ALL, _SEES = "viewer caller approver operator admin", "viewer approver operator admin"
PUBLIC = {"GET /healthz", "GET /readyz"}
TABLE = {
    "POST /v1/calls": "caller admin",
    "POST /v1/decide": "caller admin",
    "POST /v1/explain": "caller admin",
    "GET /v1/tools": _ALL,
    "GET /v1/calls/{call_id}": _ALL,
    "POST /v1/calls/{call_id}/cancel": "caller operator admin",
    "POST /v1/tools/invoke": "caller admin",
    "GET /v1/events": _ALL,
    "GET /metrics": _SEES,
    "GET /healthz": _ALL,
    "GET /readyz": _ALL,
    "GET /v1/session": _ALL,
    "DELETE /v1/session": _ALL,
    "POST /logout": _ALL,
    "GET /v1/tokens": "admin",
    "POST /v1/tokens": "admin",
    "DELETE /v1/tokens/{token_id}": "admin",
    "GET /v1/users": "admin",
    "POST /v1/users": "admin",
    "PATCH /v1/users/{name}": "admin",
    "DELETE /v1/users/{name}": "admin",
    "GET /v1/sessions": "admin",
    "DELETE /v1/sessions/{session_id}": "admin",
    "GET /v1/secrets": "admin",
    "PUT /v1/secrets/{name}": "admin",
    "DELETE /v1/secrets/{name}": "admin",
    "GET /v1/approvals": _SEES,
    "GET /v1/approvals/{approval}": _SEES,
    "POST /v1/approvals/{approval}": "approver admin",
    "GET /v1/mcp/servers": _SEES,
    "PUT /v1/mcp/servers/{server}": "operator admin",
    "GET /v1/mcp/servers/{server}": _SEES,
    "DELETE /v1/mcp/servers/{server}": "operator admin",
    "GET /v1/mcp/servers/{server}/grants": _SEES,
    "PUT /v1/mcp/servers/{server}/grants/{scope}/{subject}": "admin",
    "DELETE /v1/mcp/servers/{server}/grants/{scope}/{subject}": "admin",
    "GET /v1/workers": _SEES,
    "GET /v1/mcp/requests": _ALL,
    "POST /v1/mcp/requests": _ALL,
    "POST /v1/mcp/requests/{request}/review": "admin",
    "GET /api/tools": _ALL,
    "GET /api/tools/usage": _ALL,
    "GET /api/tools/calls": _SEES,
    "GET /api/v1/tools": _ALL,
    "POST /api/v1/tools": "caller operator admin",
    "POST /api/v1/tools/discover": "operator admin",
    "POST /api/v1/tools/{tool_id}/invoke": "caller admin",
    "DELETE /api/v1/tools/{tool_id}": "caller operator admin",
    "POST /api/v1/interpret/execute": "caller admin",
    "GET /api/v1/proposals": "approver admin",
    "POST /api/v1/proposals/{proposal_id}": "approver admin",
    "GET /v1/tools/custom": _SEES,
    "POST /v1/tools/custom": "operator admin",
    "GET /v1/tools/custom/{tool_id}": _SEES,
    "PUT /v1/tools/custom/{tool_id}": "operator admin",
    "DELETE /v1/tools/custom/{tool_id}": "operator admin",
    "GET /v1/unreadable/{kind}": "operator admin",
    "DELETE /v1/unreadable/{kind}": "operator admin",
}
"""Which roles may use a route: a route of the document without a row fails, and a row without a route."""
UNKNOWN_CALL = "0" * 32
MARK = "onlyacme"
"""Stands in all that the tenant `acme` keeps."""
SERVER = {"transport": "stdio", "command": "npx", "args": [MARK]}
CALL = {"tool": "list_files", "args": {"path": "."}}
CUSTOM = {"name": MARK, "command": f"echo {MARK}"}
SEEN = [f"/v1/{place}" for place in ("users", "secrets", "mcp/servers", f"mcp/servers/{MARK}/grants", "tools/custom")]
"""Where an administrator of `acme` reads what it keeps, and nothing changes by itself."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    made = Deployment(tmp_path_factory.mktemp("routes"))
    try:
        yield made
    finally:
        made._ending.close()


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> httpx.Client:
    return deployment.start()


def bearer(deployment: Deployment, *roles: Role, tenant: str = "acme") -> dict[str, str]:
    return {"Authorization": f"Bearer {deployment.token(*roles, tenant=tenant, name='-'.join(roles))}"}


def ask(client: httpx.Client, route: str, headers: dict[str, str], body: Any = None, **filled: str) -> tuple[int, str]:
    """Status and text; the stream of events is not read."""
    method, path = route.split(" ")
    path = re.sub(r"\{(\w+)\}", lambda found: filled.get(found[1], "unknown"), path)
    with client.stream(method, path, headers=headers, json=body) as answer:
        is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
        return answer.status_code, "" if is_stream else answer.read().decode()


def test_each_route_has_its_row(client: httpx.Client) -> None:
    """And each row its route."""
    paths = client.get("/openapi.json").json()["paths"]
    assert {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods} == set(TABLE)


def test_each_route_is_for_its_roles_alone(client: httpx.Client, deployment: Deployment) -> None:
    """Nobody else is told more than 401, and another role no more than 403."""
    wrong: list[tuple[str, str, str]] = []
    tokens = {role: bearer(deployment, role) for role in Role}
    for route, roles in TABLE.items():
        status, _ = ask(client, route, {})
        if (status == 401) == (route in PUBLIC):
            wrong.append((route, "nobody", str(status)))
        for role, headers in tokens.items():
            status, text = ask(client, route, headers, call_id=UNKNOWN_CALL)
            is_refused = status == 403 and '"role_missing"' in text
            if is_refused == (role in roles.split()) or status >= 500:
                wrong.append((route, role, f"{status} {text[:100]}"))

    assert not wrong


def kept_by_acme(client: httpx.Client, admin: dict[str, str]) -> dict[str, str]:
    """Make a record of each kind in `acme`; answers the parameters of paths that lead to them."""
    made = [
        client.put(f"/v1/mcp/servers/{MARK}", json=SERVER, headers=admin),
        client.put(f"/v1/mcp/servers/{MARK}/grants/user/{MARK}", json={}, headers=admin),
        client.put(f"/v1/secrets/{MARK}", json={"value": MARK}, headers=admin),
        client.post("/v1/users", json={"name": MARK, "password": f"{MARK} " * 3, "roles": ["viewer"]}, headers=admin),
        client.post("/v1/mcp/requests", json={"server": MARK, "scope": "agent", "subject": "coder"}, headers=admin),
        client.post("/v1/tools/custom", json=CUSTOM, headers=admin),
        client.post("/v1/tokens", json={"name": MARK, "roles": ["viewer"]}, headers=admin),
        client.post(
            "/v1/calls",
            json=CALL,
            headers={**admin, "Prefer": "respond-async", "X-Agent-ID": "reviewer"},
        ),
    ]
    assert [one.status_code for one in made] == [200, 200, 204, 201, 201, 201, 201, 202], [one.text for one in made]
    request, _, token, call = (one.json() for one in made[4:])
    return {
        **dict.fromkeys(("server", "subject", "name"), MARK),
        "scope": "user",
        "request": request["id"],
        "tool_id": made[5].json()["id"],
        "token_id": token["id"],
        "call_id": call["id"],
    }


def test_another_tenant_finds_nothing(client: httpx.Client, deployment: Deployment) -> None:
    """Its administrator sees none of our records, changes none, and is told what is told about unknown ones."""
    ours, theirs = bearer(deployment, Role.ADMIN), bearer(deployment, *Role, tenant="globex")
    filled = kept_by_acme(client, ours)
    before = [client.get(place, headers=ours).text for place in SEEN]
    assert all(MARK in text for text in before)

    bodies = {
        "PUT /v1/mcp/servers/{server}/grants/{scope}/{subject}": {},
        "PUT /v1/tools/custom/{tool_id}": {"name": MARK, "command": "echo theirs"},
        "PATCH /v1/users/{name}": {"roles": ["admin"]},
        "POST /v1/mcp/requests/{request}/review": {"approved": True},
    }
    wrong = []
    for route in TABLE:
        status, text = ask(client, route, theirs, bodies.get(route), **filled)
        is_told = status < 300 and ("{" in route or MARK in text)
        is_refused = status in (400, 404, 422) if "{" in route else status < 500 and status != 403
        if is_told or not (is_refused or "sessions_only" in text):
            wrong.append((route, status, text[:200]))

    assert not wrong
    assert [client.get(place, headers=ours).text for place in SEEN] == before
    status = client.put(f"/v1/mcp/servers/{MARK}", json={**SERVER, "args": ["theirs"]}, headers=theirs).status_code
    assert (status, client.get(SEEN[2], headers=ours).text) == (200, before[2])


def test_the_call_is_known_to_its_tenant(client: httpx.Client, deployment: Deployment) -> None:
    """The path that another tenant asks for in vain leads its own to the answer."""
    headers = {**bearer(deployment, Role.CALLER), "Prefer": "respond-async", "X-Agent-ID": "reviewer"}
    call = client.post("/v1/calls", json=CALL, headers=headers).json()["id"]
    assert client.get(f"/v1/calls/{call}", headers=headers).status_code == 200
    assert client.get(f"/v1/calls/{call}", headers=bearer(deployment, Role.CALLER, tenant="globex")).status_code == 404


def test_what_cannot_be_kept_is_refused(client: httpx.Client, deployment: Deployment) -> None:
    """A page after nothing, and a grant whose overrides are no settings: never 500."""
    admin = bearer(deployment, Role.ADMIN)
    pages = ("approvals", "mcp/requests", "tokens", "users", "sessions")
    answers = [client.get(f"/v1/{page}?after=dbd", headers=admin) for page in pages]
    client.put("/v1/mcp/servers/overridden", json=SERVER, headers=admin)
    body = {"config_overrides": {"timeout_s": 0.0}}
    answers.append(client.put("/v1/mcp/servers/overridden/grants/agent/coder", json=body, headers=admin))
    assert [one.status_code for one in answers] == [400] * 5 + [422], [one.text for one in answers]


def test_what_cannot_be_read_is_refused(client: httpx.Client, deployment: Deployment) -> None:
    """An origin that is no URL, names that no record can have, and addresses without a host or a port: never 500."""
    admin = bearer(deployment, Role.ADMIN)
    origins = [
        client.get("/v1/tools", headers={**admin, "Origin": origin}) for origin in ("http://[", "http://[::1]:x")
    ]
    assert [one.status_code for one in origins] == [403, 403]

    long = "a" * 600
    paths = [f"/v1/approvals/{name}" for name in ("%00", long, "%C3%A9")]
    answers = [client.get(path, headers=admin) for path in paths]
    answers += [client.post(path, json={"answer": "deny", "digest": "d"}, headers=admin) for path in paths]
    answers += [client.delete(f"/api/v1/tools/{name}", headers=admin) for name in ("%00", long, "%0A")]
    answers += [client.post(f"/api/v1/tools/{name}/invoke", json={}, headers=admin) for name in ("%00", long, "%0A")]
    answers += [
        client.post(f"/v1/mcp/requests/{name}/review", json={"approved": False}, headers=admin)
        for name in ("%00", long)
    ]
    answers.append(client.delete("/v1/mcp/servers/a/grants/user/%00", headers=admin))
    assert [one.status_code for one in answers] == [400] * 15, [one.text for one in answers]

    for url in ("http://[", "http://a.example:99999/", "http://a.example:x/", "http://:80/", "http://\xe9_.example/"):
        answer = client.put("/v1/mcp/servers/odd", json={"transport": "sse", "url": url}, headers=admin)
        assert (answer.status_code, url) == (422, url), answer.text


def test_the_document_says_what_every_route_may_answer(client: httpx.Client) -> None:
    """Refusals before a route, as the one form of problems; and no form of errors that nobody sends."""
    document = client.get("/openapi.json").json()
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    shared = ("400", "403", "408", "413", "415", "431")
    wrong = [
        (path, method, status)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for status in shared
        if operation["responses"].get(status, {}).get("content") != problem
    ]

    assert not wrong
    assert "HTTPValidationError" not in str(document)
