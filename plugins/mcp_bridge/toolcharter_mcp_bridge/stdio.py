"""The transport of servers that are programs: one message per line, on pipes that a runner has opened."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson

from toolcharter import Denied, DiscoveryRuntime, Running, StoreUnavailable, ToolError
from toolcharter_mcp_bridge.policy import Secret, ServerPolicy
from toolcharter_mcp_bridge.wire import ConnectionLost, Session

_PIECE = 65_536
_FINAL_READ_S = 1.0
"""How long a program that has closed its output may take to end, in seconds."""
_PAUSE_S = 0.005
"""The wait before another attempt to write to a full pipe, in seconds."""


def resolve_secrets(values: Mapping[str, str | Secret], rt: DiscoveryRuntime) -> dict[str, str]:
    """Replace references by their values from the gate's environment or the store. The values are masked from then on.

    Raises:
        ConnectionLost: A variable is not set, or the store cannot give a secret.
    """
    found = dict[str, str]()
    for name, value in values.items():
        if isinstance(value, str):
            try:
                found[name] = rt.secret(value)
            except StoreUnavailable as error:
                raise ConnectionLost(f"{name}: {error.message}") from error
            continue
        secret = os.environ.get(value.env)
        if not secret:
            raise ConnectionLost(f"The variable {value.env}, which {name} refers to, is not set.")
        rt.keep_secret([secret])
        found[name] = f"{value.prefix}{secret}"
    return found


class StdioLink:
    """Messages to one program, and from it. Satisfies `Link`."""

    version = ""

    def __init__(self, running: Running, session: Session, max_bytes: int) -> None:
        self._running = running
        self._session = session
        self._max_bytes = max_bytes
        self._rest = bytearray()
        self._turn = asyncio.Lock()
        self._ending: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(running.fileno(), self._read)

    async def send(self, message: Mapping[str, Any]) -> None:
        """Write one line; wait without a limit while the program does not read."""
        data = memoryview(orjson.dumps(message) + b"\n")
        async with self._turn:
            while data:
                written = self._running.write(bytes(data[:_PIECE]))
                data = data[written:]
                if not written:
                    if self._session.lost.done() or self._running.exit_code is not None:
                        raise ConnectionLost("The program has ended.")
                    await asyncio.sleep(_PAUSE_S)

    def _read(self) -> None:
        piece = self._running.read(_PIECE)
        if not piece:
            self._stop()
            self._ending = self._loop.create_task(self._end())
            return
        *lines, rest = (bytes(self._rest) + piece).split(b"\n") if b"\n" in piece else (self._rest + piece,)
        self._rest = bytearray(rest)
        for line in lines:
            if line.strip():
                self._session.feed(line)
        if len(self._rest) > self._max_bytes or any(len(line) > self._max_bytes for line in lines):
            self._session.mark_lost(f"It sent a message of more than {self._max_bytes} bytes.")
        if self._session.lost.done():
            self._stop()

    async def _end(self) -> None:
        code = await asyncio.to_thread(self._running.wait, _FINAL_READ_S)
        if (lost := self._running.lost) is not None:
            self._session.mark_lost(f"{lost.reason}: {lost.message}")
            return
        ended = "closed its output" if code is None else f"ended with status {code}"
        self._session.mark_lost(f"The program {ended}. Run it by hand to see what it says.")

    def _stop(self) -> None:
        with suppress(OSError, ValueError):
            self._loop.remove_reader(self._running.fileno())

    async def close(self) -> None:
        """End the program and all programs that it has started."""
        self._stop()
        if self._ending is not None:
            self._ending.cancel()
        await asyncio.to_thread(self._running.close)


async def open_stdio(session: Session, policy: ServerPolicy, rt: DiscoveryRuntime, max_bytes: int) -> StdioLink:
    """Start the program of a server on the profile's runner.

    Raises:
        ConnectionLost: The program cannot be started.
    """
    env = await asyncio.to_thread(resolve_secrets, policy.env, rt)
    argv = (policy.command or "", *policy.args)

    def start() -> Running:
        return rt.spawn(argv, env=env, network=policy.network)

    try:
        running = await asyncio.to_thread(start)
    except (Denied, ToolError) as error:
        raise ConnectionLost(str(error)) from error
    link = StdioLink(running, session, max_bytes)
    session.link = link
    return link
