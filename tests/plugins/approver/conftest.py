"""A service on this machine that asks nobody and answers as a test tells it, and a profile that sends people there."""

import hmac
import json
import secrets
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

import pytest

from toolcharter import Caller, Toolbox, build_tools

Behave = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]
SIGNATURE = "X-Toolcharter-Signature"
SECRET = secrets.token_hex(32)
"""What the service and the gate share, where a test says nothing else."""


def signature(asked: dict[str, Any], body: bytes, secret: str = SECRET) -> str:
    """What the service signs its answer with, as the README says."""
    return "sha256=" + hmac.digest(secret.encode(), asked["nonce"].encode() + b"." + body, "sha256").hex()


def respond_with(value: Any, status: int = 200, **headers: str | None) -> Behave:
    """Send *value*, signed: bytes as they are, all else as JSON. A header of None is not sent."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()

    def behave(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        request.send_response(status)
        signed = {SIGNATURE: signature(asked, body)} if "nonce" in asked else {}
        for name, text in {"Content-Length": str(len(body)), **signed, **headers}.items():
            if text is not None:
                request.send_header(name.replace("_", "-"), text)
        request.end_headers()
        request.wfile.write(body)

    return behave


def answer_with(answer: Any = "allow_once", **fields: Any) -> Behave:
    """Answer the question that was asked."""

    def behave(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        respond_with({"digest": asked["digest"], "answer": answer, **fields})(request, asked)

    return behave


ANSWER_LATER = respond_with(b"", 202, Location="/approvals/17")


class Service:
    """The service: what it was asked, and what it does then."""

    def __init__(self, certificate: Path | None = None, *, clients: Path | None = None, at: Path | None = None) -> None:
        self.behave: Behave = answer_with()
        self.looks: list[Behave] = []
        """What each look for an answer meets; the last one again and again."""
        self.asked: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.released = threading.Event()
        self.withdrawn = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                service.requests.append((self.command, self.path, dict(self.headers)))
                service.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append(json.loads(service.bodies[-1]))
                service.behave(self, service.asked[-1])

            def do_GET(self) -> None:
                service.requests.append((self.command, self.path, dict(self.headers)))
                look = service.looks.pop(0) if len(service.looks) > 1 else service.looks[0]
                look(self, service.asked[-1])

            def do_DELETE(self) -> None:
                service.requests.append((self.command, self.path, dict(self.headers)))
                service.withdrawn.set()  # first: who withdraws a question may be gone before the answer is sent
                respond_with(b"")(self, {})

            def log_message(self, *_: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that gives up is what some tests are about."""

        class LocalServer(ThreadingMixIn, UnixStreamServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """As above."""

        self._at = at
        self._server = Server(("127.0.0.1", 0), Handler) if at is None else LocalServer(str(at), Handler)
        self._scheme = "http"
        if certificate is not None:
            self._scheme = "https"
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            if clients is not None:
                tls.verify_mode = ssl.CERT_REQUIRED
                tls.load_verify_locations(clients)
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        if self._at is not None:
            return f"unix:{self._at}"
        return f"{self._scheme}://127.0.0.1:{self._server.socket.getsockname()[1]}"

    @property
    def methods(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path, _ in self.requests]

    def hang(self, _request: BaseHTTPRequestHandler, _asked: dict[str, Any]) -> None:
        """Say nothing until the test is over."""
        self.released.wait(120)

    def drip(self, request: BaseHTTPRequestHandler, _asked: dict[str, Any]) -> None:
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

    def start(certificate: Path | None = None, **facts: Any) -> Service:
        started.append(Service(certificate, **facts))
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
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state folder."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def toolbox_for(
    tmp_path: Path, state: Path, events: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Toolbox]]:
    """Builds toolboxes from a profile that asks through the service; they end with the test.

    The service shares `SECRET`, unless the test names another proof, or None.
    """
    monkeypatch.setenv("APPROVER_SECRET", SECRET)
    # A question is taken back by the way, and given up soon; a busy machine may take longer.
    monkeypatch.setattr("toolcharter_approver.http_approver.WITHDRAW_TIMEOUT_S", 120.0)
    made: list[Toolbox] = []
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "poem.txt").write_text("Roses are red\n")

    def build(
        url: str, *, caller: Caller | None = None, approvals: dict[str, Any] | None = None, **settings: Any
    ) -> Toolbox:
        profile = tmp_path / "asking.yaml"
        written = {"url": url, "poll_interval_s": 0.05, "secret_env": "APPROVER_SECRET", **settings}
        policy = json.dumps({name: value for name, value in written.items() if value is not None})
        asking = json.dumps({"timeout_s": 60, **(approvals or {})})
        profile.write_text(
            "profile: asking\nmode: ask\ntools:\n  read_file: {}\n"
            f"approvals: {asking}\nextensions:\n  approver: {policy}\n"
        )
        made.append(build_tools(profile, workspace=workspace, caller=caller, events=events.append))
        return made[-1]

    yield build
    for toolbox in made:
        toolbox.close()
