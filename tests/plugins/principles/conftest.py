"""A principles service on this machine, which does as a test tells it, and a profile that asks it."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Caller, Toolbox, build_tools

Behave = Callable[[BaseHTTPRequestHandler], None]

ALLOWED = {"result": "Action performed with params: map[]"}
BLOCKED = {"reasons": ["No tools on holidays."]}


def respond_with(value: Any, status: int = 200, **headers: str) -> Behave:
    """Answer *value*: bytes as they are, all else as JSON."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()

    def behave(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, text in {"Content-Length": str(len(body)), **headers}.items():
            request.send_header(name.replace("_", "-"), text)
        request.end_headers()
        request.wfile.write(body)

    return behave


class Service:
    """The service: what it was asked, and what it does then."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.behave: Behave = respond_with(ALLOWED)
        self.asked: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.released = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                service.requests.append((self.command, self.path, dict(self.headers)))
                service.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                service.behave(self)

            def do_GET(self) -> None:
                service.requests.append((self.command, self.path, dict(self.headers)))
                respond_with(ALLOWED)(self)

            def log_message(self, *_: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that gives up is what some tests are about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._scheme = "http"
        if certificate is not None:
            self._scheme = "https"
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def hang(self, _request: BaseHTTPRequestHandler) -> None:
        """Say nothing until the test is over."""
        self.released.wait(120)

    def drip(self, request: BaseHTTPRequestHandler) -> None:
        """Begin to answer, and never come to an end, though no pause is long."""
        request.send_response(200)
        request.send_header("Content-Length", "10000")
        request.end_headers()
        while not self.released.wait(0.01):
            request.wfile.write(b" ")

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def start() -> Iterator[Callable[..., Service]]:
    """Starts services that end with the test."""
    started: list[Service] = []

    def start(certificate: Path | None = None) -> Service:
        started.append(Service(certificate))
        return started[-1]

    yield start
    for service in started:
        service.close()


@pytest.fixture
def service(start: Callable[..., Service]) -> Service:
    return start()


@pytest.fixture
def events() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def toolbox_for(tmp_path: Path, events: list[dict[str, Any]]) -> Iterator[Callable[..., Toolbox]]:
    """Builds toolboxes from a profile with `principles`, which end with the test."""
    made: list[Toolbox] = []
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "poem.txt").write_text("Roses are red\n")

    def build(url: str, *, caller: Caller | None = None, **settings: Any) -> Toolbox:
        profile = tmp_path / "asked.yaml"
        policy = json.dumps({"url": url, "timeout_s": 60, **settings})
        profile.write_text(
            f"profile: asked\ntools:\n  read_file: {{}}\n  git: {{}}\nextensions:\n  principles: {policy}\n"
        )
        made.append(build_tools(profile, workspace=workspace, caller=caller, events=events.append))
        return made[-1]

    yield build
    for toolbox in made:
        toolbox.close()
