"""Measures the resident memory of a service in this process: with many agents, or its growth over many calls.

PYTHON -P benchmarks/ours/service_resident.py agents NUMBER CALLS_OF_EACH    prints bytes
PYTHON -P benchmarks/ours/service_resident.py growth FIRST LAST              prints memory after LAST / after FIRST calls
"""

import asyncio
import gc
import json
import os
import runpy
import sys
import tempfile
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from toolcharter_service.http.app import create_app

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
ROTATED = 50_000
"""The number of calls after which the files of events and usage are removed, as rotation would."""
Message = MutableMapping[str, Any]


def resident() -> int:
    """Return the resident memory in bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


class Caller:
    """Makes calls over ASGI: through the whole service, without a connection."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._body = json.dumps({"tool": "nothing_async", "args": {}}).encode()
        self._headers = [
            (b"host", b"127.0.0.1"),
            (b"authorization", b"Bearer " + token.encode()),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self._body)).encode()),
        ]

    async def call(self, agent: str) -> None:
        """Make one call."""
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/v1/calls",
            "raw_path": b"/v1/calls",
            "query_string": b"",
            "root_path": "",
            "headers": [*self._headers, (b"x-agent-id", agent.encode())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 1),
            "state": {},
        }
        answered: list[Message] = []

        unread: list[Message] = [{"type": "http.request", "body": self._body, "more_body": False}]

        async def receive() -> Message:
            if not unread:
                await asyncio.Event().wait()  # The client stays: the service watches for a disconnect.
            return unread.pop()

        async def send(message: Message) -> None:
            answered.append(message)

        await self._app(scope, receive, send)
        await asyncio.sleep(0)  # As between the requests of a connection: due callbacks of the loop can run.
        assert answered[0]["status"] == 200, answered  # noqa: PLR2004 - OK
        assert b'"outcome":"ok"' in answered[1]["body"], answered


async def agents(place: Path, number: int, calls: int) -> float:
    """Return the memory with *number* agents after *calls* calls of each."""
    service, token = SERVED["made"](SERVED["written"](place, number))
    app = create_app(service)
    async with app.router.lifespan_context(app):
        caller = Caller(app, token)
        for _ in range(calls):
            for agent in range(number):
                await caller.call(f"a{agent}")
        await asyncio.sleep(2)  # Until the usage is stored.
        return resident()


async def growth(place: Path, first: int, last: int) -> float:
    """Return the memory after *last* calls / the memory after *first* calls."""
    service, token = SERVED["made"](SERVED["written"](place))
    app = create_app(service)
    async with app.router.lifespan_context(app):
        caller, before = Caller(app, token), 0
        for done in range(1, last + 1):
            await caller.call("a0")
            if done % ROTATED == 0:
                for path in (place / "events.jsonl", *(place / "state").rglob("tool_calls_*.log")):
                    path.unlink(missing_ok=True)
            if done == first:
                await asyncio.sleep(2)
                before = resident()
        await asyncio.sleep(2)
        return resident() / before


SERVED = runpy.run_path(str(Path(__file__).with_name("service_process.py")), run_name="served")

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tc-") as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        measure = {"agents": agents, "growth": growth}[sys.argv[1]]
        print(asyncio.run(measure(Path(folder), int(sys.argv[2]), int(sys.argv[3]))))
