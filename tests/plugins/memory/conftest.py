"""The memory tools, built by the real gate over a real store: SQLite, and PostgreSQL for what stores could do in ways of their own."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from toolcharter import Caller, Toolbox, ToolResult, build_tools

ADA_FOR_KIM = Caller(agent="ada", user="kim", session="s1")


class Call(Protocol):
    def __call__(self, tool: str, caller: Caller = ADA_FOR_KIM, /, **args: Any) -> ToolResult: ...


Boxes = Callable[..., Toolbox]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    return root


@pytest.fixture
def box(workspace: Path, tmp_path: Path, store_url: str) -> Iterator[Boxes]:
    """Builds a toolbox over the store of the test."""
    with ExitStack() as stack:

        def build(tools: dict[str, Any] | None = None, /, **settings: Any) -> Toolbox:
            tools = {"memory": {}, "memory_search": {}, "memory_get": {}} if tools is None else tools
            for policies, name in ((tools, "memory"), (settings.get("extensions", {}), "context_files")):
                if name in policies:  # waived here; tests/plugins/test_orders_of_pages.py has who is asked
                    policies[name] = {"unattended": True, **policies[name]}
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps({"profile": "test", "store": store_url, "tools": tools, **settings}))
            return stack.enter_context(build_tools(profile, workspace=workspace, events=_ignore))

        yield build


@pytest.fixture
def call(box: Boxes) -> Call:
    """One governed call under the default policies."""
    toolbox = box()

    def run(tool: str, caller: Caller = ADA_FOR_KIM, /, **args: Any) -> ToolResult:
        return toolbox.for_caller(caller).call(tool, args)

    return run


def _ignore(event: object) -> None:
    """These tests are not about events."""
