"""Virtual files at random: callers of one agent and of another, over two workers, beside a model of whose file is whose.

`TOOLCHARTER_FILES_EXAMPLES=100` makes so many runs instead of 3.
"""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from toolcharter import Caller, Toolbox, ToolResult, build_tools

CALLERS = (
    Caller(agent="ada", user="kim", agent_type="open"),
    Caller(agent="ada", user="lou", agent_type="open"),
    Caller(agent="ada", user="kim", agent_type="predefined"),
    Caller(agent="bob", user="kim", agent_type="open"),
    Caller(agent="ada", agent_type="open"),
)
FILES = ("SOUL.md", "USER.md", "BOOTSTRAP.md", "MEMORY.md", "memory/a.md", "memory/world/tea.md")
TOOLS: dict[str, Any] = {name: {} for name in ("read_file", "write_file", "edit_file", "delete_file", "glob")}
PROFILE = {
    "profile": "p",
    "tools": TOOLS,
    "extensions": {"context_files": {"unattended": True, "allow_agent_files": True}},
}
Key = tuple[str, str | None, str]
"""Agent, user (None: all of them) and file."""
who, file = st.sampled_from(CALLERS), st.sampled_from(FILES)
texts = st.sampled_from(["", "tea", "milk\n", "green tea and black tea"])
workers = st.integers(0, 1)


class Machine(RuleBasedStateMachine):
    """Each call goes through one of two toolboxes with one store."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name)
        (place / "ws").mkdir()
        (place / "p.json").write_text(json.dumps({**PROFILE, "store": f"sqlite://{place / 'store.db'}"}))
        self.boxes: list[Toolbox] = [self.opened() for _ in range(2)]
        self.kept: dict[Key, str] = {}

    def opened(self) -> Toolbox:
        place = Path(self.folder.name)
        return build_tools(place / "p.json", workspace=place / "ws", events=lambda _: None)

    def call(self, worker: int, by: Caller, tool: str, **args: Any) -> ToolResult:
        return self.boxes[worker].for_caller(by).call(tool, args)

    def keys(self, by: Caller, path: str) -> list[Key]:
        """Where *by* looks for a file, in order."""
        agent = "all" if "world" in path else by.agent or ""
        is_own = by.agent_type == "open" or path not in {"SOUL.md", "BOOTSTRAP.md"}
        return [(agent, user, path) for user in ([by.user, None] if by.user and is_own else [None])]

    def text(self, by: Caller, path: str) -> str | None:
        """What *by* reads; None if there is no such file."""
        found = [self.kept[key] for key in self.keys(by, path) if key in self.kept]
        if path in FILES[:3]:
            found = [*filter(None, found), *found]  # an empty context file gives way
        return found[0] if found else None

    def own(self, by: Caller, path: str) -> Key | None:
        """What *by* writes; None for what may be read only."""
        is_readonly = by.agent_type == "predefined" and path in {"SOUL.md", "BOOTSTRAP.md"}
        return None if is_readonly else self.keys(by, path)[0]

    def change(self, by: Caller, path: str, text: str, call: Callable[[], ToolResult]) -> None:
        """A tool writes *text*."""
        key, reason = self.own(by, path), call().reason
        if path == "BOOTSTRAP.md" and not text and by.user:
            assert reason is None
            self.kept.pop((by.agent or "", by.user, path), None)
        elif key is None:
            assert reason == "protected_path"
        elif path == "BOOTSTRAP.md" and not text:
            assert reason is None
            self.kept.pop(key, None)
        else:
            assert reason is None
            self.kept[key] = text

    @rule(worker=workers, by=who, path=file, text=texts, append=st.booleans())
    def writes(self, worker: int, by: Caller, path: str, text: str, append: bool) -> None:  # noqa: FBT001 - Hypothesis gives it
        whole = (self.text(by, path) or "") + text if append else text
        args = {"path": path, "content": text, "append": append}
        self.change(by, path, whole, lambda: self.call(worker, by, "write_file", **args))

    @rule(worker=workers, by=who, path=file)
    def edits(self, worker: int, by: Caller, path: str) -> None:
        """In a text that has the word once."""
        text = self.text(by, path) or ""
        args = {"path": path, "old_string": "green", "new_string": "white"}
        if text.count("green") == 1:
            whole = text.replace("green", "white")
            self.change(by, path, whole, lambda: self.call(worker, by, "edit_file", **args))
        else:
            assert self.call(worker, by, "edit_file", **args).outcome != "ok"

    @rule(worker=workers, by=who, path=file)
    def deletes(self, worker: int, by: Caller, path: str) -> None:
        """What is the caller's own, and the agent's or everybody's is there again."""
        is_there, own = self.text(by, path) is not None, self.own(by, path)
        if own is None and path == "BOOTSTRAP.md":
            own = (by.agent or "", by.user, path)
        reason = self.call(worker, by, "delete_file", path=path).reason
        wanted = None if own in self.kept else "protected_path"
        assert reason == (wanted if is_there else "path_not_found")
        if reason is None and own is not None:
            del self.kept[own]

    @rule(worker=workers)
    def starts_anew(self, worker: int) -> None:
        self.boxes[worker].close()
        self.boxes[worker] = self.opened()

    @rule(worker=workers, by=who)
    def looks(self, worker: int, by: Caller) -> None:
        """At each file, and at all names."""
        there = {path: self.text(by, path) for path in FILES}
        read = {path: self.call(worker, by, "read_file", path=path).text for path in FILES}
        assert read == {path: text or "" for path, text in there.items()}
        found = self.call(worker, by, "glob", globs="*").data["items"]
        assert found == sorted(path for path, text in there.items() if text is not None)

    def teardown(self) -> None:
        if hasattr(self, "boxes"):
            for number, by in enumerate(CALLERS):
                self.looks(number % 2, by)
            for one in self.boxes:
                one.close()
            assert [*(Path(self.folder.name) / "ws").iterdir()] == []
            self.folder.cleanup()


@pytest.mark.slow
def test_virtual_files_at_random(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each caller reads, lists and deletes what the model says is its own, its agent's or everybody's; the disk stays empty."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    machine = Machine.TestCase
    machine.settings = settings(
        max_examples=int(os.environ.get("TOOLCHARTER_FILES_EXAMPLES", "3")), stateful_step_count=20, deadline=None
    )
    machine().runTest()
