"""Plain connections under the guard: the same judgement, one look-up, the address that was checked."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from toolcharter import Denied, NetworkPolicy, ToolError
from toolcharter.guards.network.client import Client

_FAILURES = {"host_not_found": "leads to no address", "connection_failed": "does not accept connections"}
Answers = Callable[[str, int], Sequence[str]]


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server on the loopback that says one word."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"hello")

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def said(host: str, port: int, answers: Answers, *, timeout_s: float = 60.0, **policy: Any) -> bytes:
    """What the host says."""
    opened = NetworkPolicy.from_profile({"ports": [port], "allowed_private": ["127.0.0.1"], **policy})

    async def read() -> bytes:
        reader, writer = await Client(answers).connector(opened, timeout_s)(host, port)
        heard = await reader.read(100)
        writer.close()
        return heard

    return asyncio.run(read())


@pytest.mark.parametrize("host", ["127.0.0.1", "some.example", "SOME.example"])
def test_a_host_that_may_be_reached_is_connected_to(port: int, host: str) -> None:
    """By its address, or by a name that is looked up once; the domain lists are for what was asked for."""
    asked: list[str] = []

    def answer(name: str, _: int) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"]

    heard = said(host, port, answer, allowed_domains=["some.example", "127.0.0.1"])

    assert (heard, asked) == (b"hello", [] if host[0].isdigit() else ["some.example"])


@pytest.mark.parametrize(
    ("host", "answers", "reason"),
    [
        pytest.param("10.0.0.1", [], "private_address", id="private"),
        pytest.param("::1", [], "private_address", id="loopback"),
        pytest.param("localhost", [], "private_address", id="internal name"),
        pytest.param("in.example", ["127.0.0.1", "10.0.0.1"], "private_address", id="one answer of two"),
        pytest.param("no.example", ["127.0.0.1"], "domain_not_allowed", id="domain"),
        pytest.param("a@b", [], "url_not_understood", id="no host"),
        pytest.param("[::1]", [], "url_not_understood", id="brackets"),
        pytest.param("127.1", [], "url_not_understood", id="number"),
        pytest.param("", [], "url_not_understood", id="nothing"),
        pytest.param("in.example", [], "host_not_found", id="unknown"),
        pytest.param("in.example", ["127.0.0.3"], "connection_failed", id="nobody answers"),
    ],
)
def test_what_may_not_or_cannot_be_reached(port: int, host: str, answers: list[str], reason: str) -> None:
    """For the reasons for which a URL of it could not."""
    with pytest.raises((Denied, ToolError), match=_FAILURES.get(reason, reason)):
        said(host, port, lambda *_: answers, denied_domains=["no.example"], allowed_private=["127.0.0.0/24"])


def test_a_port_is_judged(port: int) -> None:
    """As that of a URL."""
    with pytest.raises(Denied, match="port_not_allowed"):
        said("127.0.0.1", port, lambda *_: [], ports=[80])


def test_the_next_address_is_tried(port: int) -> None:
    """One that does not answer is not the end."""
    answers = ["127.0.0.3", "127.0.0.1"]

    assert said("in.example", port, lambda *_: answers, allowed_private=["127.0.0.0/24"]) == b"hello"


def test_a_connection_that_comes_out_elsewhere_is_refused(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the system does with an address: the peer is compared."""
    real = asyncio.open_connection
    monkeypatch.setattr(asyncio, "open_connection", lambda *_: real("127.0.0.1", port))

    with pytest.raises(Denied, match="private_address"):
        said("in.example", port, lambda *_: ["127.0.0.2"], allowed_private=["127.0.0.0/24"])


def test_a_look_up_that_hangs_is_given_up() -> None:
    """In the time that there is."""
    over = threading.Event()

    def hang(*_: object) -> list[str]:
        over.wait(60)
        return []

    with pytest.raises(ToolError, match="did not answer in time"):
        said("in.example", 80, hang, timeout_s=0.05)
    over.set()
