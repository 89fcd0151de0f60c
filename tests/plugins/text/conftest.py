"""The text tools, built by the real gate, for a workspace with a few files."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from toolcharter import Toolbox, ToolResult, build_tools


class Call(Protocol):
    def __call__(self, tool: str, policy: dict[str, Any] | None = None, /, **args: Any) -> ToolResult: ...


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "a.json").write_text('{"b": [1, 2], "a": null}')
    (root / "poem.txt").write_text("one\ntwo\nthree\n")
    (root / ".env").write_text("two\n")
    (tmp_path / "outside.json").write_text("[]")
    (root / "out.json").symlink_to(tmp_path / "outside.json")
    return root


@pytest.fixture
def box(workspace: Path, tmp_path: Path) -> Iterator[Callable[[str, dict[str, Any]], Toolbox]]:
    """Builds a toolbox with one tool under a policy."""
    with ExitStack() as stack:

        def build(tool: str, policy: dict[str, Any]) -> Toolbox:
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps({"profile": "test", "tools": {tool: policy}}))
            return stack.enter_context(build_tools(profile, workspace=workspace, events=_ignore))

        yield build


@pytest.fixture
def call(box: Callable[[str, dict[str, Any]], Toolbox]) -> Call:
    """One governed call of one tool."""

    def run(tool: str, policy: dict[str, Any] | None = None, /, **args: Any) -> ToolResult:
        return box(tool, policy or {}).call(tool, args)

    return run


def _ignore(event: object) -> None:
    """These tests are not about events."""
