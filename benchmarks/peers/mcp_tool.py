"""The MCP SDK, ungoverned: a low-level server and a client, connected in memory."""

import asyncio
from time import perf_counter

from mcp import types
from mcp.client import Client
from mcp.server import Server

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["path"],
}


async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
    """List the one tool."""
    return types.ListToolsResult(tools=[types.Tool(name="read", description="Read a file.", input_schema=SCHEMA)])


async def call_tool(_context: object, _params: types.CallToolRequestParams) -> types.CallToolResult:
    """Return the tool's result."""
    return types.CallToolResult(content=[types.TextContent(type="text", text="x" * 200)])


async def _calls(number: int) -> float:
    async with Client(Server("bench", on_list_tools=list_tools, on_call_tool=call_tool)) as client:
        await client.list_tools()
        await client.call_tool("read", {"path": "src/app.py", "limit": 3})
        started = perf_counter()
        for _ in range(number):
            await client.call_tool("read", {"path": "src/app.py", "limit": 3})
        return (perf_counter() - started) / number


def call(number: int) -> float:
    """Return the seconds of one call, measured over *number* calls in one session."""
    return asyncio.run(_calls(number))


REPORTS = {"call": call}
