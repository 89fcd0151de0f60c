"""Skills in folders of a test, and sessions whose agents read them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from toolcharter import LiveToolbox, open_live

TOOLS: Mapping[str, Any] = {"skills": {}, "skill_search": {}, "skill_get": {}}


class Place:
    """The folders of one test, and the sessions in it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.workspace = folder / "ws"
        self.personal = folder / "home" / "skills"
        self.shared = folder / "shared"
        for path in (self.workspace, self.personal, self.shared):
            path.mkdir(parents=True)
        self._folder = folder
        self._stack = stack

    def skill(self, name: str, description: str = "Does a thing.", body: str = "Do it.", **files: str) -> Path:
        """A skill of the workspace; its folder."""
        return skill_at(self.workspace / "skills", name, description, body, files)

    def open(self, tools: Mapping[str, Any] = TOOLS, /, *, approver: Any = None, **settings: Any) -> LiveToolbox:
        """A session without built-in skills; the other *settings* are those of the extension, and `profile`."""
        file = self._folder / "p.yaml"
        profile = settings.pop("profile", {})
        written = {"profile": "p", "tools": tools, "extensions": {"skills": {"built_in": False, **settings}}, **profile}
        file.write_text(json.dumps(written))
        live = open_live(file, workspace=self.workspace, events=lambda _: None, approver=approver, strict=True)
        return self._stack.enter_context(live)


def skill_at(
    root: Path, name: str, description: str, body: str = "Do it.", files: Mapping[str, str] | None = None
) -> Path:
    """A skill in *root*; its folder."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n\n{body}\n")
    for path, text in (files or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ExitStack() as stack:
        yield Place(tmp_path, stack)
