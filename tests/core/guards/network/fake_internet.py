"""A world of its own for tests of the network: names and public addresses that lead to local servers.

Only the operating system's two functions are replaced, looking up and connecting; what leaves them is judged, dialled
and spoken to as ever. Every connection that any code of the process begins is seen by an audit hook.
"""

import re
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from ipaddress import ip_address
from typing import Any

import anyio
import anyio.abc
import pytest

Reply = Callable[[socket.socket, bytes], object]
"""Answers one request on its connection: `(connection, head of the request)`."""

_connection_logs: list[list[Any]] = []


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        for seen in _connection_logs:
            seen.append(args[1])


sys.addaudithook(_audit)


class DisguisedSocket(socket.socket):
    """A connection that says it leads to a public address."""

    claimed: tuple[str, int]

    def getpeername(self) -> Any:
        return self.claimed


class DisguisedStream(anyio.abc.ByteStream):
    """The same for asynchronous code."""

    def __init__(self, inner: anyio.abc.ByteStream, claimed: tuple[str, int]) -> None:
        self._inner = inner
        self._claimed = claimed

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return {**self._inner.extra_attributes, anyio.abc.SocketAttribute.remote_address: lambda: self._claimed}

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._inner.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        await self._inner.send(item)

    async def send_eof(self) -> None:
        await self._inner.send_eof()

    async def aclose(self) -> None:
        await self._inner.aclose()


class Server:
    """A server on the loopback; each connection is answered by one call of *reply*, in a thread."""

    def __init__(self, reply: Reply, tls: ssl.SSLContext | None = None) -> None:
        self._reply = reply
        self._tls = tls
        self.requests: list[bytes] = []
        """The heads of what was asked for."""
        self.over = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._answer, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), closing(self._wrapped(connection)) as wrapped:
            head = _head(wrapped)
            self.requests.append(head)
            self._reply(wrapped, head)

    def _wrapped(self, connection: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection

    def close(self) -> None:
        self.over.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes `accept`
        self._socket.close()
        for thread in self._threads:
            thread.join(5)


def _head(connection: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        data = connection.recv(65536)
        if not data or data[:1] == b"\x16":  # the first byte of TLS, which the server does not expect
            break
        head += data
    length = re.search(rb"\r\ncontent-length: *([0-9]{1,5})\r", head, re.IGNORECASE)
    missing = int(length[1]) - len(head.partition(b"\r\n\r\n")[2]) if length else 0
    while missing > 0 and (data := connection.recv(missing)):  # what is not read is answered by a reset
        missing -= len(data)
    return head


def answer(body: bytes = b"hello", status: str = "200 OK", **headers: str) -> bytes:
    """A whole answer; names of headers are given with `_` for `-`."""
    given = {"Content-Length": str(len(body)), "Content-Type": "text/plain"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def always_reply(raw: bytes) -> Reply:
    """Always the same answer."""
    return lambda connection, _: connection.sendall(raw)


class FakeInternet:
    """What there is beyond the process."""

    def __init__(self) -> None:
        self.names: dict[str, list[list[str]]] = {}
        """By name, the answers of one look-up after the other; the last holds for all that follow."""
        self.routes: dict[tuple[str, int], Server] = {}
        """By address and port, who answers there."""
        self.looked_up: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        """To where connections were asked for."""
        self.connected: list[Any] = []
        """All addresses that any socket of the process connected to."""
        self.servers: list[Server] = []
        self.claims: dict[tuple[str, int], tuple[str, int]] = {}
        """By address and port, where a connection says it leads, if elsewhere."""
        self._getaddrinfo = socket.getaddrinfo
        self._connect = socket.create_connection
        self._aconnect = anyio.connect_tcp

    def serve(self, reply: Reply | bytes, tls: ssl.SSLContext | None = None) -> Server:
        server = Server(always_reply(reply) if isinstance(reply, bytes) else reply, tls)
        self.servers.append(server)
        return server

    def put(
        self, name: str, reply: Reply | bytes, *, port: int = 80, address: str = "93.184.216.34", **given
    ) -> Server:
        """A server at a public address, under a name."""
        server = self.serve(reply, **given)
        self.names[name] = [[address]]
        self.routes[address, port] = server
        return server

    def getaddrinfo(self, name: Any, port: Any, *args: Any, **options: Any) -> list[Any]:
        with suppress(ValueError):
            ip_address(name)  # connecting asks for numbers, too
            return self._getaddrinfo(name, port, *args, **options)
        self.looked_up.append(name)
        turns = self.names.get(name, [[]])
        found = turns.pop(0) if len(turns) > 1 else turns[0]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [_info(address, port) for address in found]

    def create_connection(self, address: tuple[str, int], *args: Any, **options: Any) -> socket.socket:
        with self._connect(self._leads(address), *args, **options) as found:
            connection = DisguisedSocket(fileno=found.detach())
        connection.claimed = self.claims.get(address, address)
        return connection

    async def connect_tcp(self, remote_host: str, remote_port: int, **options: Any) -> anyio.abc.ByteStream:
        address = (remote_host, remote_port)
        found = await self._aconnect(*self._leads(address), **options)
        return DisguisedStream(found, self.claims.get(address, address))

    def _leads(self, address: tuple[str, int]) -> tuple[str, int]:
        self.dialled.append(address)
        if address in self.routes:
            return ("127.0.0.1", self.routes[address].port)
        if address[1] in {server.port for server in self.servers}:
            return address
        raise ConnectionRefusedError(f"nobody answers at {address}")


def _info(address: str, port: int) -> Any:
    host, _, zone = address.partition("%")
    if ":" in host:
        return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (host, port, 0, int(zone or 0)))
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))


def install_fake_internet(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeInternet]:
    """For a fixture."""
    world = FakeInternet()
    monkeypatch.setattr(socket, "getaddrinfo", world.getaddrinfo)
    monkeypatch.setattr(socket, "create_connection", world.create_connection)
    monkeypatch.setattr(anyio, "connect_tcp", world.connect_tcp)
    _connection_logs.append(world.connected)
    yield world
    _connection_logs.remove(world.connected)
    for server in world.servers:
        server.close()
