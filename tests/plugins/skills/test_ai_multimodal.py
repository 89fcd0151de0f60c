"""The script of the skill `ai-multimodal`, with the real google-genai against a server that speaks the Gemini API."""

import base64
import csv
import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from secrets import token_hex
from types import ModuleType
from typing import Any

import pytest
from PIL import Image
from tests.plugins.skills.conftest import Place
from tests.rows import each_row
from typing_extensions import override

from toolcharter_skills.extension import BUILT_IN

SCRIPT = BUILT_IN / "ai-multimodal" / "scripts" / "gemini_batch_process.py"
WAV = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(32)
MP4 = b"\x00\x00\x00\x18ftypisom" + bytes(16)
FILE = {"name": "files/abc", "mimeType": "video/mp4"}
GOOD, USED_UP = token_hex(16), token_hex(16)


class Gemini(ThreadingHTTPServer):
    """What the API answers, and what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, Any]] = []
        self.made = b""
        self.status = 200
        self.polls = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = self._server()
        server.asked.append((self.path, self.headers.get("x-goog-api-key", ""), None))
        if "operations" in self.path:
            server.polls += 1
            video = {"video": {"uri": f"{server.url}/v1beta/files/abc:download?alt=media"}}
            done = {"done": True, "response": {"generateVideoResponse": {"generatedSamples": [video]}}}
            self._say({"name": "models/veo/operations/1", **(done if server.polls > 1 else {})})
        elif ":download" in self.path:
            self._say(server.made)
        else:
            self._say({**FILE, "uri": f"{server.url}/v1beta/files/abc", "state": "ACTIVE"})

    def do_POST(self) -> None:
        server = self._server()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = self.headers.get("x-goog-api-key", "")
        server.asked.append((self.path, key, json.loads(body) if body.startswith(b"{") else body))
        status = 429 if key == USED_UP else server.status
        if status != HTTPStatus.OK:
            self._say({"error": {"code": status, "status": HTTPStatus(status).name, "message": "x"}}, status)
        elif self.path.startswith("/upload/"):
            self._say({}, headers={"X-Goog-Upload-URL": f"{server.url}/put", "X-Goog-Upload-Status": "active"})
        elif self.path == "/put":
            self._say({"file": {**FILE, "state": "PROCESSING"}}, headers={"X-Goog-Upload-Status": "final"})
        else:
            self._say(self._made(server))

    def _made(self, server: Gemini) -> dict[str, Any]:
        """What the models answer."""
        made = base64.b64encode(server.made).decode()
        if ":predictLongRunning" in self.path:
            return {"name": "models/veo/operations/1"}
        if ":predict" in self.path:
            return {"predictions": [{"mimeType": "image/png", "bytesBase64Encoded": made}]}
        part = {"inlineData": {"mimeType": "image/png", "data": made}} if "image" in self.path else {"text": "=A fox."}
        return {"candidates": [{"content": {"role": "model", "parts": [part]}}]}

    def _server(self) -> Gemini:
        assert isinstance(self.server, Gemini)
        return self.server

    def _say(self, said: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, *_: object) -> None:
        """Nothing is to be said on standard error."""


@pytest.fixture(scope="module")
def listening() -> Iterator[Gemini]:
    server = Gemini()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("gemini_batch_process", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # the folder of a skill is what its hash says
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def gemini(listening: Gemini, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Gemini:
    """The server, as nobody has asked it, for a program in a folder of its own."""
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", listening.url)
    monkeypatch.setenv("GEMINI_API_KEY", GOOD)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    listening.asked.clear()
    listening.status, listening.polls, listening.made = 200, 0, b""
    return listening


@pytest.fixture
def run(script: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs the script, and gives its status and rows."""
    monkeypatch.setattr(script, "WAIT_S", 0.01)

    def call(*words: str) -> tuple[int, list[dict[str, Any]]]:
        capsys.readouterr()
        status = script.main(words)
        return status, json.loads(capsys.readouterr().out)

    return call


def picture(path: Path, kind: str = "PNG") -> Path:
    Image.new("RGB", (2, 2)).save(path, kind)
    return path


def test_files_are_what_their_content_says(run: Callable[..., Any], gemini: Gemini, tmp_path: Path) -> None:
    """A batch goes on past what is none; the kind that is sent is that of the content."""
    picture(tmp_path / "song.mp3")
    picture(tmp_path / "old.gif", "GIF")
    (tmp_path / "notes.png").write_text("no picture at all")

    status, rows = run("--task", "analyze", "--files", "song.mp3", "old.gif", "notes.png", "away.png")

    assert status == 1
    assert [(row["kind"], row["status"], row["text"]) for row in rows] == [
        ("image/png", "ok", "=A fox."),
        ("image/png", "ok", "=A fox."),
        ("", "failed", ""),
        ("", "failed", ""),
    ]
    assert [row["error"] for row in rows[2:]] == [
        "it is of no known kind",
        "it cannot be read: No such file or directory",
    ]
    assert [asked[0].rpartition("/")[2] for asked in gemini.asked] == ["gemini-2.5-flash:generateContent"] * 2
    assert gemini.asked[0][2]["contents"][0]["parts"][0]["inlineData"]["mimeType"] == "image/png"


def test_each_task_takes_its_kinds(run: Callable[..., Any], gemini: Gemini, tmp_path: Path) -> None:
    """Speech is transcribed, pictures are read; the prompt is the task's own or the caller's."""
    (tmp_path / "a.bin").write_bytes(WAV)
    picture(tmp_path / "p.png")

    run("--task", "transcribe", "--files", "a.bin")
    run("--task", "extract", "--files", "p.png", "--prompt", "Only the title.")
    status, rows = run("--task", "transcribe", "--files", "p.png")

    prompts = [asked[2]["contents"][0]["parts"][1]["text"] for asked in gemini.asked]
    assert (prompts[0][:19], prompts[1]) == ("Write down what is ", "Only the title.")
    assert (status, rows[0]["error"]) == (1, "it is image/png, which transcribe does not take")


def test_large_files_are_uploaded(
    run: Callable[..., Any], script: ModuleType, gemini: Gemini, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And asked about once the API has processed them."""
    monkeypatch.setattr(script, "INLINE_BYTES", 10)
    (tmp_path / "v").write_bytes(MP4)

    status, rows = run("--task", "analyze", "--files", "v")

    assert (status, rows[0]["kind"]) == (0, "video/mp4")
    assert gemini.asked[-1][2]["contents"][0]["parts"][0]["fileData"]["fileUri"].endswith("/v1beta/files/abc")


def test_keys_are_rotated(
    run: Callable[..., Any], gemini: Gemini, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is used up is followed by the next, for the rest of the batch; no key is shown."""
    monkeypatch.setenv("GEMINI_API_KEY", USED_UP)
    monkeypatch.setenv("GEMINI_API_KEY_2", GOOD)
    picture(tmp_path / "p.png")

    status, _ = run("--task", "analyze", "--files", "p.png", "p.png")
    monkeypatch.delenv("GEMINI_API_KEY_2")
    refused, rows = run("--task", "analyze", "--files", "p.png")

    assert [asked[1] for asked in gemini.asked] == [USED_UP, GOOD, GOOD, USED_UP]
    assert (status, refused) == (0, 1)
    assert rows[0]["error"] == "all keys are refused or used up (the last answer was 429)"


def test_pictures_and_videos_are_made(run: Callable[..., Any], gemini: Gemini, tmp_path: Path) -> None:
    """Imagen and Veo: a file for each, of the kind that its content is."""
    gemini.made = picture(tmp_path / "p.png").read_bytes()
    drawn, pictures = run("--task", "generate", "--prompt", "a fox", "--aspect-ratio", "16:9")
    other, others = run("--task", "generate", "--prompt", "a fox", "--model", "gemini-2.5-flash-image")
    gemini.made = MP4
    filmed, films = run("--task", "generate-video", "--prompt", "a fox runs")

    assert (drawn, other, filmed) == (0, 0, 0), (pictures, others, films)
    assert Path(pictures[0]["files"][0]).suffix == ".png"
    assert Path(films[0]["files"][0]).read_bytes() == MP4
    assert gemini.asked[0][2]["parameters"]["aspectRatio"] == "16:9"


@each_row("made", [b"", b"<html>", WAV, b"#!/bin/sh\n"], ids=["nothing", "a page", "sound", "a program"])
def test_what_is_no_picture_is_not_written(
    run: Callable[..., Any], gemini: Gemini, tmp_path: Path, made: bytes
) -> None:
    """The API is believed as little as anybody."""
    gemini.made = made

    status, rows = run("--task", "generate", "--prompt", "a fox")

    assert (status, rows[0]["status"], list(tmp_path.glob("media/*"))) == (1, "failed", [])


def test_other_failures(run: Callable[..., Any], gemini: Gemini, tmp_path: Path) -> None:
    """A refusal that has nothing to do with the key is the file's own."""
    gemini.status = 500
    picture(tmp_path / "p.png")

    _, rows = run("--task", "analyze", "--files", "p.png")

    assert rows[0]["error"] == "the API answered 500 INTERNAL_SERVER_ERROR"


def test_forms(script: ModuleType, gemini: Gemini, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CSV that no spreadsheet takes for a formula, and Markdown, into a file if one is named."""
    picture(tmp_path / "p.png")
    words = ["--task", "analyze", "--files", "p.png", "--format"]

    script.main([*words, "csv"])
    table = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    script.main([*words, "markdown", "--output", "out.md"])

    assert table[0] == ["source", "kind", "status", "text", "files", "error"]
    assert table[1][3] == "'=A fox."
    assert (tmp_path / "out.md").read_text() == "## p.png\n\n=A fox.\n"


@each_row(
    "words",
    [
        ["--task", "analyze"],
        ["--task", "generate", "--files", "p.png"],
        ["--task", "dance", "--files", "p.png"],
        ["--task", "generate", "--prompt", "x", "--count", "9"],
    ],
)
def test_wrong_calls(script: ModuleType, gemini: Gemini, words: list[str]) -> None:
    """They end with status 2 before anything is asked."""
    with pytest.raises(SystemExit) as ended:
        script.main(words)

    assert (ended.value.code, gemini.asked) == (2, [])


def test_without_a_key(script: ModuleType, gemini: Gemini, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which variable is missing."""
    monkeypatch.delenv("GEMINI_API_KEY")

    with pytest.raises(SystemExit, match="set GEMINI_API_KEY"):
        script.main(["--task", "generate", "--prompt", "x"])


def test_the_skill_is_found(place: Place) -> None:
    """By what it is for; its text names the script where it lies."""
    live = place.open(built_in=True)

    hits = live.call("skill_search", {"query": "transcribe audio"}).data["hits"]
    body = live.call("skill_get", {"name": "ai-multimodal"}).data["body"]

    assert [one["name"] for one in hits] == ["ai-multimodal"]
    assert f"python {SCRIPT} --task analyze --files image.png" in body
