"""`Proxy`: a browser's only way to the network: a SOCKS 5 server on a loopback port, which asks the network guard.

SOCKS was chosen over HTTP because it only has tunnels to a host: the proxy parses no request of a page, and no request
can go to another host than the one that was judged. The browser sends names, not addresses. Source: RFC 1928.
"""

import asyncio
import os
import struct
import threading
from asyncio import StreamReader, StreamWriter
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

from toolcharter import Connect, Denied, GuardReason, ToolError
from toolcharter_browser.names import BLOCKED_HOST

MAX_CONNECTIONS = 256
MAX_REFUSALS = 100
"""How many refusals are kept; older ones are dropped."""
HANDSHAKE_S = 10.0
_VERSION, _CONNECT, _NO_PASSWORD = 5, 1, 0
_IPV4, _NAME, _IPV6 = 1, 3, 4
_DONE, _FORBIDDEN, _UNREACHABLE, _NO_COMMAND = 0, 2, 4, 7
_PIECE = 65_536
TABLE = Path("/proc/net/tcp")
"""The kernel's table of the machine's connections and their users."""
_LOCAL, _REMOTE, _USER = 1, 2, 7


class Refusal(NamedTuple):
    """A connection that was refused or failed."""

    host: str
    port: int
    reason: str
    message: str
    is_denied: bool

    def to_exception(self) -> Denied | ToolError:
        """Return the refusal as the exception that a tool raises."""
        if self.is_denied:
            return Denied(self.reason, self.message)
        return ToolError(self.message, reason=self.reason)


class Proxy:
    """Listens from its construction until `close`. Thread-safe.

    Args:
        connect: Judges a host and dials it.
        max_bytes: The limit for all data in both directions together.
    """

    def __init__(self, connect: Connect, max_bytes: int) -> None:
        self._dial = connect
        self._left = max_bytes
        self._refusals: deque[Refusal] = deque(maxlen=MAX_REFUSALS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_ending = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="toolcharter browser proxy", daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def take_refusals(self) -> list[Refusal]:
        """Return the refusals since the last call, without repetitions, at most the latest `MAX_REFUSALS`."""
        taken = [self._refusals.popleft() for _ in range(len(self._refusals))]
        return list(dict.fromkeys(taken))

    def close(self) -> None:
        """Close all connections and stop listening. May be called twice."""
        if not self._loop.is_closed():
            self._run(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _stop(self) -> None:
        self._is_ending = True
        for listener in self._server.sockets:
            self._loop.remove_reader(listener.fileno())
        # A socket that the loop has accepted becomes a connection within three iterations. If the server is closed
        # before, that connection stays open without an owner.
        for _ in range(3):
            await asyncio.sleep(0)
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # let the transports close

    def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        peer = writer.get_extra_info("peername")  # None if the client has already hung up
        is_full = self._is_ending or len(self._tasks) >= MAX_CONNECTIONS
        if peer is None or is_full or not is_ours(peer[1], self.port):
            writer.close()
            return
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # Not within the task: a task that is cancelled before its first step runs no code.
        task.add_done_callback(lambda _: writer.close())

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                target = await _read_request(reader, writer)
            if target is not None and target[0] != BLOCKED_HOST:
                await self._connect(*target, reader, writer)
        except (OSError, EOFError, TimeoutError):
            pass  # the client has hung up, is late or sends nonsense: only close the connection

    async def _connect(self, host: str, port: int, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            self._require_room()
            far_reader, far_writer = await self._dial(host, port)
        except (Denied, ToolError) as error:
            is_denied = isinstance(error, Denied)
            self._refusals.append(Refusal(host, port, str(error.reason), str(error.message), is_denied))
            writer.write(_reply(_FORBIDDEN if is_denied else _UNREACHABLE))
            await writer.drain()
            return
        try:
            writer.write(_reply(_DONE))
            await self._relay((reader, far_writer), (far_reader, writer))
        finally:
            far_writer.close()

    async def _relay(self, *ways: tuple[StreamReader, StreamWriter]) -> None:
        """Relay data in both directions until both sides have ended, or one hangs up."""
        tasks = [self._loop.create_task(self._pass_on(*way)) for way in ways]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _pass_on(self, reader: StreamReader, writer: StreamWriter) -> None:
        while data := await reader.read(_PIECE):
            self._left -= len(data)
            if self._left < 0:
                raise EOFError
            writer.write(data)
            await writer.drain()
        with suppress(OSError):
            writer.write_eof()

    def _require_room(self) -> None:
        if self._left < 0:
            message = "The browser has reached its limit of transferred data; close it."
            raise ToolError(message, reason=GuardReason.RESPONSE_TOO_LARGE)


async def _read_request(reader: StreamReader, writer: StreamWriter) -> tuple[str, int] | None:
    """Read the host and port that the browser wants to connect to; None for any other request.

    Raises:
        EOFError, OSError: The browser hangs up.
    """
    version, count = await reader.readexactly(2)
    methods = await reader.readexactly(count)
    if version != _VERSION or _NO_PASSWORD not in methods:
        return None
    writer.write(bytes((_VERSION, _NO_PASSWORD)))
    version, command, _, kind = await reader.readexactly(4)
    if version != _VERSION or command != _CONNECT or kind not in {_IPV4, _NAME, _IPV6}:
        writer.write(_reply(_NO_COMMAND))
        return None
    host = await _host(reader, kind)
    return host, int.from_bytes(await reader.readexactly(2), "big")


async def _host(reader: StreamReader, kind: int) -> str:
    if kind == _NAME:
        (length,) = await reader.readexactly(1)
        name = (await reader.readexactly(length)).decode("latin-1")
        return name[1:-1] if name.startswith("[") else name
    return str(ip_address(await reader.readexactly(4 if kind == _IPV4 else 16)))


def _reply(code: int) -> bytes:
    """An answer without an address: the browser must not learn the address of the other end."""
    return bytes((_VERSION, code, 0, _IPV4)) + bytes(6)


def is_ours(client_port: int, server_port: int, table: Path = TABLE) -> bool:
    """Return whether this user has opened the loopback connection between these ports; false if it is not found.

    Source: proc_net_tcp.rst of the kernel.
    """
    wanted = (_loopback_end(client_port), _loopback_end(server_port))
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return False
    rows = map(str.split, lines)
    return any((row[_LOCAL], row[_REMOTE]) == wanted and row[_USER] == str(os.geteuid()) for row in rows)


def _loopback_end(port: int) -> str:
    """`127.0.0.1` and a port as the table writes them: the address in the machine's byte order."""
    (address,) = struct.unpack("=I", bytes((127, 0, 0, 1)))
    return f"{address:08X}:{port:04X}"
