"""Servers behind a URL: streamable HTTP and the older transport, through the network guard."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from toolcharter_mcp_bridge.http import events_of
from toolcharter_mcp_bridge.wire import ConnectionLost

from .bridge_setup import BridgeSetup, wait_until

pytestmark = pytest.mark.slow
HERE = ["127.0.0.1"]


@pytest.mark.parametrize(("transport", "path"), [("streamable-http", "mcp"), ("sse", "sse")])
def test_remote_servers(world: BridgeSetup, serve: Callable[..., int], transport: str, path: str) -> None:
    """Their tools are governed alike."""
    port = serve(transport)
    url = f"http://127.0.0.1:{port}/{path}"
    box = world.open({"calc": {"url": url, "transport": transport, "allowed_private": HERE}})

    assert sorted(box) == ["mcp__calc__add", "mcp__calc__shout"]
    assert box.call("mcp__calc__add", {"a": 1, "b": 2}).data == {"result": 3}
    assert box.call("mcp__calc__add", {"a": 1}).reason == "invalid_arguments"


@pytest.mark.parametrize(("transport", "path"), [("streamable-http", "mcp"), ("sse", "sse")])
def test_remote_servers_that_come_back(
    world: BridgeSetup, serve: Callable[..., int], transport: str, path: str
) -> None:
    """A new process at the same place, which knows nothing of the old session."""
    port = serve(transport)
    url = f"http://127.0.0.1:{port}/{path}"
    server = {"url": url, "transport": transport, "allowed_private": HERE}
    live = world.live({"calc": server}, mark_output=False)
    before = live.current
    process = serve.processes[0]  # type: ignore[attr-defined]
    process.kill()
    process.wait()
    lost = live.call("mcp__calc__add", {"a": 1, "b": 2})
    assert lost.reason in {"connection_lost", "server_unavailable"}

    serve(transport, port)

    wait_until(lambda: live.call("mcp__calc__add", {"a": 1, "b": 2}).text == "3")
    assert live.current is before


def test_private_addresses_need_a_word(world: BridgeSetup, serve: Callable[..., int]) -> None:
    """The network guard is in front of each connection."""
    port = serve("streamable-http")
    live = world.live({"calc": {"url": f"http://127.0.0.1:{port}/mcp"}})

    assert live.reload().notes[0].startswith("calc: private_address.")


class Handler(BaseHTTPRequestHandler):
    """Answers each request with what the server's `answer` says, and keeps its headers."""

    def do_POST(self) -> None:
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, kind, body = self.server.answer  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("content-type", kind)
        if status == 307:
            self.send_header("location", "http://127.0.0.1:1/elsewhere")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_DELETE = do_POST  # noqa: N815 - the names that the base class calls

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def stub() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []  # type: ignore[attr-defined]
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("transport", "answer", "why"),
    [
        pytest.param("streamable-http", (404, "text/plain", b"no"), "status 404", id="missing"),
        pytest.param("streamable-http", (307, "text/plain", b""), "status 307", id="elsewhere"),
        pytest.param("streamable-http", (200, "text/html", b"<p>"), "without a message", id="no-mcp"),
        pytest.param("streamable-http", (200, "application/json", b"{"), "without a message", id="no-json"),
        pytest.param("streamable-http", (200, "text/event-stream", b"data: {\n\n"), "without a message", id="no-event"),
        pytest.param(
            "streamable-http",
            (400, "application/json", b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "not today"}}'),
            "not today",
            id="error-with-a-status",
        ),
        pytest.param("streamable-http", (200, "application/json", b"x" * 500_000), "response_too_large", id="huge"),
        pytest.param("streamable-http", (200, "text/event-stream", b"x" * 100_000), "more than 1024", id="huge-event"),
        pytest.param("sse", (404, "text/plain", b"no"), "status 404", id="sse-missing"),
        pytest.param("sse", (200, "text/event-stream", b""), "ended its stream", id="sse-ends"),
        pytest.param(
            "sse",
            (200, "text/event-stream", b"event: endpoint\ndata: http://127.0.0.1:1/x\n\n"),
            "sent to another host",
            id="sse-elsewhere",
        ),
    ],
)
def test_what_is_no_server(world: BridgeSetup, stub: Any, transport: str, answer: Any, why: str) -> None:
    """It costs its own tools, and the note says why."""
    stub.answer = answer
    url = f"http://127.0.0.1:{stub.server_address[1]}/mcp"
    server = {"url": url, "transport": transport, "allowed_private": HERE, "connect_timeout_s": 20}
    live = world.live({"x": server}, max_message_bytes=1024)

    assert why in live.reload().notes[0]
    assert [*live.current] == []


def test_headers_come_by_reference(world: BridgeSetup, stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are sent, and stand nowhere else."""
    value = "plain-words-for-a-header"
    monkeypatch.setenv("BRIDGE_TEST_HEADER", value)
    stub.answer = (400, "text/plain", b"")
    url = f"http://127.0.0.1:{stub.server_address[1]}/mcp"
    headers = {"Authorization": {"env": "BRIDGE_TEST_HEADER", "prefix": "Bearer "}}
    live = world.live({"x": {"url": url, "headers": headers, "allowed_private": HERE}})

    assert stub.seen[0]["authorization"] == f"Bearer {value}"
    assert value not in repr(live.reload())
    assert value not in repr(world.events)


def events(body: bytes, limit: int = 100) -> Any:
    async def read() -> list[tuple[str, str]]:
        return [event async for event in events_of(httpx.Response(200, content=body), limit)]

    return asyncio.run(read())


def test_events() -> None:
    """Types, several lines, comments, both ends of lines; what is not ended is none."""
    body = b": hello\r\nevent: a\r\ndata: 1\r\ndata:2\r\nid: 5\r\n\r\n\ndata: 3\n\nevent: empty\n\ndata: lost"

    assert events(body) == [("a", "1\n2"), ("message", "3")]
    with pytest.raises(ConnectionLost):
        events(b"data: 1\n" * 20)
