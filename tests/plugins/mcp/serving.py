"""A profile, and servers of its tools: what the tests of `toolcharter mcp` have in common."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters
from tests.ports import own_port

PROFILE = """
profile: served
description: Reads and writes, runs echo and sleep, asks before it deletes.
runner: host
tools:
  read_file: {}
  write_file: {}
  delete_file: {}
  bash: {default_timeout_s: 60}
ask: [delete_file]
allow: ["bash:echo *", "bash:sleep *"]
limits: {timeout_s: 60}
"""
NAMES = ["read_file", "write_file", "delete_file", "bash"]
DISCOVERING_PROFILE = """
profile: served
description: Finds tools in a folder while it serves.
runner: host
tools: {read_file: {}, reload_tools: {}}
extensions: {cli_tools: {agent_folders: [tools], extend: true}}
allow: ["cli:greet"]
missing_ok: [greet]
"""
MODES = ["auto", "legacy"]
TOKEN = "no-secret-" * 3
T = TypeVar("T")
PASSED = ["hook.tool.before", "hook.policy.before", "hook.tool.after"]


def server_args(place: Path) -> list[str]:
    """What follows Python's name in the command that serves *place*."""
    return [
        "-m", "toolcharter", "mcp", "--profile", str(place / "served.yaml"), "--workspace", str(place / "workspace"),
        "--events", f"file:{place / 'events.jsonl'}",
    ]  # fmt: skip


def events(place: Path) -> list[dict[str, Any]]:
    """Of calls, in order."""
    read = [json.loads(line) for line in (place / "events.jsonl").read_text().splitlines()]
    return [event for event in read if event["call_id"] is not None]


def add_greet_tool(place: Path) -> None:
    """Put the tool `greet` where the profile `DISCOVERING_PROFILE` finds it."""
    folder = place / "tools/greet"
    folder.mkdir(parents=True)
    (folder / "run").write_text("#!/bin/sh\necho hello\n")
    (folder / "run").chmod(0o755)


@asynccontextmanager
async def connect_client(place: Path, mode: str, **more: Any) -> AsyncIterator[Client]:
    """A client of a server that it has started itself."""
    server = StdioServerParameters(command=sys.executable, args=server_args(place), cwd=str(place))
    async with Client(server, mode=mode, read_timeout_seconds=60, **more) as client:
        yield client


@asynccontextmanager
async def hold_in_task(opened: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """What *opened* gives. One task enters and leaves it, as clients need it; the two halves of a fixture are two tasks."""
    entered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with opened as one:
            entered.set_result(one)
            await over.wait()

    holder = asyncio.ensure_future(hold())
    either: set[asyncio.Future[Any]] = {entered, holder}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if holder.done():
        await holder
    yield entered.result()
    over.set()
    await holder


async def closing_events(place: Path, tool: str, before: int) -> list[dict[str, Any]]:
    """The closing events behind the first *before* events, once a call of *tool* has one, or after a minute."""
    for _ in range(600):
        found = [event for event in events(place)[before:] if event["event"] == "hook.tool.after"]
        if any(event["tool"] == tool for event in found):
            break
        await asyncio.sleep(0.1)
    return found


@contextmanager
def serving(place: Path) -> Iterator[str]:
    """The address of a server on HTTP, in a process of its own."""
    port = own_port()
    environment = {**os.environ, "TOOLCHARTER_MCP_TOKEN": TOKEN}
    server = subprocess.Popen(
        [sys.executable, *server_args(place), "--http", str(port)], env=environment, cwd=place, stderr=subprocess.PIPE
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.communicate(timeout=60)
