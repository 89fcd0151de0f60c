"""Servers that hang, drip, lie, flood: each ends in time, with an error that says what it was."""

import asyncio
import gzip
import socket
import threading
import zlib
from itertools import count
from time import monotonic

import pytest
from tests.core.guards.network.fake_internet import FakeInternet, answer

from toolcharter import HttpLimits, NetworkPolicy, ToolError
from toolcharter.guards.network import lookup
from toolcharter.guards.network.client import Client

pytestmark = pytest.mark.slow

SOON = HttpLimits(timeout_s=0.4, max_bytes=100_000)
OVER = 30.0
"""A call that takes longer has not kept its limit; far above it, for machines that are busy."""


def error_of(fetch, url: str = "http://example.com/", limits: HttpLimits = SOON, **given) -> tuple[str, str]:
    """Reason and message of the error, which comes in time."""
    begun = monotonic()
    with pytest.raises(ToolError) as caught:
        fetch(url, limits=limits, **given)
    assert monotonic() - begun < OVER
    return caught.value.reason, caught.value.message


TIMED_OUT = ("timed_out", "The host did not answer in time.")
INCOMPLETE = ("invalid_response", "The host does not answer with complete and valid HTTP.")


def dripping(before: bytes, drop: bytes):
    """Sends *drop* again and again until the other side hangs up."""

    def reply(connection: socket.socket, head: bytes) -> None:
        connection.sendall(before)
        while True:
            connection.sendall(drop)
            threading.Event().wait(0.01)

    return reply


def flooding(before: bytes, drop: bytes):
    """The same as fast as it goes."""

    def reply(connection: socket.socket, head: bytes) -> None:
        connection.sendall(before)
        while True:
            connection.sendall(drop)

    return reply


HEAD = b"HTTP/1.1 200 OK\r\n"


def test_a_server_that_hangs_is_left(world: FakeInternet, fetch) -> None:
    """The limit holds for a server that says nothing."""
    world.put("example.com", lambda connection, head: world.servers[0].over.wait(OVER))

    assert error_of(fetch) == TIMED_OUT


@pytest.mark.parametrize(
    ("before", "drop"),
    [
        pytest.param(HEAD, b"X: y\r\n", id="headers"),
        pytest.param(HEAD + b"Content-Length: 99999\r\n\r\n", b"x", id="body"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", id="chunks"),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", id="interim answers"),
    ],
)
def test_a_server_that_drips_is_left(world: FakeInternet, fetch, before: bytes, drop: bytes) -> None:
    """The limit is on the whole, so a byte now and then does not prolong it."""
    world.put("example.com", dripping(before, drop))

    assert error_of(fetch) == TIMED_OUT


def test_a_handshake_that_hangs_is_left(world: FakeInternet, fetch) -> None:
    """The limit holds for TLS."""
    world.put("example.com", lambda connection, head: world.servers[0].over.wait(OVER), port=443)

    assert error_of(fetch, "https://example.com/") == TIMED_OUT


def test_redirects_share_one_limit(world: FakeInternet, fetch) -> None:
    """Each hop takes from the same time."""
    moved = answer(b"", "302 Found", Location="/again")

    def reply(connection: socket.socket, head: bytes) -> None:
        threading.Event().wait(0.05)
        connection.sendall(moved)

    world.put("example.com", reply)

    assert error_of(fetch, limits=HttpLimits(timeout_s=0.4, max_redirects=10_000)) == TIMED_OUT


def test_the_calls_own_deadline_wins(world: FakeInternet, fetch) -> None:
    """A call with no time left begins nothing, whatever the tool's limits are."""
    world.put("example.com", answer())

    assert error_of(fetch, limits=HttpLimits(timeout_s=99), deadline=monotonic() - 1) == TIMED_OUT
    assert world.dialled == []


def test_a_resolver_that_hangs_is_left(world: FakeInternet, fetch, monkeypatch) -> None:
    """The limit holds for the look-up, and hanging ones are bounded in number."""
    over = threading.Event()

    def hang(*args: object, **options: object) -> list[object]:
        over.wait(OVER)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    monkeypatch.setattr(lookup, "_slots", threading.BoundedSemaphore(2))

    reasons = [error_of(fetch) for _ in range(3)]
    over.set()

    assert reasons == [TIMED_OUT, TIMED_OUT, ("host_not_found", "Too many DNS lookups are running.")]


def test_a_host_that_does_not_take_the_request_is_left(world: FakeInternet, fetch) -> None:
    """The limit holds for sending."""

    def reply(connection: socket.socket, head: bytes) -> None:
        world.servers[0].over.wait(OVER)  # and reads no further

    world.put("example.com", reply)

    assert error_of(fetch, method="POST", content=b"x" * 30_000_000) == TIMED_OUT


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(HEAD + b"Content-Length: 99\r\n\r\nshort", id="length above the body"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"SSH-2.0-x\r\n", id="no HTTP"),
        pytest.param(HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", id="two lengths"),
        pytest.param(HEAD + b"Content-Length: -1\r\n\r\n", id="negative length"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", id="no chunk"),
        pytest.param(HEAD + b"X: a\0b\r\n\r\n", id="NUL in a header"),
    ],
)
def test_an_answer_that_is_no_http_is_an_error(world: FakeInternet, fetch, raw: bytes) -> None:
    """What is incomplete or malformed is not shown as an answer."""
    world.put("example.com", raw)

    assert error_of(fetch, limits=HttpLimits()) == INCOMPLETE


def test_a_body_beyond_its_length_is_not_read(world: FakeInternet, fetch) -> None:
    """What a server sends after the end that it has announced belongs to nothing."""
    world.put("example.com", HEAD + b"Content-Length: 5\r\n\r\nhello, and more")

    assert fetch("http://example.com/").body == b"hello"


def test_a_connection_that_breaks_is_an_error(world: FakeInternet, fetch) -> None:
    """Another try may help."""

    def reply(connection: socket.socket, head: bytes) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # closes by a reset

    world.put("example.com", reply)

    assert error_of(fetch, limits=HttpLimits())[0] in {"connection_failed", "invalid_response"}


@pytest.mark.parametrize(
    ("before", "drop", "reason"),
    [
        pytest.param(HEAD, b"X: y\r\n", "invalid_response", id="headers"),
        pytest.param(HEAD, b"x" * 100, "invalid_response", id="one header"),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", "response_too_large", id="interim answers"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n", "invalid_response", id="trailers"),
    ],
)
def test_a_flood_beside_the_body_is_an_error(
    world: FakeInternet, fetch, before: bytes, drop: bytes, reason: str
) -> None:
    """Heads, interim answers and trailers have limits of their own."""
    world.put("example.com", flooding(before, drop))

    assert error_of(fetch, limits=HttpLimits())[0] == reason


def test_a_packed_body_that_unpacks_to_nothing_comes_to_an_end(world: FakeInternet, fetch) -> None:
    """What arrives is limited as well as what it means."""
    nothing = gzip.compress(b"") * 1000
    world.put("example.com", flooding(HEAD + b"Content-Encoding: gzip\r\n\r\n", nothing))

    assert error_of(fetch, limits=HttpLimits(max_bytes=1000))[0] == "response_too_large"


def test_the_number_of_headers_is_limited(world: FakeInternet, fetch) -> None:
    """At the limit an answer is taken, one past it refused."""
    world.put("example.com", answer(b"", "200 OK", **{f"X{number}": "y" for number in range(8)}))

    assert fetch("http://example.com/", limits=HttpLimits(max_headers=10)).status == 200
    assert error_of(fetch, limits=HttpLimits(max_headers=9)) == (
        "response_too_large",
        "The answer has too many headers.",
    )


@pytest.mark.parametrize(("size", "truncated"), [(1000, False), (1001, True)], ids=["at the limit", "one past it"])
def test_a_body_is_cut_at_the_limit(world: FakeInternet, fetch, size: int, truncated) -> None:
    """And whoever asked is told."""
    world.put("example.com", answer(b"x" * size))

    got = fetch("http://example.com/", limits=HttpLimits(max_bytes=1000))

    assert (got.body, got.truncated) == (b"x" * 1000, truncated)


def test_an_endless_body_is_cut_while_it_comes(world: FakeInternet, fetch) -> None:
    """A body that never ends costs no more than the limit."""
    world.put("example.com", flooding(HEAD + b"\r\n", b"x" * 10_000))

    got = fetch("http://example.com/", limits=HttpLimits(max_bytes=100_000))

    assert (len(got.body), got.truncated) == (100_000, True)


def deflated(data: bytes, form: int = zlib.MAX_WBITS) -> bytes:
    packer = zlib.compressobj(wbits=form)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        pytest.param("gzip", gzip.compress(b"hello"), id="gzip"),
        pytest.param("X-GZip", gzip.compress(b"hello"), id="its old name"),
        pytest.param("gzip", gzip.compress(b"he") + gzip.compress(b"llo"), id="two members"),
        pytest.param("gzip", gzip.compress(b"hello") + b"\0\0", id="padding"),
        pytest.param("deflate", deflated(b"hello"), id="deflate"),
        pytest.param("deflate", deflated(b"hello") + b"more", id="deflate and more"),
        pytest.param("deflate", deflated(b"hello", -zlib.MAX_WBITS), id="deflate without frame"),
        pytest.param("identity", b"hello", id="identity"),
    ],
)
def test_encodings(world: FakeInternet, fetch, encoding: str, packed: bytes) -> None:
    """Each that we ask for, and what servers make of it."""
    world.put("example.com", answer(packed, Content_Encoding=encoding))

    assert fetch("http://example.com/").body == b"hello"


@pytest.mark.parametrize(
    ("encoding", "packed", "message"),
    [
        pytest.param("br", b"x", "The answer is encoded as 'br', which was not requested.", id="unknown"),
        pytest.param("gzip, gzip", b"x", "The answer is encoded as 'gzip, gzip', which was not requested.", id="twice"),
        pytest.param("gzip", b"hello", "The answer cannot be decompressed: Error -3 while decompressing", id="no gzip"),
        pytest.param(
            "deflate", b"\x78hello", "The answer cannot be decompressed: Error -3 while decompressing", id="broken"
        ),
    ],
)
def test_what_does_not_unpack_is_an_error(
    world: FakeInternet, fetch, encoding: str, packed: bytes, message: str
) -> None:
    """It is not shown as it came."""
    world.put("example.com", answer(packed, Content_Encoding=encoding))

    reason, said = error_of(fetch, limits=HttpLimits())

    assert (reason, said[: len(message)]) == ("invalid_response", message)


def test_an_encoding_in_two_lines_is_one(world: FakeInternet, fetch) -> None:
    """Else the second would be left on, and what is still packed shown as the body."""
    packed = gzip.compress(gzip.compress(b"hello"))
    world.put("example.com", HEAD + b"Content-Encoding: gzip\r\n" * 2 + b"\r\n" + packed)

    encoded = error_of(fetch, limits=HttpLimits())
    assert encoded == ("invalid_response", "The answer is encoded as 'gzip, gzip', which was not requested.")


@pytest.mark.parametrize("form", ["gzip", "deflate"])
def test_a_compression_bomb_is_not_unpacked(world: FakeInternet, fetch, form: str) -> None:
    """Only what the limit lets through ever exists in memory."""
    bomb = (gzip.compress if form == "gzip" else deflated)(b"\0" * 50_000_000)
    world.put("example.com", answer(bomb, Content_Encoding=form))

    got = fetch("http://example.com/", limits=HttpLimits(max_bytes=100_000))

    assert (got.body, got.truncated) == (b"\0" * 100_000, True)


def test_a_cancelled_request_hangs_up(world: FakeInternet) -> None:
    """Whoever waits no longer leaves no connection behind."""
    hung_up = threading.Event()
    asked = threading.Event()

    def reply(connection: socket.socket, head: bytes) -> None:
        asked.set()
        if connection.recv(1) == b"":
            hung_up.set()

    world.put("example.com", reply)

    async def run() -> None:
        task = asyncio.create_task(Client().afetch("http://example.com/", NetworkPolicy(), deadline=monotonic() + OVER))
        for _ in count():
            await asyncio.sleep(0.001)
            if asked.is_set():
                break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())

    assert hung_up.wait(OVER)


def test_a_request_without_the_extra_says_what_to_install(world: FakeInternet, fetch, monkeypatch) -> None:
    """It is an extra: without it the error names the line that brings it."""
    monkeypatch.setitem(__import__("sys").modules, "toolcharter.guards.network.dial", None)

    assert error_of(fetch) == ("tool_error", "HTTP needs the extra: pip install 'toolcharter[http]'.")
