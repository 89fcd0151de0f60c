"""MCP: a call through the SDK's client, connected in memory to our server and to one that uses the SDK alone."""

import asyncio
from collections.abc import Callable
from time import perf_counter

from bare import ARGS, acall, host, read
from mcp import types
from mcp.client import Client
from mcp.server import Server

from toolcharter_mcp.server import ProfileServer

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
    """List the one tool."""
    return types.ListToolsResult(tools=[types.Tool(name="read_file", description="Read a file.", input_schema=SCHEMA)])


async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Read the file and return its text."""
    text = read(str((params.arguments or {})["path"]))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def _calls(server: Server, number: int) -> float:
    async with Client(server) as client:
        await client.list_tools()
        await client.call_tool("read_file", ARGS)
        started = perf_counter()
        for _ in range(number):
            await client.call_tool("read_file", ARGS)
        return (perf_counter() - started) / number


def _report(server: Callable[[], Server]) -> Callable[[int], float]:
    return lambda number: asyncio.run(_calls(server(), number))


OPERATIONS = {"bare": acall}
REPORTS = {
    "adapter": _report(lambda: ProfileServer(host).server),
    "native": _report(lambda: Server("bench", on_list_tools=list_tools, on_call_tool=call_tool)),
}
