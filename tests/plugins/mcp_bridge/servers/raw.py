"""An MCP server on stdio that does what a file of JSON says, right or wrong. Standard library alone."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

ORDERS = Path(sys.argv[1])
LOG = ORDERS.with_suffix(".log")
PLAIN = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def orders() -> dict[str, Any]:
    """What to do, read anew each time."""
    found: dict[str, Any] = json.loads(ORDERS.read_text())
    return found


def say(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(number: Any, result: Any) -> None:
    say({"jsonrpc": "2.0", "id": number, "result": result})


def tools() -> list[Any]:
    """The tools, with a schema where none is written."""
    return [{"inputSchema": PLAIN, **tool} if isinstance(tool, dict) else tool for tool in orders()["tools"]]


def die(*_: Any) -> None:
    os._exit(3)


def flood(*_: Any) -> None:
    while True:
        say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 100}})


def huge(*_: Any) -> None:
    sys.stdout.write("x" * 50_000_000)
    sys.stdout.flush()


def refuse(number: Any, _: dict[str, Any]) -> None:
    say({"jsonrpc": "2.0", "id": number, "error": {"code": -32000, "message": orders().get("message", "no")}})


def change(number: Any, _: dict[str, Any]) -> None:
    say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    answer(number, {"content": [{"type": "text", "text": "changed"}]})


def echo(number: Any, args: dict[str, Any]) -> None:
    answer(number, {"content": [{"type": "text", "text": args.get("text", "")}], "structuredContent": args})


CALLS = {
    "die": die,
    "flood": flood,
    "huge": huge,
    "refuse": refuse,
    "change": change,
    "sleep": lambda *_: time.sleep(3600),
    "environment": lambda n, _: answer(n, {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]}),
    "result": lambda n, _: answer(n, orders()["result"]),
    "fail": lambda n, _: answer(n, {"content": [{"type": "text", "text": "it failed"}], "isError": True}),
}


def main() -> None:
    with LOG.open("a") as log:
        log.write(f"start {os.getpid()}\n")
    todo = orders()
    for line in todo.get("first", ()):
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    if not todo.get("quiet"):
        sys.stderr.write("noise on standard error\n")
    if todo.get("exit") is not None:
        sys.exit(todo["exit"])
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        with LOG.open("a") as log:
            log.write(f"{method}\n")
        if method == "initialize":
            if orders().get("hang"):
                time.sleep(3600)
            info = {"name": "raw", "version": orders().get("version", "1")}
            answer(number, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list":
            page = orders().get("listing")
            answer(number, {"tools": tools()} if page is None else page)
        elif method == "ping" and not orders().get("deaf"):
            answer(number, {})
        elif method == "tools/call":
            CALLS.get(message["params"]["name"], echo)(number, message["params"].get("arguments", {}))


main()
