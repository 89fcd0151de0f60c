"""A canary: secrets planted wherever a session could pick one up come out of it nowhere.

The tools are real: files, git, and a shell on the host. What is looked at is all that leaves the gate: results, events,
the questions to the approver, notifications, the log, and what a tool's exception says.
"""

import logging
import os
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from secrets import choice
from string import ascii_letters, digits
from typing import Any, Literal
from urllib.parse import quote

import pytest

from toolcharter import ApprovalRequest, ToolResult, build_tools
from toolcharter.guards.secrets import engine, known

pytestmark = pytest.mark.needs_program("git")

PROFILE = """
profile: canary
mode: ask
allow: [write_file, "bash:*"]  # nobody is asked about a secret in what could be code
runner: host
tools:
  read_file: {}
  write_file: {}
  grep: {}
  git: {allowed_actions: [status, log, diff, show, add, commit]}
  bash: {}
notify: ["*"]
"""


def random_text(length: int) -> str:
    return "".join(choice(ascii_letters + digits) for _ in range(length - 2)) + "a7"


class Canaries:
    """One secret of each sort, made anew for every session."""

    def __init__(self) -> None:
        self.token = "gh" + "p_" + random_text(36)
        self.password = random_text(14)
        self.variable = random_text(18)
        """Has neither shape nor key where it turns up: only its place in the environment tells."""
        self.block = "-----BEGIN RSA " + f"PRIVATE KEY-----\n{random_text(64)}\n-----END RSA " + "PRIVATE KEY-----\n"

    def file(self) -> str:
        """What a careless project keeps."""
        return (
            f"# notes\nAPI_KEY={self.token}\npassword: '{self.password}'\nrepeat {self.variable} here\n"
            f"url = https://ann:{self.password}@example.invalid/x?access_token={self.token}\n"
            f"wrapped {b64encode(self.variable.encode()).decode()} {b64encode(f'token={self.token}'.encode()).decode()}\n"
            f"percent {quote('k=' + self.token, safe='')}\n{self.block}"
        )

    def pieces(self) -> set[str]:
        """Any six characters in a row of what must not be seen."""
        bodies = [self.token[4:], self.password, self.variable, self.block.splitlines()[1]]
        return {body[at : at + 6] for body in bodies for at in range(len(body) - 5)}


@pytest.fixture
def canaries(monkeypatch: pytest.MonkeyPatch) -> Iterator[Canaries]:
    """Planted in the environment, which is read anew."""
    planted = Canaries()
    monkeypatch.setenv("DEPLOY_SECRET", planted.variable)
    monkeypatch.setattr(known, "_state", known._Known())
    engine.hints.reset()
    yield planted
    engine.hints.reset()


@pytest.fixture
def workspace(tmp_path: Path, canaries: Canaries) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    for command in (["init", "-q"], ["config", "user.name", "Ann"], ["config", "user.email", "ann@example.invalid"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / "notes.txt").write_text(canaries.file())
    return folder


def session(canaries: Canaries) -> list[tuple[str, dict[str, Any]]]:
    token, password = canaries.token, canaries.password
    return [
        ("read_file", {"path": "notes.txt"}),
        ("read_file", {"path": f"no-{token}.txt"}),
        ("read_file", {"path": "notes.txt", "password": password}),
        ("grep", {"pattern": token}),
        ("grep", {"pattern": "repeat"}),
        ("git", {"action": "add", "paths": ["notes.txt"]}),
        ("git", {"action": "commit", "message": f"Use token={password}"}),
        ("git", {"action": "log"}),
        ("git", {"action": "show", "ref": "HEAD"}),
        ("git", {"action": "show", "ref": token}),
        ("write_file", {"path": "notes.txt", "content": "more\n" + canaries.file()}),
        ("git", {"action": "diff"}),
        ("bash", {"command": "cat notes.txt"}),
        ("bash", {"command": f"echo 'Authorization: Bearer {token}' >&2; exit 3"}),
        ("bash", {"command": f"curl -u ann:{password} --max-time 1 http://127.0.0.1:9/"}),
        ("bash", {"command": f"ls --password={password} {token}"}),
        ("bash", {"command": 'printf "%s" "$DEPLOY_SECRET"; env'}),
        (f"tool_{token}"[:64], {}),
    ]


WENT_WELL = ["read_file", "grep", "grep", "git", "git", "git", "git", "write_file", "git", "bash", "bash"]


def test_no_secret_comes_out_of_a_session(
    canaries: Canaries, workspace: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the tools meet, what leaves the gate holds no six characters of it, and the session goes on."""
    profile = tmp_path / "canary.yaml"
    profile.write_text(PROFILE)
    events: list[Any] = []
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> Literal["allow_once"]:
        asked.append(request)
        return "allow_once"

    with (
        caplog.at_level(logging.DEBUG),
        build_tools(
            profile, workspace=workspace, events=[events.append, f"file:{tmp_path}/events.jsonl"], approver=approve
        ) as toolbox,
    ):
        results: list[ToolResult] = [toolbox.call(tool, args) for tool, args in session(canaries)]

    said = "\n".join(
        [
            *map(repr, results),
            *map(str, results),
            *map(repr, events),
            *map(repr, asked),
            (tmp_path / "events.jsonl").read_text(),
            *(f"{record.getMessage()} {vars(record)}" for record in caplog.records),
        ]
    )
    assert sorted(piece for piece in canaries.pieces() if piece in said) == []
    assert said.count("[REDACTED]") > 20
    outcomes = [(tool, result.outcome) for (tool, _), result in zip(session(canaries), results, strict=True)]
    assert [tool for tool, outcome in outcomes if outcome == "ok"] == WENT_WELL
    assert asked
    assert events
    assert caplog.records
    assert os.environ["DEPLOY_SECRET"] == canaries.variable
