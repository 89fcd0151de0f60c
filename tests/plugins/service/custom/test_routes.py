"""Custom tools over HTTP: who makes them, for whom, and what is never shown."""

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
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow

PROFILE = """
profile: custom
description: Custom tools.
runner: host
extensions: {registry: {extend: true}}
tools: {read_file: {}}
allow: ["custom:*"]
"""
OPERATOR = identity_headers("ann", "operator")
VIEWER = identity_headers("vic", "viewer")
BOT, OTHER = (identity_headers(f"{name}-token", "caller", agents=[name]) for name in ("bot", "other"))
SECRET = "".join(chr(97 + number * 11 % 26) for number in range(24))
SAY: dict[str, Any] = {"name": "say", "command": "echo {{.x}}", "parameters": {"x": "string"}}


@pytest.fixture(scope="module")
def engine_of_all() -> MemoryEngine:
    return MemoryEngine()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, engine_of_all: MemoryEngine) -> Service:
    place: Path = tmp_path_factory.mktemp("custom")
    return Service(configured(place, {"bot": PROFILE, "other": PROFILE}), stores=StoreHandle(lambda: engine_of_all))


@pytest.fixture(scope="module")
def http(service: Service) -> Iterator[httpx.Client]:
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        yield client


def make(http: httpx.Client, **values: Any) -> httpx.Response:
    return http.post("/v1/tools/custom", json=values, headers=OPERATOR)


def call(http: httpx.Client, headers: dict[str, str], tool: str, /, **args: Any) -> dict[str, Any]:
    answer: dict[str, Any] = http.post("/v1/calls", json={"tool": tool, "args": args}, headers=headers).json()
    return answer


def test_the_life_of_a_custom_tool(http: httpx.Client) -> None:
    """Of all agents: it is there at once, a change asks a person, and it goes at once."""
    made = make(http, **SAY, description="Says.", timeout_seconds=10)
    assert (made.status_code, made.json()) == (
        201,
        {
            "id": "say",
            "name": "say",
            "description": "Says.",
            "parameters": {"x": "string"},
            "command": "echo {{.x}}",
            "timeout_seconds": 10.0,
            "working_dir": "",
            "env": [],
            "enabled": True,
            "agent_id": None,
        },
    )
    assert http.get("/v1/tools/custom/say", headers=VIEWER).json() == made.json()
    assert call(http, BOT, "say", x="a; id")["text"] == "a; id\n"
    assert call(http, OTHER, "say", x="b")["text"] == "b\n"

    changed = http.put("/v1/tools/custom/say", json={**SAY, "command": "echo more {{.x}}"}, headers=OPERATOR)
    assert changed.status_code == 200
    decision = http.post("/v1/decide", json={"tool": "say", "args": {"x": "a"}}, headers=BOT).json()
    assert (decision["outcome"], decision["reason"]) == ("ask", "precondition_failed")

    assert http.delete("/v1/tools/custom/say", headers=OPERATOR).json() == {"deleted": "say"}
    assert call(http, BOT, "say", x="a")["reason"] == "unknown_tool"
    assert http.delete("/v1/tools/custom/say", headers=OPERATOR).status_code == 404


def test_of_one_agent(http: httpx.Client, service: Service) -> None:
    """The others do not have it, and still share one toolbox."""
    made = make(http, **{**SAY, "name": "own"}, agent_id="bot")

    assert (made.status_code, made.json()["id"]) == (201, "bot.own")
    assert call(http, BOT, "own", x="a")["text"] == "a\n"
    assert call(http, OTHER, "own", x="a")["reason"] == "unknown_tool"
    assert service.toolbox("acme", "bot") is not service.toolbox("acme", "other")
    assert make(http, **{**SAY, "name": "own"}, agent_id="other").status_code == 201
    assert make(http, **{**SAY, "name": "Own"}).json()["reason"] == "name_conflict"
    assert [one["id"] for one in http.get("/v1/tools/custom?agent_id=bot", headers=VIEWER).json()["tools"]] == [
        "bot.own"
    ]


def test_a_secret_environment(http: httpx.Client, engine_of_all: MemoryEngine) -> None:
    """It is encrypted in the store, never shown, and kept by a change that does not name it."""
    made = make(http, name="keyed", command='test "$KEY" && echo "has $KEY"', env={"KEY": SECRET})
    body = {"name": "keyed", "command": 'test "$KEY" && echo "still $KEY"', "agent_id": None}
    answers = [made, http.get("/v1/tools/custom", headers=VIEWER), http.get("/v1/tools/custom/keyed", headers=VIEWER)]
    assert made.json()["env"] == ["KEY"]
    assert call(http, BOT, "keyed")["text"].startswith("has [")

    answers.append(http.put("/v1/tools/custom/keyed", json=body, headers=OPERATOR))
    assert answers[-1].json()["env"] == ["KEY"]
    assert SECRET not in "".join(one.text for one in answers)
    assert not any(SECRET in row.document for row, *_ in engine_of_all.content.rows.values())


@pytest.mark.parametrize(
    ("values", "status", "reason"),
    [
        pytest.param({"command": "echo '{{.x}}'"}, 400, "placeholder_in_quotes", id="in quotes"),
        pytest.param({"command": "echo {{x}}"}, 400, "bad_placeholder", id="no place"),
        pytest.param({"command": "echo {{.y}}"}, 400, "invalid_record", id="no parameter"),
        pytest.param({"command": "sh -c {{.x}}"}, 400, "code_is_placeholder", id="a shell"),
        pytest.param({"command": "eval {{.x}}"}, 400, "code_is_placeholder", id="eval"),
        pytest.param({"command": "ls | xargs {{.x}}"}, 400, "code_is_placeholder", id="xargs"),
        pytest.param({"command": "python3 -c {{.x}}"}, 400, "code_is_placeholder", id="python"),
        pytest.param({"command": "( {{.x}}"}, 400, "code_is_placeholder", id="no line"),
        pytest.param({"name": "bash"}, 409, "name_conflict", id="the shell"),
        pytest.param({"name": "READ_FILE"}, 409, "name_conflict", id="a tool in other letters"),
        pytest.param({"name": "tool_exec"}, 409, "name_conflict", id="another name of a tool"),
        pytest.param({"name": "tool_codegen"}, 409, "name_conflict", id="a registered tool"),
        pytest.param({"name": "group"}, 400, "invalid_record", id="a word of the rules"),
        pytest.param({"name": "a/b"}, 400, "invalid_record", id="no name"),
        pytest.param({"env": {"LD_PRELOAD": "x"}}, 400, "invalid_record", id="a reserved variable"),
        pytest.param({"working_dir": "../x"}, 400, "invalid_record", id="a folder elsewhere"),
        pytest.param({"timeout_seconds": -1}, 400, "invalid_record", id="no time"),
        pytest.param({"agent_id": "nobody"}, 404, "unknown_agent", id="no agent"),
        pytest.param({"agent_id": "*"}, 404, "unknown_agent", id="no agent's name"),
        pytest.param({"scope": "*"}, 400, "invalid_request", id="an unknown field"),
    ],
)
def test_what_is_not_made(http: httpx.Client, values: dict[str, Any], status: int, reason: str) -> None:
    """And why."""
    answer = make(http, **{**SAY, "name": "refused", **values})

    assert (answer.status_code, answer.json()["reason"]) == (status, reason)
    assert http.get("/v1/tools/custom/refused", headers=VIEWER).status_code == 404


def test_who_may(http: httpx.Client) -> None:
    """Operators write, who looks on reads, agents call."""
    for headers, status in ((BOT, 403), (VIEWER, 403), ({}, 401)):
        assert http.post("/v1/tools/custom", json=SAY, headers=headers).status_code == status
    assert http.get("/v1/tools/custom", headers=BOT).status_code == 403
    assert http.get("/v1/tools/custom", headers=identity_headers("eve", "viewer", tenant="nobody")).json() == {
        "tools": []
    }


def test_a_change_keeps_name_and_agent(http: httpx.Client) -> None:
    """Else it is another tool."""
    assert make(http, **{**SAY, "name": "kept"}).status_code == 201
    for values in ({"name": "other"}, {"name": "kept", "agent_id": "bot"}):
        answer = http.put("/v1/tools/custom/kept", json={**SAY, **values}, headers=OPERATOR)
        assert (answer.status_code, answer.json()["reason"]) == (400, "invalid_record")
    assert http.put("/v1/tools/custom/nope", json=SAY, headers=OPERATOR).status_code == 404
