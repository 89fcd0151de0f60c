"""Toolboxes of the file tools, built by the real gate, for a workspace with one of everything."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from toolcharter import Toolbox, ToolResult, build_tools


class Call(Protocol):
    def __call__(self, tool: str, policy: dict[str, Any] | None = None, /, **args: Any) -> ToolResult: ...


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("SECRET two\n")
    return folder


@pytest.fixture
def workspace(tmp_path: Path, outside: Path) -> Path:
    root = tmp_path / "ws"
    (root / "sub/deep").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "sub/b.py").write_text("import os\nx = 'two'\n")
    (root / "sub/deep/c.py").write_text("two\n")
    (root / ".git/config").write_text("two\n")
    (root / ".env.local").write_text("two\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    (root / "x.log").write_text("two\n")
    (root / "build").mkdir()
    (root / "build/out.py").write_text("two\n")
    (root / "out").symlink_to(outside)
    (root / "out.txt").symlink_to(outside / "secret.txt")
    return root


@pytest.fixture
def box(workspace: Path, tmp_path: Path) -> Iterator[Any]:
    """Builds a toolbox with one tool under a policy; its events are collected as `box.events`."""
    with ExitStack() as stack:
        events: list[dict[str, Any]] = []

        def build(tool: str, policy: dict[str, Any]) -> Toolbox:
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps({"profile": "test", "tools": {tool: policy}}))
            return stack.enter_context(build_tools(profile, workspace=workspace, events=events.append))

        build.events = events  # type: ignore[attr-defined]
        yield build


@pytest.fixture
def call(box: Any) -> Call:
    """One governed call of one tool."""

    def run(tool: str, policy: dict[str, Any] | None = None, /, **args: Any) -> ToolResult:
        return box(tool, policy or {}).call(tool, args)

    return run
