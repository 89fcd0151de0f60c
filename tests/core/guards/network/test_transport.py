"""The httpx transports: the same guard under a client of a library's."""

import asyncio
from math import inf
from typing import Any

import httpx
import pytest
from tests.core.guards.network.fake_internet import FakeInternet, answer

from toolcharter import Denied, HttpLimits, NetworkPolicy, ToolError
from toolcharter.guards.network.client import Client
from toolcharter.guards.network.transport import AsyncGuardedTransport, GuardedTransport

PUBLIC = "93.184.216.34"


@pytest.fixture(params=["sync", "async"])
def send(request: pytest.FixtureRequest):
    """One request by a client, redirects followed, read whole."""

    def run(method: str, url: str, *, limits: HttpLimits | None = None, **given: Any) -> httpx.Response:
        def lines():
            return Client().settings(NetworkPolicy(), limits, inf)

        async def ask() -> httpx.Response:
            transport = AsyncGuardedTransport(lines)
            async with httpx.AsyncClient(transport=transport, follow_redirects=True, trust_env=False) as client:
                return await client.request(method, url, **given)

        if request.param == "async":
            return asyncio.run(ask())
        with httpx.Client(transport=GuardedTransport(lines), follow_redirects=True, trust_env=False) as client:
            return client.request(method, url, **given)

    return run


def test_a_client_gets_its_answer(world: FakeInternet, send) -> None:
    """Status and headers as sent, the body unpacked already; the address that was checked was dialled."""
    server = world.put("example.com", answer(b"hello", X_A="b"))

    got = send("POST", "http://example.com/a?b", json={"c": 1})

    assert (got.status_code, got.content, got.headers["x-a"]) == (200, b"hello", "b")
    assert world.dialled == [(PUBLIC, 80)]
    [head] = server.requests
    assert head.startswith(
        b"POST /a?b HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nAccept-Encoding: gzip, deflate"
    )
    assert head.lower().count(b"content-length: 7\r\n") == head.lower().count(b"host:") == 1


def test_a_packed_body_is_unpacked_under_the_limit(world: FakeInternet, send) -> None:
    """The client is told of no encoding, so that it cannot unpack without a limit."""
    import gzip  # noqa: PLC0415 - only here

    world.put("example.com", answer(gzip.compress(b"\0" * 1000), Content_Encoding="gzip"))

    got = send("GET", "http://example.com/", limits=HttpLimits(max_bytes=1000))
    assert (len(got.content), "content-encoding" in got.headers) == (1000, False)
    with pytest.raises(ToolError, match=r"The answer is larger than the limit\."):
        send("GET", "http://example.com/", limits=HttpLimits(max_bytes=999))


def test_a_client_may_stream_its_own_body(world: FakeInternet, send) -> None:
    """What frames it is the client's."""
    server = world.put("example.com", answer())

    send("POST", "http://example.com/", headers={"Content-Length": "2"}, content=b"ab")

    assert server.requests[0].lower().count(b"content-length") == 1


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/", "private_address"),
        ("http://localhost/", "private_address"),
        ("http://u:p@example.com/", "credentials_in_url"),
        ("http://example.com:25/", "port_not_allowed"),
        ("http://inside.example/", "private_address"),
    ],
)
def test_a_client_cannot_go_where_nobody_may(world: FakeInternet, send, url: str, reason: str) -> None:
    """Each request is judged anew, whatever httpx has made of its URL."""
    world.names["inside.example"] = [["10.0.0.1"]]

    with pytest.raises(Denied) as caught:
        send("GET", url)
    assert (caught.value.reason, world.dialled) == (reason, [])


def test_a_clients_redirects_are_judged(world: FakeInternet, send) -> None:
    """The client redirects, and each hop comes through the guard."""
    world.put("example.com", answer(b"", "302 Found", Location="http://[::1]/"))

    with pytest.raises(Denied):
        send("GET", "http://example.com/")
    assert world.dialled == [(PUBLIC, 80)]


def test_no_cookie_is_kept(world: FakeInternet, send) -> None:
    """A client's jar stays empty."""
    world.put("example.com", answer(Set_Cookie="a=b"))

    assert "set-cookie" not in send("GET", "http://example.com/").headers
