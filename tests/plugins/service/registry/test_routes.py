"""HDN's routes over a real server: its curl lines as they are written, its fields, its statuses."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving

from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.http.app import create_app
from toolcharter_service.registry.catalog import register as write
from toolcharter_service.registry.rules import Actor, parse_record
from toolcharter_service.registry.source_tools import DEFAULTS
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow

PROFILE = """
profile: registered
description: HDN's tools, and those that are registered.
runner: host
extensions: {registry: {extend: true}}
tools: {read_file: {}, write_file: {}, list_files: {}, text_search: {}, json_parse: {}, bash: {}, http_get: {}}
allow: ["bash:echo *", "bash:false", "bash:sleep *", "custom:*"]
limits: {timeout_s: 10, per: agent, tools: {list_files: {calls_per_minute: 70}}}
"""
OPERATOR = identity_headers("ann", "operator,caller")
VIEWER = identity_headers("vic", "viewer")
BOT = identity_headers("bot-token", "caller", agents=["bot"])
OTHER = identity_headers("other-token", "caller", agents=["other"])
ECHO = {"type": "cmd", "cmd": "echo", "args": ["hello {name}"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("registry")


@pytest.fixture(scope="module")
def stores() -> StoreHandle:
    return StoreHandle(MemoryEngine)


@pytest.fixture(scope="module")
def service(place: Path, stores: StoreHandle) -> Service:
    return Service(configured(place, {"bot": PROFILE, "other": PROFILE}), stores=stores)


@pytest.fixture(scope="module")
def http(service: Service) -> Iterator[httpx.Client]:
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        yield client


@pytest.fixture
def workspace(service: Service) -> Path:
    return Path(service.agent("acme", "bot").workspace)


def register(http: httpx.Client, headers: dict[str, str], **values: Any) -> httpx.Response:
    return http.post("/api/v1/tools", json=values, headers=headers)


def invoke(http: httpx.Client, tool: str, headers: dict[str, str] = BOT, /, **args: Any) -> tuple[int, Any]:
    answer = http.post(f"/api/v1/tools/{tool}/invoke", json=args, headers=headers)
    return answer.status_code, answer.json()


def test_the_twelve_are_there_from_the_start(http: httpx.Client) -> None:
    """Sorted, in HDN's fields; an agent sees those that it might call."""
    found = http.get("/api/v1/tools", headers=VIEWER).json()["tools"]
    ids = [one["id"] for one in found]

    assert ids == sorted(ids)
    assert {*ids} >= {one.id for one in DEFAULTS}
    assert len(DEFAULTS) == 12
    one = next(one for one in found if one["id"] == "tool_http_get")
    assert {name: value for name, value in one.items() if name not in {"created_at", "description"}} == {
        "id": "tool_http_get",
        "name": "HTTP GET",
        "input_schema": {"url": "string"},
        "output_schema": {"status": "int", "body": "string"},
        "permissions": ["net:read"],
        "safety_level": "low",
        "created_by": "system",
    }
    seen = {one["id"] for one in http.get("/api/v1/tools", headers=BOT).json()["tools"]}
    assert ("tool_file_read" in seen, "tool_docker_list" in seen, "tool_codegen" in seen) == (True, False, False)


def test_invocations_in_hdns_fields(http: httpx.Client, workspace: Path) -> None:
    """Arguments and answers as HDN writes them, calls through the gate."""
    (workspace / "sub").mkdir(exist_ok=True)
    (workspace / "sub" / "a.txt").write_text("one\ntwo\n")

    assert invoke(http, "tool_file_write", path="sub/b.txt", content="é!") == (200, {"written": 3})
    assert invoke(http, "tool_file_read", path="sub/a.txt") == (200, {"content": "one\ntwo\n"})
    assert invoke(http, "tool_ls", path="sub") == (200, {"entries": ["a.txt", "b.txt"]})
    assert invoke(http, "tool_text_search", pattern="t.o", text="one\ntwo\n") == (200, {"matches": ["two"]})
    assert invoke(http, "tool_json_parse", text='{"a": [1]}') == (200, {"object": {"a": [1]}})
    assert invoke(http, "tool_exec", cmd="echo hi") == (200, {"stdout": "hi\n", "stderr": "", "exit_code": 0})
    assert invoke(http, "tool_exec", cmd="false") == (200, {"stdout": "", "stderr": "", "exit_code": 1})


def test_refusals(http: httpx.Client) -> None:
    """Each with its status, its reason and the call's id."""

    def refused(name: str, **args: Any) -> tuple[int, str, bool]:
        status, body = invoke(http, name, **args)
        assert body.keys() == {"error", "reason", "call_id"}
        return status, body["reason"], body["call_id"] is not None

    assert refused("tool_http_get", url=5) == (400, "invalid_arguments", True)
    assert invoke(http, "tool_http_get", url=5)[1]["error"] == "url required"
    assert invoke(http, "tool_file_read", path="nowhere")[1]["error"] == "file not found"
    assert refused("tool_file_read", path="nowhere") == (404, "path_not_found", True)
    assert refused("tool_file_read", path=".") == (400, "is_directory", True)
    assert refused("tool_ls", path="") == (400, "invalid_path", True)
    assert refused("tool_json_parse", text="{") == (400, "invalid_json", True)
    assert refused("tool_json_parse", text='{"a": 1, "a": 2}') == (400, "duplicate_key", True)
    assert refused("tool_json_parse", text="1e999") == (400, "number_out_of_range", True)
    assert refused("tool_json_parse", text="[" * 2_000) == (400, "json_too_deep", True)
    assert refused("tool_file_read", path="/etc/passwd") == (403, "path_outside_workspace", True)
    assert refused("tool_http_get", url="http://127.0.0.1/") == (403, "private_address", True)
    assert refused("tool_exec", cmd="rm -rf /") == (403, "denied_by_floor", True)
    assert refused("tool_exec", cmd="sleep 20") == (504, "timed_out", True)
    assert refused("tool_codegen", spec="x") == (501, "not_implemented", True)
    assert refused("tool_docker_list", type="images") == (501, "not_implemented", True)
    assert refused("tool_docker_build", path=".") == (501, "not_implemented", True)
    assert register(http, BOT, id="gone", exec={"type": "cmd", "cmd": "no-such-program", "args": []}).status_code == 200
    assert refused("gone") == (501, "program_not_found", True)
    http.delete("/api/v1/tools/gone", headers=BOT)
    assert refused("nope") == (404, "unknown_tool", False)


def test_too_many_calls(http: httpx.Client) -> None:
    """The answer of either interface says when to come again: in the seconds that the message names, not in as many as calls are allowed."""
    routes = [
        ("/api/v1/tools/tool_ls/invoke", {"path": "."}),
        ("/v1/tools/invoke", {"tool": "list_files", "args": {"path": "."}, "agentId": "other"}),
    ]
    url, body = routes[0]
    answers = [http.post(url, json=body, headers=OTHER | {"X-Agent-ID": "other"}).status_code for _ in range(70)]
    refused = [http.post(url, json=body, headers=OTHER | {"X-Agent-ID": "other"}) for url, body in routes]

    assert set(answers) == {200}
    assert [(one.status_code, one.json()["reason"]) for one in refused] == [(429, "rate_limited")] * 2
    for one in refused:
        told = re.search(r"try again in (\d+) s", one.json()["error"])
        assert told
        assert one.headers["Retry-After"] == told[1]


def test_the_life_of_an_agents_tool(http: httpx.Client) -> None:
    """It is there at once for the agents of the tenant; its maker alone changes it, and it or an operator deletes it."""
    made = register(http, BOT, id="greet", exec=ECHO, permissions=["fs:read"], created_by="system")
    assert (made.status_code, made.json()["success"], made.json()["tool"]["created_by"]) == (200, True, "agent")
    assert invoke(http, "greet", OTHER, name="Ann") == (200, {"output": "hello Ann\n"})
    assert invoke(http, "greet", name="-x") == (200, {"output": "hello -x\n"})

    assert register(http, OTHER, id="greet", exec=ECHO).json()["reason"] == "exists"
    assert register(http, OPERATOR, id="greet", exec=ECHO).status_code == 409
    assert register(http, BOT, id="greet", exec={**ECHO, "cmd": "cat"}).status_code == 409
    assert register(http, BOT, id="greet", exec=ECHO, description="Greets.").status_code == 200

    assert http.delete("/api/v1/tools/greet", headers=OTHER).status_code == 403
    gone = http.delete("/api/v1/tools/greet", headers=BOT)
    assert (gone.status_code, gone.json()) == (200, {"success": True, "deleted": "greet"})
    assert invoke(http, "greet", name="Ann")[0] == 404


def test_what_cannot_be_deleted(http: httpx.Client) -> None:
    """Tools of the system, and those that there are not."""
    answers = [http.delete(f"/api/v1/tools/{name}", headers=OPERATOR) for name in ("tool_ls", "nope")]

    assert [(one.status_code, one.json()["reason"]) for one in answers] == [(403, "not_owner"), (404, "unknown_tool")]


@pytest.mark.parametrize(
    ("values", "status", "reason"),
    [
        pytest.param({"id": "a b"}, 400, "invalid_record", id="no id"),
        pytest.param({"id": "x", "created_by": "root"}, 400, "created_by_unknown", id="another maker"),
        pytest.param({"id": "x", "owner": "me"}, 400, "invalid_record", id="an unknown field"),
        pytest.param(
            {"id": "x", "exec": {"type": "cmd", "cmd": "sh", "args": ["-c", "{l}"]}},
            400,
            "code_is_placeholder",
            id="a shell",
        ),
        pytest.param({"id": "read_file", "exec": ECHO}, 409, "name_conflict", id="the name of a tool"),
        pytest.param({"id": "Tool_File_Read", "exec": ECHO}, 409, "name_conflict", id="another name of a tool"),
        pytest.param({"id": "bash", "exec": ECHO}, 409, "name_conflict", id="the shell"),
        pytest.param({"id": "mcp", "exec": ECHO}, 400, "invalid_record", id="a word of the rules"),
    ],
)
def test_what_is_not_registered(http: httpx.Client, values: dict[str, Any], status: int, reason: str) -> None:
    """And why."""
    answer = register(http, OPERATOR, **values)

    assert (answer.status_code, answer.json()["reason"]) == (status, reason)


def test_who_may(http: httpx.Client) -> None:
    """Who looks on changes nothing and calls nothing; who narrows its scopes keeps to them."""
    assert register(http, VIEWER, id="x", exec=ECHO).status_code == 403
    assert http.post("/api/v1/tools/discover", headers=BOT).status_code == 403
    assert invoke(http, "tool_ls", VIEWER)[0] == 403
    assert http.get("/api/v1/tools").status_code == 401


def test_another_tenants_tools_are_not_seen(http: httpx.Client) -> None:
    """Whoever asks."""
    stranger = identity_headers("eve", "viewer", tenant="nobody")

    assert http.get("/api/v1/tools", headers=stranger).json() == {"tools": []}


def test_discovery_brings_back_the_minimum(
    http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a wipe; and what docker makes possible, where it does."""
    monkeypatch.setenv("EXECUTION_METHOD", "docker")
    store = service.store("acme")
    engine: Any = service._stores.engine  # type: ignore[attr-defined]
    engine.content.rows = {key: row for key, row in engine.content.rows.items() if key[1] != "tool"}
    assert http.get("/api/v1/tools", headers=VIEWER).json() == {"tools": []}

    found = http.post("/api/v1/tools/discover", headers=OPERATOR).json()

    ids = ["tool_http_get", "tool_file_read", "tool_ls", "tool_docker_exec"]
    assert (found["success"], [one["id"] for one in found["discovered"]]) == (True, ids)
    assert [one["id"] for one in http.get("/api/v1/tools", headers=VIEWER).json()["tools"]] == sorted(ids)
    assert store.last_change() > 0


def test_another_process_is_heard_within_a_second(http: httpx.Client, service: Service) -> None:
    """What it writes into the store becomes a tool here."""
    actor = Actor("elsewhere")
    write(service.store("acme"), parse_record({"id": "far", "exec": ECHO}, actor=actor, now="2026"), actor, "2026")
    until = time.monotonic() + 60
    while invoke(http, "far", name="x")[0] != 200 and time.monotonic() < until:
        time.sleep(0.05)

    assert invoke(http, "far", name="x") == (200, {"output": "hello x\n"})


CURL = """
curl -s -X POST http://localhost:8081/api/v1/tools -H 'Content-Type: application/json' -d '{
    "id":"tool_http_get", "name":"HTTP GET", "description":"Fetch URL", "input_schema":{"url":"string"},
    "output_schema":{"status":"int","body":"string"}, "permissions":["net:read"], "safety_level":"low",
    "created_by":"system" }'
"""


def test_hdns_curl_line(place: Path) -> None:
    """Registers HTTP GET again, as the operator of a service in development."""
    folder = place / "developing"
    folder.mkdir()
    service = Service(configured(folder, {"bot": PROFILE}), stores=StoreHandle(MemoryEngine), dev=True)
    with serving(create_app(service)) as url:
        body = json.loads(CURL.partition("-d '")[2].rpartition("'")[0])
        answer = httpx.post(f"{url}/api/v1/tools", json=body, timeout=60)
        refused = httpx.post(f"{url}/api/v1/tools/tool_http_get/invoke", json={"url": "https://127.0.0.1"}, timeout=60)

    assert (answer.status_code, answer.json()["success"], answer.json()["tool"]["description"]) == (
        200,
        True,
        "Fetch URL",
    )
    assert "x-toolcharter-warning" in answer.headers
    assert refused.json()["reason"] == "private_address"
