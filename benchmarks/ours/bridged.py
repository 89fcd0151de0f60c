"""Calls a tool of an MCP server through the bridge and the gate, and by the SDK's client alone. Both use pipes."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import yaml
from mcp import Client, StdioServerParameters

from toolcharter import build_tools

SERVER = Path(__file__).resolve().parents[2] / "tests/plugins/mcp_bridge/servers/raw.py"
ARGS = {"text": "x" * 200}

folder = tempfile.TemporaryDirectory()
place = Path(folder.name).resolve()
(place / "orders.json").write_text(json.dumps({"tools": [{"name": "echo"}], "quiet": True}))
(place / "ws").mkdir()
os.environ["XDG_STATE_HOME"] = str(place / "state")
command = [str(SERVER), str(place / "orders.json")]
bridge = {"servers": {"raw": {"command": sys.executable, "args": command}}, "trust": "first"}
(place / "bridged.yaml").write_text(
    yaml.safe_dump(
        {"profile": "bridged", "runner": "host", "extensions": {"mcp_bridge": bridge}, "allow": ["mcp:raw:echo"]}
    )
)
toolbox = build_tools(place / "bridged.yaml", workspace=place / "ws", events=f"file:{place / 'events.jsonl'}")


async def bridged(number: int) -> float:
    """Return the seconds of one call through the gate, measured over *number* calls."""
    result = await toolbox.acall("mcp__raw__echo", ARGS)
    assert result.outcome == "ok", result.text
    started = perf_counter()
    for _ in range(number):
        await toolbox.acall("mcp__raw__echo", ARGS)
    return (perf_counter() - started) / number


async def bare(number: int) -> float:
    """Return the same for the SDK's client alone."""
    # Legacy mode: this server does not know `server/discover`, and the client would wait ten seconds for its answer.
    async with Client(StdioServerParameters(command=sys.executable, args=command), mode="legacy") as client:
        await client.list_tools()
        await client.call_tool("echo", ARGS)
        started = perf_counter()
        for _ in range(number):
            await client.call_tool("echo", ARGS)
        return (perf_counter() - started) / number


OPERATIONS: dict[str, object] = {}
REPORTS = {"bridged": lambda number: asyncio.run(bridged(number)), "bare": lambda number: asyncio.run(bare(number))}
