"""What source 001 asks its principles service before a tool runs, row by row, against a real service."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Call, Caller, Deny, build_tools
from toolcharter_principles import SPEC
from toolcharter_principles.check import Principles

SAMPLES = Path(__file__).parents[2].parent / "shared/cases/seeds/001-permissions.jsonl"
ROWS = [json.loads(line) for line in SAMPLES.read_text().splitlines()] if SAMPLES.exists() else []

pytestmark = pytest.mark.skipif(not ROWS, reason="the samples lie beside the project, not in it")

# The source's client has these words; here they stand for what some service may hold against a name.
# Source: 001, hdn/main.go, isHarmfulAction.
KEYWORDS = [
    "harm",
    "hurt",
    "injure",
    "damage",
    "destroy",
    "kill",
    "attack",
    "strike",
    "hit",
    "punch",
    "kick",
    "dangerous",
    "unsafe",
]

# Rows that the design decides otherwise, each with the sentence that does.
SUPERSEDED = {
    "001-permissions-053": "design, section 5: capabilities are stage 3, plugin checks stage 4; both deny.",
    "001-permissions-055": "design, section 4: availability is for provider, agent, group and depth; scopes are groups.",
}


def params(key: str) -> list[Any]:
    return [pytest.param(row, id=row["id"]) for row in ROWS if key in row["input"]]


class Service:
    """Answers as the source's service does; blocks an action if one of *words* stands in it."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.asked: list[dict[str, Any]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append(asked)
                found = [f"Contains {word}." for word in service.words if word in asked["action"].lower()]
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps({"reasons": found} if found else {"result": "Action performed"}).encode())

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def look(self, tool: str, *, caller: Caller | None = None, **facts: Any) -> Deny | None:
        """What the check says of a call of *tool*."""
        call = Call(
            tool=tool,
            action=None,
            args={},
            caller=caller or Caller(),
            call_id="c-1",
            parent_id=None,
            profile="p",
            workspace=Path(),
            kind="builtin",
            capabilities=facts.get("capabilities"),
            safety=facts.get("safety", "high"),
        )
        check = Principles(SPEC.policy.from_profile({"url": self.url}))
        return asyncio.run(check.check_call(call))


@pytest.fixture
def service() -> Iterator[Service]:
    started = Service()
    thread = threading.Thread(target=started.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield started
    started.server.shutdown()
    started.server.server_close()
    thread.join()


@pytest.mark.parametrize("row", params("action"))
def test_a_service_that_objects_to_a_name_denies(row: Any, service: Service) -> None:
    """With the source's words in the service, each name has the source's outcome."""
    service.words = KEYWORDS

    answer = service.look(row["input"]["action"].removeprefix("invoke_tool:"))

    assert [asked["action"] for asked in service.asked] == [row["input"]["action"]]
    assert ("allow" if answer is None else "deny") == row["expect"]["decision"]
    assert answer is None or answer.reason == "blocked_by_principles"


@pytest.mark.parametrize("row", params("action"))
def test_a_name_alone_denies_nothing(row: Any, service: Service) -> None:
    """A word within a word is no harm: where the service has no objection, `pharmacy` passes."""
    assert service.look(row["input"]["action"].removeprefix("invoke_tool:")) is None


@pytest.mark.parametrize("row", params("safety_level"))
def test_the_context_is_the_sources(row: Any, service: Service) -> None:
    """Action and context arrive letter by letter as the source sends them."""
    given, headers = row["input"], row["input"]["headers"]
    caller = Caller(agent=headers.get("X-Agent-ID"), project=headers.get("X-Project-ID"))

    answer = service.look(
        given["invoke"], caller=caller, capabilities=frozenset(given["permissions"]), safety=given["safety_level"]
    )

    assert answer is None
    assert [{key: asked[key] for key in row["expect"]} for asked in service.asked] == [row["expect"]]


@pytest.mark.parametrize("row", params("principles"))
def test_principles_and_permissions_both_deny(row: Any, service: Service, tmp_path: Path, monkeypatch: Any) -> None:
    """Whoever is asked first, what one of the two refuses does not run."""
    service.words = ["invoke_tool:"]
    monkeypatch.setenv("ALLOWED_TOOL_PERMS", row["input"]["ALLOWED_TOOL_PERMS"])
    (tmp_path / "poem.txt").write_text("Roses are red\n")
    profile = tmp_path / "p.yaml"
    profile.write_text(f"profile: p\ntools:\n  read_file: {{}}\nextensions:\n  principles: {{url: '{service.url}'}}\n")

    with build_tools(profile, workspace=tmp_path, events=list[Any]().append) as toolbox:
        result = toolbox.call("read_file", {"path": "poem.txt"})

    outcome = {"ok": "allow", "denied": "deny"}
    assert outcome[result.outcome] == row["expect"]["decision"]
    assert result.reason in {"blocked_by_principles", "capability_not_allowed"}
    assert row["id"] in SUPERSEDED


def test_each_row_about_principles_is_accounted_for() -> None:
    """A row is tried above, or the design decides it otherwise; the others are about permissions alone."""
    tried = {row["id"] for row in ROWS if {"action", "safety_level"} & row["input"].keys()}
    permissions = {row["id"] for row in ROWS if "ALLOWED_TOOL_PERMS" in row["input"]}

    assert {row["id"] for row in ROWS} - permissions - tried <= set(SUPERSEDED)
