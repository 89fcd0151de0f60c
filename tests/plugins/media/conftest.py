"""A server that speaks the providers' protocols, and fails, stalls and lies as a test says; toolboxes with the media tools."""

import base64
import json
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from toolcharter import Approver, Caller, Toolbox, build_tools

ADA = Caller(agent="ada", user="uma", session="s1")
FRAME = b"\xff\xfb\x90\x00" + bytes(413)
"""A frame of MP3: MPEG 1, layer III, 128 kbit/s, 44,100 Hz; 417 bytes, 26 ms."""
MP3 = b"ID3\x04\x00\x00\x00\x00\x00\x02xx" + FRAME * 39
"""A little more than a second."""


def png(width: int = 2, height: int = 1) -> bytes:
    """A black picture."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\x00" + bytes(width)) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


PNG = png()


class Answer:
    """What a path of the server answers."""

    def __init__(self, body: bytes, status: int = 200, *, stalls: bool = False) -> None:
        self.body, self.status, self.stalls = body, status, stalls


def speech_response(kind: str, audio: bytes = MP3) -> bytes:
    """The answer of a provider that speaks."""
    return json.dumps({"data": {"audio": audio.hex()}}).encode() if kind == "minimax" else audio


def image_response(kind: str, picture: bytes = PNG) -> bytes:
    """The answer of a provider that draws."""
    text = base64.b64encode(picture).decode()
    answers: dict[str, Any] = {
        "openai": {"data": [{"b64_json": text}]},
        "gemini": {"candidates": [{"content": {"parts": [{"text": "Here"}, {"inlineData": {"data": text}}]}}]},
        "openrouter": {"choices": [{"message": {"images": [{"image_url": {"url": f"data:image/png;base64,{text}"}}]}}]},
    }
    return json.dumps(answers[kind]).encode()


class Providers(ThreadingHTTPServer):
    """All providers, each below a path of its name."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.released = threading.Event()

    def one(self, name: str, **settings: Any) -> dict[str, Any]:
        """What a profile says of the provider *name*."""
        url = f"http://127.0.0.1:{self.server_port}/{name}"
        return {"name": name, "url": url, "allowed_private": ["127.0.0.1"], **settings}

    def all(self, *names: str) -> list[dict[str, Any]]:
        """The same of several."""
        return [self.one(name) for name in names]

    @property
    def names(self) -> list[str]:
        """Who was asked, in order."""
        return [path.split("/")[1] for path, _, _ in self.asked]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Providers)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.asked.append((self.path, {name.lower(): text for name, text in self.headers.items()}, body))
        answer = server.answers.get(self.path.split("/")[1], Answer(b"", 404))
        if answer.stalls:
            server.released.wait(120)
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    @override
    def log_message(self, *_: object) -> None:
        """Nothing is to be said on standard error."""

    @override
    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            """The client has not waited."""


@pytest.fixture(scope="module")
def listening() -> Iterator[Providers]:
    server = Providers()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def providers(listening: Providers) -> Iterator[Providers]:
    """The server, as nobody has asked it."""
    listening.answers.clear()
    listening.asked.clear()
    listening.released.clear()
    yield listening
    listening.released.set()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def box(workspace: Path, tmp_path: Path, store_url: str) -> Iterator[Callable[..., Toolbox]]:
    """Builds a toolbox with media tools; the other settings are the profile's."""
    with ExitStack() as stack:

        def build(tools: dict[str, Any], approver: Approver | None = None, **settings: Any) -> Toolbox:
            (tmp_path / "test.yaml").write_text(
                json.dumps({"profile": "test", "store": store_url, "tools": tools, **settings})
            )
            opened = build_tools(
                tmp_path / "test.yaml", workspace=workspace, caller=ADA, events=lambda _: None, approver=approver
            )
            return stack.enter_context(opened)

        yield build
