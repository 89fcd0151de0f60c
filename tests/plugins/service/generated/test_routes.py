"""`/api/v1/interpret/execute` and `/api/v1/proposals`: off by default, governed, and a tool only after a review."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import PROFILE, configured, serving

from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.generated.rule import build_record
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow

RUNS = """
profile: runs
runner: bwrap
tools: {execute_code: {languages: [python]}, read_file: {}}
extensions: {registry: {extend: true}}
allow: ["bash:python3 -", "custom:*"]
"""
BOT, OTHER = (identity_headers(f"{name}-token", "caller", agents=[name]) for name in ("bot", "reviewer"))
ANN, VIC = identity_headers("ann", "approver"), identity_headers("vic", "viewer")
BOUND = identity_headers("bea", "approver", agents=["reviewer"])
CODE = '''def parse_lines(text=""):
    """Parse lines of JSON."""
    return {"lines": text.splitlines()}

'''


@pytest.fixture(scope="module")
def engine() -> MemoryEngine:
    return MemoryEngine()


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory, engine: MemoryEngine) -> Iterator[httpx.Client]:
    place: Path = tmp_path_factory.mktemp("generated")
    interpret = {"enabled": True, "proposals": True, "max_pending": 2}
    file = configured(place, {"bot": RUNS, "reviewer": PROFILE}, interpret=interpret)
    service = Service(file, stores=StoreHandle(lambda: engine))
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        yield client


def execute(http: httpx.Client, code: str, who: dict[str, str] = BOT, **more: Any) -> httpx.Response:
    return http.post("/api/v1/interpret/execute", json={"code": code, **more}, headers=who)


def review(http: httpx.Client, proposal: str, who: dict[str, str], decision: str = "approve") -> httpx.Response:
    return http.post(f"/api/v1/proposals/{proposal}", json={"decision": decision}, headers=who)


def test_is_off_by_default(url: str) -> None:
    """Whatever the profile allows."""
    answer = httpx.post(f"{url}/api/v1/interpret/execute", json={"code": "1"}, timeout=60)
    assert (answer.status_code, answer.json()["reason"]) == (403, "interpret_disabled")


def test_the_life_of_a_proposal(http: httpx.Client) -> None:
    """Code runs, is proposed, waits, and is a tool as soon as an approver who is somebody else has agreed; once."""
    ran = execute(http, CODE + "print(parse_lines('a'))", description="Splits lines.")
    assert ran.status_code == 200, ran.text
    said = ran.json()
    tool = said["proposed_tool"]
    assert (said["success"], said["tool_candidate"], said["why_not"]) == (True, True, None)
    assert said["result"]["stdout"] == "{'lines': ['a']}\n"
    assert execute(http, CODE + "print(parse_lines('a'))").json()["proposed_tool"] == tool
    call = {"tool": tool, "args": {"stdin": '{"text": "x\\ny"}'}}
    assert http.post("/v1/calls", json=call, headers=BOT).json()["reason"] == "unknown_tool"
    assert [review(http, tool, who).status_code for who in (BOT, VIC, BOUND)] == [403, 403, 404]
    own = identity_headers("bot-token", "approver")
    assert review(http, tool, own).json()["reason"] == "own_proposal"
    [shown] = http.get("/api/v1/proposals?status=pending", headers=ANN).json()["proposals"]
    assert (shown["id"], shown["agent"], shown["code"].startswith(CODE)) == (tool, "bot", True)
    assert shown["tool"]["permissions"] == []
    assert http.get("/api/v1/proposals", headers=BOUND).json()["proposals"] == []
    approved = review(http, tool, ANN)
    assert (approved.status_code, approved.json()["status"], approved.json()["reviewed_by"]) == (200, "approved", "ann")
    assert review(http, tool, ANN).json()["reason"] == "reviewed"
    made = http.post("/v1/calls", json=call, headers=BOT).json()
    assert (made["outcome"], made["data"]) == ("ok", {"lines": ["x", "y"]})
    assert "has reviewed" in execute(http, CODE + "print(parse_lines('a'))").json()["why_not"]


def test_what_was_rejected_is_not_proposed_again(http: httpx.Client) -> None:
    """And is no tool."""
    tool = execute(http, CODE + "# rejected\n").json()["proposed_tool"]
    assert review(http, tool, ANN, "reject").json()["status"] == "rejected"
    assert "rejected" in execute(http, CODE + "# rejected\n").json()["why_not"]
    called = http.post("/v1/calls", json={"tool": tool, "args": {}}, headers=BOT).json()
    assert called["reason"] == "unknown_tool"


def test_what_is_not_proposed(http: httpx.Client) -> None:
    """Code that failed, that is trivial, or whose tool a reader could not see as it is."""
    failed = execute(http, CODE + "raise SystemExit(3)").json()
    assert (failed["success"], failed["tool_candidate"]) == (False, False)
    assert "fewer than 60" in execute(http, "print(1)").json()["why_not"]
    hidden = execute(http, CODE, description="Reads \u202efiles").json()
    assert "description" in hidden["why_not"]
    named = execute(http, CODE.replace("parse_lines", "read_file")).json()
    assert "read_file" in named["why_not"]


def test_proposals_are_bounded(http: httpx.Client) -> None:
    """An agent cannot fill the store, or a reviewer's day."""
    found = [execute(http, f"{CODE}# {number}\n").json() for number in range(3)]
    assert [one["tool_candidate"] for one in found] == [True, True, False]
    assert "wait for a review" in found[2]["why_not"]


def test_profile_decides_what_runs(http: httpx.Client) -> None:
    """An agent whose profile has no such tool, a language that it has not, and who may not call."""
    assert execute(http, CODE, OTHER).status_code == 404
    refused = execute(http, "ls", language="bash")
    assert (refused.status_code, refused.json()["reason"]) == (403, "not_in_allow")
    assert execute(http, CODE, VIC).status_code == 403
    assert http.post(
        "/api/v1/interpret/execute", json={"code": CODE, "permissions": ["net"]}, headers=BOT
    ).status_code in {
        400,
        422,
    }


def test_nobody_registers_what_nobody_has_read(http: httpx.Client) -> None:
    """A record whose hash is right comes from a review all the same, whoever sends it."""
    record = build_record(CODE + "# unread", "", "", "2026-01-01T00:00:00Z").model_dump(mode="json")
    for who in (BOT, identity_headers("olga", "operator"), identity_headers("root", "admin")):
        refused = http.post("/api/v1/tools", json=record, headers=who)
        assert (refused.status_code, refused.json()["reason"]) == (400, "invalid_record")
    bent = {**record, "exec": {**record["exec"], "args": ["-c", "import os"]}}
    assert http.post("/api/v1/tools", json=bent, headers=BOT).status_code == 400
