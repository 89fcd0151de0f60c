"""Repositories as they are made by hand, and the tool as a profile builds it: through the real gate."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Tool, ToolResult, build_tools

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", "2024-05-01T12:00:00+00:00"))
}
ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **IDENTITY,
}
WRITES = ["status", "create_branch", "checkout", "add", "commit", "tag", "push"]


class Repo:
    """A repository and plain git on it, as its owner would use it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *args: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["git", *args],
            cwd=self.path,
            env=ENVIRONMENT,
            input=stdin or "",
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, content: str = "content\n") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def commit(self, name: str, content: str = "content\n", message: str = "Change") -> str:
        self.write(name, content)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.head()

    def head(self, ref: str = "HEAD") -> str:
        return self.git("rev-parse", ref)

    def branch(self) -> str:
        return self.git("branch", "--show-current")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """One commit on `main`: `a.txt` with three lines."""
    path = tmp_path / "ws"
    path.mkdir()
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main")
    repo.commit("a.txt", "one\ntwo\nthree\n", "First")
    return repo


@pytest.fixture
def bare(tmp_path: Path) -> Repo:
    """An empty repository beside the workspace, to push to."""
    path = tmp_path / "bare.git"
    path.mkdir()
    bare = Repo(path)
    bare.git("init", "-q", "--bare", "-b", "main")
    return bare


@pytest.fixture
def build_git(tmp_path: Path) -> Iterator[Callable[..., Tool]]:
    """Build the tool for a workspace with a policy."""
    with ExitStack() as stack:

        def build(workspace: Path, **policy: Any) -> Tool:
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps({"profile": "test", "description": "A test.", "tools": {"git": policy}}))
            return stack.enter_context(build_tools(profile, workspace=workspace, events=[_ignore]))["git"]

        yield build


@pytest.fixture
def call(repo: Repo, build_git: Callable[..., Tool]) -> Callable[..., ToolResult]:
    """Call the tool on `repo`; `policy` is a keyword of its own."""

    def use(action: str, *, policy: dict[str, Any] | None = None, **args: Any) -> ToolResult:
        return build_git(repo.path, **(policy or {}))(action=action, **args)

    return use


def _ignore(event: object) -> None:
    """These tests are not about events."""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """An empty folder beside the workspace."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder
