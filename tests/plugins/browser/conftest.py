"""The tools through the real gate, on the host, with the real browser and a small site on the loopback."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.plugins.shell.conftest import HostRuntime

from toolcharter import Caller, Toolbox, ToolResult, ToolRuntime, ToolSpec
from toolcharter.gate.build.open import open_toolbox
from toolcharter.profile.model import Limits
from toolcharter.testing.plugin import COVERAGE
from toolcharter.testing.toolboxes import IN_MEMORY, plan_of
from toolcharter_browser import register_tools, session

PAGES: dict[str, tuple[str, bytes]] = {
    "/": (
        "text/html",
        b"""<title>Start</title><h1>Hello</h1><p>Some <b>bold</b> words.</p><p style="display:none">hidden words</p>
        <ul><li>one</li><li><a href="/next">Next page</a></li><li><a href="/next" target="_blank">In a window</a></li></ul>
        <form action="/said"><label>Your name <input name="who"></label><button>Send</button></form>""",
    ),
    "/next": ("text/html", b"<title>Next</title><p>The next page."),
    "/file": ("application/octet-stream", b"not a page"),
    "/hangs": ("text/html", b"<title>Hangs</title><p>soon<script>setTimeout(() => { for (;;); }, 200)</script>"),
}


class Site(ThreadingHTTPServer):
    """Serves PAGES and what a test adds; notes what was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages = dict(PAGES)
        self.moved: dict[str, str] = {}
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        path = self.path.partition("?")[0]
        if path in self.server.moved:
            self._head(302, [("Location", self.server.moved[path]), ("Content-Length", "0")])
        elif path == "/nothing":
            self._head(204, [])
        elif path == "/said":
            self._answer(200, "text/html", f"<title>Said</title><p>{self.path}".encode())
        else:
            kind, body = self.server.pages.get(path, ("text/html", b"<title>No</title>nothing here"))
            self._answer(200 if path in self.server.pages else 404, kind, body)

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self._head(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
        self.wfile.write(body)

    def _head(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


Hasten = Callable[[float], None]


class Call(Protocol):
    def __call__(self, tool: str, /, *, session: str | None = None, **args: Any) -> ToolResult: ...


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ws")


@pytest.fixture(scope="module")
def open_box(workspace: Path, pytestconfig: pytest.Config) -> Iterator[Callable[..., Toolbox]]:
    """Open a toolbox with all tools of the distribution."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patches:
        patches.setattr(session, "START_S", 120.0)  # Which only Chromium on a busy machine needs.

        def on_host(spec: ToolSpec[Any]) -> ToolSpec[Any]:
            def construct(folder: Path, typed: Any, rt: ToolRuntime) -> Callable[..., Any]:
                wrapped: Any = HostRuntime(rt, folder, is_sandboxed=False)
                return spec.build(folder, typed, wrapped)

            construct.__module__ = spec.build.__module__  # by which what it shows is counted

            pytestconfig.stash[COVERAGE].expect(IN_MEMORY, spec)
            return replace(spec, build=construct)

        def build(timeout_s: float | None = 180.0, **policies: dict[str, Any]) -> Toolbox:
            specs = [on_host(spec) for spec in register_tools()]
            given = {spec.name: policies.get(spec.name, {}) for spec in specs}
            plan = plan_of(specs, given, Limits(timeout_s=timeout_s), IN_MEMORY)
            return stack.enter_context(
                open_toolbox(plan, workspace=workspace, caller=None, sinks=[_ignore], strict=True)
            )

        yield build


@pytest.fixture
def hasten(monkeypatch: pytest.MonkeyPatch) -> Hasten:
    """Have all pages answer in so many seconds from now on, of which a busy machine may have needed more before."""
    plain = session.Session._time_left

    def put(seconds: float) -> None:
        monkeypatch.setattr(session.Session, "_time_left", lambda one, most_s: plain(one, min(most_s, seconds)))

    return put


def calling(box: Toolbox) -> Call:
    """Calls of *box*, for any session."""

    def call(
        tool: str, /, *, session: str | None = None, tenant: str = "", user: str | None = None, **args: Any
    ) -> ToolResult:
        return box.for_caller(Caller(session=session, tenant=tenant, user=user)).call(tool, args)

    return call


def _ignore(event: object) -> None:
    """These tests are not about events."""
