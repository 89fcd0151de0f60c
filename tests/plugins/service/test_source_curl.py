"""The curl lines that artificial_mind's documentation shows for its tools, as written, against `toolcharter serve --dev`."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.ports import own_port

pytestmark = pytest.mark.slow

PROFILE = """
profile: fetching
description: Reads files, fetches from one host.
tools: {read_file: {}, list_files: {}, http_get: {allowed_domains: [tools.example.org]}}
"""
REGISTER = """
curl -s -X POST http://localhost:8081/api/v1/tools \\
  -H 'Content-Type: application/json' \\
  -d '{
    "id":"tool_http_get",
    "name":"HTTP GET",
    "description":"Fetch URL",
    "input_schema":{"url":"string"},
    "output_schema":{"status":"int","body":"string"},
    "permissions":["net:read"],
    "safety_level":"low",
    "created_by":"system"
  }'
"""
INVOKE = """
curl -s -X POST http://localhost:8081/api/v1/tools/tool_http_get/invoke \\
  -H 'Content-Type: application/json' \\
  -d '{"url":"https://example.com"}'
"""
DISCOVER = "curl -s -X POST http://localhost:8081/api/v1/tools/discover"


def _port() -> int:
    """8081, as the lines have it, unless somebody else listens there."""
    try:
        return own_port(8081)
    except OSError:
        return own_port()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Where the profile is served to anybody on this machine."""
    place, port = tmp_path_factory.mktemp("dev"), _port()
    (place / "p.yaml").write_text(PROFILE)
    (place / "work").mkdir()
    (place / "work/notes.txt").write_text("Buy milk.\n")
    words = ["serve", "--dev", "-p", "./p.yaml", "-w", "work", "--events", "file:e.jsonl"]
    words += [] if port == 8081 else ["--port", str(port)]
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "state"), "HOME": str(place)}
    server = subprocess.Popen([sys.executable, "-m", "toolcharter", *words], cwd=place, env=environment)
    try:
        until = time.monotonic() + 60
        while _ran(f"curl -s -f http://localhost:{port}/healthz").returncode and time.monotonic() < until:
            assert server.poll() is None
            time.sleep(0.1)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def _ran(line: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


def _said(line: str, port: int) -> Any:
    """The answer to *line*, whose port alone is another where 8081 is taken."""
    return json.loads(_ran(line.replace(":8081/", f":{port}/")).stdout)


def test_a_tool_is_registered(port: int) -> None:
    """The answer is the record, with the time of its making."""
    answer = _said(REGISTER, port)

    assert answer["success"] is True
    assert answer["tool"].pop("created_at")
    assert answer["tool"] == {
        "id": "tool_http_get",
        "name": "HTTP GET",
        "description": "Fetch URL",
        "input_schema": {"url": "string"},
        "output_schema": {"status": "int", "body": "string"},
        "permissions": ["net:read"],
        "safety_level": "low",
        "created_by": "system",
    }


def test_an_invocation_passes_the_network_guard(port: int) -> None:
    """The profile does not have that host, so that nothing is asked of the network."""
    _said(REGISTER, port)
    answer = _said(INVOKE, port)

    assert answer.keys() == {"error", "reason", "call_id"}
    assert answer["reason"] == "domain_not_allowed"


def test_tools_are_discovered(port: int) -> None:
    """Those that every place has come back."""
    answer = _said(DISCOVER, port)

    assert answer["success"] is True
    assert {"tool_http_get", "tool_file_read", "tool_ls"} <= {tool["id"] for tool in answer["discovered"]}


def test_files_are_read_and_listed(port: int) -> None:
    """In the fields of artificial_mind's tools."""
    read = INVOKE.replace("tool_http_get", "tool_file_read").replace(
        '"url":"https://example.com"', '"path":"notes.txt"'
    )
    listed = INVOKE.replace("tool_http_get", "tool_ls").replace('"url":"https://example.com"', '"path":"."')

    assert _said(read, port) == {"content": "Buy milk.\n"}
    assert _said(listed, port) == {"entries": ["notes.txt"]}
