"""What sample set 001 asks its principles service before a tool runs, against a real service, and what it permits a tool."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cases.conftest import Bench, make_tool
from tests.samples import row_params, sample_rows

from toolcharter import Call, Caller, Deny
from toolcharter_principles import SPEC
from toolcharter_principles.check import Principles

ROWS = sample_rows("seeds/001-permissions")

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
    "001-permissions-016": "design, section 4, lists of capabilities: [`*`] is all; as in `cap:fs:*`, a star is a glob.",
    "001-permissions-053": "design, section 5: capabilities are stage 3, plugin checks stage 4; both deny.",
    "001-permissions-055": "design, section 4: availability is for provider, agent, group and depth; scopes are groups.",
}


def params(key: str) -> list[Any]:
    return row_params([row for row in ROWS if key in row["input"]])


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
def test_permissions_are_looked_at_before_principles(
    row: Any, service: Service, bench: Bench, monkeypatch: Any
) -> None:
    """What the list does not permit is refused before the service, which would refuse it too, hears of it."""
    service.words = ["invoke_tool:"]
    monkeypatch.setenv("ALLOWED_TOOL_PERMS", row["input"]["ALLOWED_TOOL_PERMS"])
    check = Principles(SPEC.policy.from_profile({"url": service.url}))
    tool = make_tool("tool_x", capabilities=row["input"]["permissions"])

    toolbox = bench.open({}, tool, plugins={"principles": check})
    result = toolbox.call("tool_x", {})

    assert row["expect"]["decision"] == "deny"
    assert (result.outcome, result.reason) == ("denied", "capability_not_allowed")
    assert service.asked == []
    assert row["id"] in SUPERSEDED


def test_principles_are_asked_about_what_the_list_permits(service: Service, bench: Bench, monkeypatch: Any) -> None:
    """The same call under a list that holds its permission: now the service is asked, and refuses."""
    service.words = ["invoke_tool:"]
    monkeypatch.setenv("ALLOWED_TOOL_PERMS", "net:read, fs:write")
    check = Principles(SPEC.policy.from_profile({"url": service.url}))

    toolbox = bench.open({}, make_tool("tool_x", capabilities=["fs:write"]), plugins={"principles": check})
    result = toolbox.call("tool_x", {})

    assert (result.outcome, result.reason) == ("denied", "blocked_by_principles")
    assert [asked["action"] for asked in service.asked] == ["invoke_tool:tool_x"]


def permitted(
    bench: Bench, monkeypatch: Any, perms: str | None, permissions: list[str] | None
) -> tuple[str, Any, bool]:
    """What becomes of a call of a tool with *permissions*, for which reason, and whether the tool is listed."""
    if perms is not None:
        monkeypatch.setenv("ALLOWED_TOOL_PERMS", perms)
    toolbox = bench.open({}, make_tool("tool_x", capabilities=permissions))
    result, decision = toolbox.call("tool_x", {}), toolbox.decide("tool_x", {})
    assert {"ok": "allow", "denied": "deny"}[result.outcome] == decision.outcome
    return decision.outcome, result.reason, "tool_x" in toolbox


@pytest.mark.parametrize(
    "row", [one for one in params("ALLOWED_TOOL_PERMS") if "principles" not in one.values[0]["input"]]
)
def test_list_of_permissions(row: Any, bench: Bench, monkeypatch: Any) -> None:
    """The environment's list permits what the source's does; a tool that it refuses is not listed, either."""
    given, wanted = row["input"], row["expect"]["decision"]
    if row["id"] in SUPERSEDED:
        assert row["unified"]["decision"] == "either"
        wanted = "allow"

    found = permitted(bench, monkeypatch, given["ALLOWED_TOOL_PERMS"], given["permissions"])

    assert found == (wanted, "capability_not_allowed" if wanted == "deny" else None, wanted == "allow")


@pytest.mark.parametrize(
    ("perms", "permissions", "wanted"),
    [
        pytest.param(None, ["fs:write"], "allow", id="no variable"),
        pytest.param("", ["fs:write"], "allow", id="empty"),
        pytest.param("\t\n", ["fs:write"], "allow", id="white space"),
        pytest.param(",", ["fs:read"], "deny", id="a list of nothing"),
        pytest.param(" , ,", ["fs:read"], "deny", id="more of nothing"),
        pytest.param("fs:read", ["fs:read"], "allow", id="listed"),
        pytest.param(" fs:read ,net:read ", ["net:read", "fs:read"], "allow", id="both, with blanks"),
        pytest.param("fs:read,fs:read", ["fs:read"], "allow", id="twice"),
        pytest.param("fs:read net:read", ["fs:read"], "deny", id="no comma"),
        pytest.param("fs:readable", ["fs:read"], "deny", id="longer"),
        pytest.param("fs:rea", ["fs:read"], "deny", id="shorter"),
        pytest.param("*", ["docker", "fs:write"], "allow", id="all"),
        pytest.param("net:*", ["fs:read"], "deny", id="others"),
        pytest.param("docker", ["docker:build"], "deny", id="a part"),
        pytest.param("fs:read", [], "allow", id="needs nothing"),
        # The source allows it: no metadata, no permissions. Here, design, section 3: "No declaration ... none in allow".
        pytest.param("fs:read", None, "deny", id="declares nothing"),
        pytest.param(None, None, "allow", id="declares nothing, no list"),
    ],
)
def test_more_lists_of_permissions(perms: Any, permissions: Any, wanted: str, bench: Bench, monkeypatch: Any) -> None:
    """Each permission has to be listed; a list of nothing permits nothing, and no list anything."""
    found = permitted(bench, monkeypatch, perms, permissions)

    assert found == (wanted, "capability_not_allowed" if wanted == "deny" else None, wanted == "allow")


@pytest.mark.parametrize(
    "row", [one for one in params("headers") if "X-Caller-Scopes" in one.values[0]["input"]["headers"]]
)
def test_scopes_are_groups(row: Any, bench: Bench) -> None:
    """What a scope must not call is not available to callers of that group, and is to the others."""
    scope, tool = row["input"]["headers"]["X-Caller-Scopes"], row["input"]["invoke"]

    toolbox = bench.open({"availability": [{"for": {"group": [scope]}, "deny": [tool]}]}, make_tool(tool))
    decisions = [toolbox.for_caller(Caller(group=group)).decide(tool, {}) for group in (scope, "others", None)]

    assert row["unified"]["decision"] == decisions[0].outcome
    assert [decision.reason for decision in decisions] == ["not_available", None, None]


def test_each_row_is_accounted_for() -> None:
    """A row is tried above, or the design decides it otherwise."""
    tried = {row["id"] for row in ROWS if {"action", "safety_level", "ALLOWED_TOOL_PERMS"} & row["input"].keys()}

    assert {row["id"] for row in ROWS} - tried <= set(SUPERSEDED)
