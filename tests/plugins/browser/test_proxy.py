"""The browser's only way out, spoken to as the browser speaks to it, over real sockets."""

import asyncio
import gc
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import until

from toolcharter import NetworkPolicy
from toolcharter.guards.network.client import Client
from toolcharter.guards.network.lookup import system_resolve
from toolcharter_browser import proxy as module
from toolcharter_browser.names import BLOCKED_HOST
from toolcharter_browser.proxy import Proxy, is_ours

GREETING = b"\x05\x01\x00"
DONE, FORBIDDEN, UNREACHABLE, NO_COMMAND = 0, 2, 4, 7


class Listener:
    """A socket of this machine that counts who connects, and answers with what it is sent."""

    def __init__(self, address: str = "127.0.0.1", port: int = 0) -> None:
        self.socket = socket.create_server(
            (address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET
        )
        self.port: int = self.socket.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._echo, args=(connection,), daemon=True).start()

    def _echo(self, connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(65_536):
                connection.sendall(data)

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


@pytest.fixture
def build_proxy() -> Iterator[Callable[..., Proxy]]:
    with ExitStack() as stack:

        def build(
            resolve: Any = system_resolve, max_bytes: int = 10**6, timeout_s: float = 15.0, **policy: Any
        ) -> Proxy:
            connect = Client(resolve).connector(NetworkPolicy.from_profile(policy), timeout_s)
            proxy = Proxy(connect, max_bytes)
            stack.callback(proxy.close)
            return proxy

        yield build


def connected(proxy: Proxy) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", proxy.port), timeout=60)
    connection.sendall(GREETING)
    return connection


def asked(proxy: Proxy, host: str, port: int) -> tuple[socket.socket, int]:
    """A connection that has asked for *host* by name, and the code it was answered with."""
    connection = connected(proxy)
    name = host.encode()
    connection.sendall(b"\x05\x01\x00\x03" + bytes([len(name)]) + name + port.to_bytes(2, "big"))
    return connection, read(connection, 12)[3]


def read(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (data := connection.recv(count - len(found))):
        found += data
    return found


def test_what_may_be_reached_is_a_plain_tunnel(build_proxy: Callable[..., Proxy], listener: Listener) -> None:
    """Bytes pass both ways unread, and the end of one way is not the end of the other."""
    proxy = build_proxy(allowed_private=["127.0.0.1"], ports=[listener.port])
    connection, code = asked(proxy, "127.0.0.1", listener.port)

    connection.sendall(b"some words")
    connection.shutdown(socket.SHUT_WR)

    assert (code, read(connection, 100), proxy.take_refusals()) == (DONE, b"some words", [])
    connection.close()


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        pytest.param("127.0.0.1", "private_address", id="loopback"),
        pytest.param("[::1]", "private_address", id="loopback-ipv6-in-brackets"),
        pytest.param("::ffff:127.0.0.1", "private_address", id="mapped"),
        pytest.param("169.254.169.254", "private_address", id="metadata"),
        pytest.param("0x7f.1", "url_not_understood", id="number-in-another-form"),
        pytest.param("localhost", "private_address", id="internal-name"),
        pytest.param("evil.example@good.example", "url_not_understood", id="not-a-host"),
        pytest.param("www.good.example/", "url_not_understood", id="path-in-the-name"),
        pytest.param("bad.example\0.good.example", "url_not_understood", id="nul"),
        pytest.param("other.example", "domain_not_allowed", id="domain"),
    ],
)
def test_what_may_not_be_reached_is_refused(
    build_proxy: Callable[..., Proxy], listener: Listener, host: str, reason: str
) -> None:
    """Denied by the guard's reason, and nobody was connected to."""
    proxy = build_proxy(lambda *_: ["127.0.0.1"], allowed_domains=["*.good.example"], ports=[listener.port])

    connection, code = asked(proxy, host, listener.port)

    refusals = proxy.take_refusals()
    assert (code, listener.connections) == (FORBIDDEN, 0)
    assert [(one.reason, one.is_denied) for one in refusals] == [(reason, True)]
    connection.close()


def test_a_port_is_judged(build_proxy: Callable[..., Proxy], listener: Listener) -> None:
    """A host that may be reached may be reached on the policy's ports only."""
    proxy = build_proxy(allowed_private=["127.0.0.1"])

    connection, code = asked(proxy, "127.0.0.1", listener.port)

    assert (code, [one.reason for one in proxy.take_refusals()]) == (FORBIDDEN, ["port_not_allowed"])
    connection.close()


def test_a_name_is_looked_up_once_for_each_connection(build_proxy: Callable[..., Proxy], listener: Listener) -> None:
    """The answer that was judged is dialled; the next look-up may answer otherwise, and is judged again (rebinding)."""
    answers = iter([["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1", "127.0.0.2"]])
    proxy = build_proxy(lambda *_: next(answers), allowed_private=["127.0.0.1"], ports=[listener.port])

    first, done = asked(proxy, "rebind.example", listener.port)
    second, refused = asked(proxy, "rebind.example", listener.port)
    third, also_refused = asked(proxy, "rebind.example", listener.port)

    assert (done, refused, also_refused, listener.connections) == (DONE, FORBIDDEN, FORBIDDEN, 1)
    assert [(one.reason, one.message) for one in proxy.take_refusals()] == [
        ("private_address", "The name 'rebind.example' leads to an address that is not public.")
    ]
    for connection in (first, second, third):
        connection.close()


def test_denied_domains_are_names(build_proxy: Callable[..., Proxy], listener: Listener) -> None:
    """The lists of domains are for what was asked for, not for the address behind it."""
    proxy = build_proxy(
        lambda *_: ["127.0.0.1"],
        allowed_domains=["good.example"],
        allowed_private=["127.0.0.1"],
        ports=[listener.port],
    )

    connection, code = asked(proxy, "good.example", listener.port)

    assert code == DONE
    connection.close()


def no_answer(_name: str, _port: int) -> list[str]:
    raise socket.gaierror(socket.EAI_NONAME, "unknown")


@pytest.mark.parametrize(
    ("resolve", "reason"),
    [
        pytest.param(no_answer, "host_not_found", id="unknown"),
        pytest.param(lambda *_: [], "host_not_found", id="no-answer"),
        pytest.param(lambda *_: ["127.0.0.1"], "connection_failed", id="nobody-listens"),
        pytest.param(lambda *_: ["fe80::1%1"], "private_address", id="zone"),
    ],
)
def test_what_cannot_be_reached_is_told(build_proxy: Callable[..., Proxy], resolve: Any, reason: str) -> None:
    """A failure is told from a denial."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    proxy = build_proxy(resolve, allowed_private=["127.0.0.1"], ports=[port])

    connection, code = asked(proxy, "some.example", port)

    assert code == (FORBIDDEN if reason == "private_address" else UNREACHABLE)
    assert [str(one.to_exception().reason) for one in proxy.take_refusals()] == [reason]
    connection.close()


def test_addresses_may_be_asked_for_in_binary(build_proxy: Callable[..., Proxy], listener: Listener) -> None:
    """IPv4 is dialled as it is judged, and so is IPv6."""
    proxy = build_proxy(allowed_private=["127.0.0.1"], ports=[listener.port])
    port = listener.port.to_bytes(2, "big")
    codes = []

    for address in (b"\x01" + bytes([127, 0, 0, 1]), b"\x04" + bytes(15) + b"\x01"):
        with connected(proxy) as connection:
            connection.sendall(b"\x05\x01\x00" + address + port)
            codes.append(read(connection, 12)[3])

    assert codes == [DONE, FORBIDDEN]


def test_ipv6_is_dialled(build_proxy: Callable[..., Proxy]) -> None:
    """An address with colons goes the same way."""
    listener = Listener("::1")
    proxy = build_proxy(allowed_private=["::1"], ports=[listener.port])

    connection, code = asked(proxy, "[::1]", listener.port)

    assert code == DONE
    connection.close()
    listener.close()


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        pytest.param(b"GET / HTTP/1.1\r\n\r\n" + bytes(80), b"", id="http"),
        pytest.param(b"\x05\x01\x02", b"", id="password"),
        pytest.param(b"\x05\x01\x00\x05\x02\x00\x01", b"\x05\x00\x05\x07", id="not-connect"),
        pytest.param(b"\x05\x01\x00\x05\x01\x00\x09", b"\x05\x00\x05\x07", id="unknown-address"),
        pytest.param(b"\x05", b"", id="hangs-up"),
    ],
)
def test_other_talk_is_hung_up_on(build_proxy: Callable[..., Proxy], said: bytes, answer: bytes) -> None:
    """The proxy knows one command of one protocol."""
    proxy = build_proxy()
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as connection:
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)

        try:
            heard = read(connection, 100)
        except ConnectionResetError:
            heard = b""

    assert heard[:4] == answer


def test_what_chromium_asks_of_its_own_is_dropped_in_silence(build_proxy: Callable[..., Proxy]) -> None:
    """Neither looked up nor told of."""
    proxy = build_proxy(no_answer)
    with connected(proxy) as connection:
        connection.sendall(b"\x05\x01\x00\x03" + bytes([len(BLOCKED_HOST)]) + BLOCKED_HOST.encode() + b"\x01\xbb")

        assert read(connection, 12) == b"\x05\x00"
    assert proxy.take_refusals() == []


def test_the_transfer_is_limited(build_proxy: Callable[..., Proxy], listener: Listener) -> None:
    """At the limit all is well; beyond it the tunnel ends, and there is none any more."""
    proxy = build_proxy(max_bytes=20, allowed_private=["127.0.0.1"], ports=[listener.port])
    connection, _ = asked(proxy, "127.0.0.1", listener.port)
    connection.sendall(b"0123456789")
    assert read(connection, 10) == b"0123456789"

    connection.sendall(b"x")

    assert read(connection, 1) == b""
    connection.close()
    second, code = asked(proxy, "127.0.0.1", listener.port)
    assert (code, [one.reason for one in proxy.take_refusals()]) == (UNREACHABLE, ["response_too_large"])
    second.close()


def test_connections_are_limited(
    build_proxy: Callable[..., Proxy], listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One past the limit is hung up on."""
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 1)
    proxy = build_proxy(allowed_private=["127.0.0.1"], ports=[listener.port])
    first, _ = asked(proxy, "127.0.0.1", listener.port)

    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as second:
        assert read(second, 1) == b""
    first.close()


def test_other_users_are_hung_up_on(build_proxy: Callable[..., Proxy], monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy serves those of whom the kernel says that they are this user's."""
    monkeypatch.setattr(module, "is_ours", lambda *_: False)
    proxy = build_proxy()

    with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as connection:
        assert read(connection, 1) == b""


def test_a_connection_is_known_by_its_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user that the kernel names counts; what is not in its table is nobody's."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            ours = client.getsockname()[1]

            assert is_ours(ours, port)
            assert not is_ours(port, ours + 1)
            assert not is_ours(ours, port, tmp_path / "missing")
            monkeypatch.setattr("os.geteuid", lambda: 4_000_000_000)
            assert not is_ours(ours, port)


def test_closing_hangs_up(build_proxy: Callable[..., Proxy], listener: Listener) -> None:
    """Tunnels end with the proxy, and its thread; closing twice does nothing."""
    proxy = build_proxy(allowed_private=["127.0.0.1"], ports=[listener.port])
    connection, _ = asked(proxy, "127.0.0.1", listener.port)

    proxy.close()
    proxy.close()

    assert read(connection, 1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", proxy.port))
    connection.close()


def test_a_connection_that_comes_out_elsewhere_is_refused(
    build_proxy: Callable[..., Proxy], listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the system does with an address: the peer is compared."""
    real = asyncio.open_connection
    monkeypatch.setattr(asyncio, "open_connection", lambda *_: real("127.0.0.1", listener.port))
    proxy = build_proxy(lambda *_: ["127.0.0.2"], allowed_private=["127.0.0.0/8"], ports=[listener.port])

    connection, code = asked(proxy, "some.example", listener.port)

    assert (code, [one.reason for one in proxy.take_refusals()]) == (FORBIDDEN, ["private_address"])
    connection.close()


def test_look_ups_that_hang_are_bounded_in_number(
    build_proxy: Callable[..., Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page can ask for as many names as it likes; each takes a thread until the resolver gives up."""
    monkeypatch.setattr("toolcharter.guards.network.lookup._slots", threading.BoundedSemaphore(2))
    over = threading.Event()

    def hang(_name: str, _port: int) -> list[str]:
        over.wait(60)
        return []

    proxy = build_proxy(hang, timeout_s=0.05)
    too_many, said = "Too many DNS lookups are running.", list[str | None]()
    # On a busy machine the time of one may be over before its look-up has begun.
    while too_many not in said and len(said) < 30:
        connection, code = asked(proxy, f"slow{len(said)}.example", 80)
        assert code == UNREACHABLE
        connection.close()
        said += [one.message for one in proxy.take_refusals()]
    over.set()

    assert (len(said) > 2, said[-1]) == (True, too_many)


def test_a_look_up_that_does_not_end_is_given_up(build_proxy: Callable[..., Proxy]) -> None:
    """Its answer comes too late, also for a proxy that is closed."""
    first, second = threading.Event(), threading.Event()
    events = iter((first, second))
    threads: list[threading.Thread] = []

    def slow(_name: str, _port: int) -> list[str]:
        threads.append(threading.current_thread())
        next(events).wait(60)
        return ["127.0.0.1"]

    proxy = build_proxy(slow, timeout_s=0.2, allowed_private=["127.0.0.1"])
    for event in (first, second):
        connection, code = asked(proxy, "slow.example", 80)
        assert code == UNREACHABLE
        connection.close()
        until(lambda: len(threads) == (2 if event is second else 1))  # noqa: B023 - run at once
        if event is second:
            proxy.close()
        event.set()
        threads[-1].join()

    assert len(threads) == 2


def test_what_connects_while_the_proxy_closes_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection whose turn has not come is closed, too, and no socket is left to the collector."""
    left: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: left.append(str(found.exc_value)))

    for _ in range(30):
        proxy = Proxy(Client().connector(NetworkPolicy(), 1.0), 1000)
        callers = [socket.create_connection(("127.0.0.1", proxy.port)) for _ in range(8)]
        proxy.close()
        for caller in callers:
            caller.settimeout(60)
            with suppress(ConnectionResetError):
                assert caller.recv(1) == b""
            caller.close()
        del proxy
        gc.collect()

    assert left == []
