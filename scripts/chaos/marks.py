"""An MCP server whose tools leave a mark each: a line with the call's name, appended to a file. Standard library only.

A name that occurs twice proves that the call ran twice, whatever the service reports.
"""

import json
import os
import sys
import time
from typing import Any

TOOLS = ("leave", "asked", "other")
_SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def result(message: dict[str, Any], marks: int, server: str) -> dict[str, Any] | None:
    """Return the result of a request; None if it needs no answer."""
    match message["method"]:
        case "initialize":
            info = {"name": server, "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [{"name": name, "description": "Mark.", "inputSchema": _SCHEMA} for name in TOOLS]}
        case "tools/call":
            name = message["params"]["arguments"]["name"]
            os.write(marks, f"{name} {server} {time.time():.6f}\n".encode())
            return {"content": [{"type": "text", "text": f"marked {name}"}]}
        case "ping":
            return {}
        case _:
            return None


def main() -> None:
    """Serve until the input ends."""
    marks = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for line in sys.stdin:
        message = json.loads(line)
        found = result(message, marks, sys.argv[2])
        if found is not None and "id" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": found}) + "\n")
            sys.stdout.flush()


main()
