"""A session with tools of its own: folders beside the profile and in the workspace, and what is written into them."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Discovery, LiveToolbox, ProfileView, open_live
from toolcharter_cli_tools.discovery import discover
from toolcharter_cli_tools.policy import CliToolsPolicy

SCRIPT = "#!/bin/sh\n"


class Place:
    """The folders of one test, and the sessions in it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.agent = folder / "agent"
        self.workspace = folder / "ws"
        self.agent.mkdir()
        self.workspace.mkdir()
        self._stack = stack

    def write(self, path: Path, text: str = SCRIPT, mode: int = 0o755) -> Path:
        """A file; one that can be executed, if nothing else is said."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def tool(self, name: str, text: str = SCRIPT, readme: str | None = None) -> Path:
        """A tool in a folder of the workspace; its script."""
        if readme is not None:
            self.write(self.workspace / "tools" / name / "README.md", readme, 0o644)
        return self.write(self.workspace / "tools" / name / "run", text)

    def find(self, **settings: Any) -> Discovery:
        """What there is with these settings, and `tools` beside the profile and in the workspace."""
        given = {"extend": True, "agent_folders": ["tools"], "workspace_folders": ["tools"], **settings}
        policy = CliToolsPolicy.from_profile(given)
        return discover(ProfileView("p", self.agent, policy, ()), self.workspace)

    def open(self, *, profile: dict[str, Any] | None = None, approver: Any = None, **settings: Any) -> LiveToolbox:
        """A session whose programs run on the host, and whose rules allow all tools of kind `cli`."""
        file = self.agent / "p.yaml"
        written = {
            "profile": "p",
            "runner": "host",
            "allow": ["cli:*"],
            "tools": {"reload_tools": {}},
            "extensions": {"cli_tools": {"extend": True, "workspace_folders": ["tools"], **settings}},
            **(profile or {}),
        }
        file.write_text(json.dumps(written))
        live = open_live(file, workspace=self.workspace, events=lambda _: None, approver=approver, strict=True)
        return self._stack.enter_context(live)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ExitStack() as stack:
        yield Place(tmp_path, stack)


@pytest.fixture
def found_names() -> Callable[[Discovery], list[str]]:
    return lambda found: [spec.name for spec in found.found]
