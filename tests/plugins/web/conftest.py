"""The web tools through the real gate, in a world of its own."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.core.guards.network.conftest import certified  # noqa: F401 - a fixture
from tests.core.guards.network.fake_internet import FakeInternet, install_fake_internet

from toolcharter import Toolbox, ToolResult, build_tools


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeInternet]:
    yield from install_fake_internet(monkeypatch)


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Callable[..., Toolbox]]:
    """Builds a toolbox with one tool under a policy."""
    with ExitStack() as stack:

        def build(tool: str, policy: dict[str, Any] | None = None) -> Toolbox:
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps({"profile": "test", "tools": {tool: policy or {}}}))
            return stack.enter_context(build_tools(profile, workspace=tmp_path, events=lambda _: None))

        yield build


@pytest.fixture
def call(box: Any) -> Callable[..., ToolResult]:
    """One governed call of one tool."""

    def run(tool: str, policy: dict[str, Any] | None = None, /, **args: Any) -> ToolResult:
        return box(tool, policy).call(tool, args)

    return run
