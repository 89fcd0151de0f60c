"""An MCP server written with the Python SDK: on stdio, or on the transport and port that it is told."""

import sys

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("calculator", version="1.0")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def shout(text: str, times: int = 1) -> str:
    """Repeat a text in capitals."""
    return text.upper() * times


if __name__ == "__main__":
    if len(sys.argv) == 1:
        server.run("stdio")
    elif sys.argv[1] == "sse":
        server.run("sse", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
