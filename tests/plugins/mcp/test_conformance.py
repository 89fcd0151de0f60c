"""The tools that the protocol's makers have for servers: their suite of conformance, and the Inspector.

`make clients` installs them; elsewhere these tests are skipped.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from toolcharter.hosts import open_host
from toolcharter_mcp.http import build_application, parse_address
from toolcharter_mcp.server import ProfileServer

from ..guard.test_real_clients import Desk, client  # noqa: TID252 - the tests are no package with a name
from .serving import NAMES, TOKEN, server_args, serving

PROFILE = """
profile: conformance
description: The tools that the suite calls, as far as ours can be like them.
runner: host
tools: {}
extensions:
  cli_tools:
    tools:
      test_simple_text: {description: Say it., command: printf, args: [This is a simple text response for testing.]}
      test_error_handling: {description: Fail., command: "false"}
      test_tool_with_progress: {description: Take a while., command: sleep, args: ["3"]}
      test_input_required_result_elicitation: {description: Ask first., command: "true"}
      test_input_required_result_request_state: {description: Ask first., command: "true"}
      test_input_required_result_tampered_state: {description: Ask first., command: "true"}
ask: ["cli:test_input_required*"]
allow: ["cli:*"]
"""
SCENARIOS = {
    "2025-11-25": {
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "tools-call-simple-text",
        "tools-call-error", "server-sse-multiple-streams", "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless", "caching", "http-header-validation", "tools-list", "tools-call-simple-text",
        "tools-call-error", "tools-call-with-progress", "server-sse-multiple-streams", "dns-rebinding-protection",
        "input-required-result-request-state", "input-required-result-tampered-state",
        "input-required-result-missing-input-response", "input-required-result-result-type",
        "input-required-result-unsupported-methods", "input-required-result-validate-input",
    },
}  # fmt: skip
"""Those of the suite that a server of tools can be asked, by the version of the protocol."""
NOT_OURS = {
    # A tool that wants the client's model; ours has none.
    "sep-2575-server-rejects-undeclared-capability": "test_missing_capability",
    "sep-2575-missing-capability-http-400": "test_missing_capability",
    # The suite finds no tool that changes the list; test_reload.py has one.
    "sep-2575-server-sends-tools-list-changed-on-subscription": "Mutated the tool list",
    # We serve neither prompts nor resources.
    "sep-2549-prompts-list-caching-hints": "Method not found",
    "sep-2549-resources-list-caching-hints": "Method not found",
    "sep-2549-resources-templates-list-caching-hints": "Method not found",
}
"""Checks of these scenarios that fail, with a part of the message that says why they have to."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = tmp_path / "desk"
    made.mkdir()
    return Desk(made)


@pytest.fixture
def open_url(place: Path) -> Iterator[str]:
    """A server that any client may ask: the suite sends no token, so that it is put to each request here."""
    (place / "conformance.yaml").write_text(PROFILE)
    host = open_host(place / "conformance.yaml", workspace=place / "workspace", events=[lambda _: None])
    inner = build_application(ProfileServer(host), parse_address("0", TOKEN))

    async def with_token(scope: Any, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]}
        await inner(scope, receive, send)

    server = uvicorn.Server(uvicorn.Config(with_token, port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/mcp"
    server.should_exit = True
    thread.join(60)
    host.close()


@pytest.mark.parametrize("version", SCENARIOS)
def test_suite_of_conformance(open_url: str, desk: Desk, tmp_path: Path, version: str) -> None:
    """Each check of what a server of tools can be asked passes, but for those that need what ours has not."""
    conformance = client("conformance")
    failed: dict[str, str] = {}
    for scenario in SCENARIOS[version]:
        out = tmp_path / scenario
        desk.run(
            *(conformance, "server", "--url", open_url, "--scenario", scenario),
            *("--spec-version", version, "--output-dir", str(out)),
        )
        checks = [check for file in out.rglob("checks.json") for check in json.loads(file.read_text())]
        assert any(check["status"] == "SUCCESS" for check in checks), scenario
        failed |= {check["id"]: check["errorMessage"] for check in checks if check["status"] in {"FAILURE", "WARNING"}}

    assert {name: message for name, message in failed.items() if NOT_OURS.get(name, name) not in message} == {}


@pytest.fixture(params=["stdio", "http"])
def inspect(
    place: Path, desk: Desk, request: pytest.FixtureRequest
) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Have the Inspector ask a server."""
    inspector = client("mcp-inspector")
    if request.param == "stdio":
        yield lambda *more: desk.run(inspector, "--cli", sys.executable, *server_args(place), *more)
        return
    with serving(place) as url:
        target = (url, "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}")
        yield lambda *more: desk.run(inspector, "--cli", *target, *more)


def test_inspector(inspect: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """It finds nothing in our schemas that some client could not read, and shows a refusal with its reason."""
    listed = inspect("--method", "tools/list", "--strict")
    read = inspect("--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=notes.txt")
    denied = inspect("--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=../x")

    assert (listed.returncode, listed.stderr) == (0, "")
    assert [tool["name"] for tool in json.loads(listed.stdout)["tools"]] == NAMES
    assert json.loads(read.stdout)["structuredContent"]["content"] == "first\n"
    assert json.loads(denied.stdout)["structuredContent"]["reason"] == "path_outside_workspace"
    assert json.loads(denied.stdout)["isError"]
