"""`hidden` of a profile, through real tools: what it keeps from them, and what a profile may say instead."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcharter import ToolResult, build_tools

WORD = "hunter" + "2"
PROFILE = """\
profile: p
runner: host
allow: ["bash:cat *"]
tools:
  {list_files: {}, read_file: {}, glob: {}, grep: {}, write_file: {}, edit_file: {}, delete_file: {}, move_file: {}, bash: {},
   git: {allowed_actions: [show, diff, add]}}
"""
Call = Callable[..., ToolResult]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "app").mkdir(parents=True)
    for name in ("app/.env", "app/settings", "app/.env.example"):
        (folder / name).write_text(f"A={WORD}\n")
    return folder


@pytest.fixture
def call(workspace: Path, tmp_path: Path) -> Call:
    def call(tool: str, hidden: str = "", /, **args: Any) -> ToolResult:
        (tmp_path / "p.yaml").write_text(PROFILE + hidden)
        with build_tools(tmp_path / "p.yaml", workspace=workspace, events=lambda _: None) as toolbox:
            return toolbox.call(tool, args)

    return call


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"path": "app/.env"}),
        ("write_file", {"path": "app/.env", "content": "x"}),
        ("write_file", {"path": "other/.env", "content": "x"}),
        ("edit_file", {"path": "app/.env", "old_string": "A", "new_string": "B"}),
        ("delete_file", {"path": "app/.env"}),
        ("move_file", {"path": "app/.env", "to": "app/open"}),
        ("move_file", {"path": "app/settings", "to": "app/.env.local"}),
        ("move_file", {"path": "app", "to": "moved"}),
        ("grep", {"query": "A", "path": "app/.env"}),
        ("bash", {"command": "cat app/.env"}),
    ],
)
def test_no_tool_touches_a_hidden_file(call: Call, workspace: Path, tool: str, args: dict[str, str]) -> None:
    """Refused by name, whichever the tool; `bash` for a file that the line names, on the host, too."""
    result = call(tool, **args)

    assert (result.outcome, result.reason) == ("denied", "protected_path")
    assert (workspace / "app/.env").read_text() == f"A={WORD}\n"


def test_no_tool_shows_that_it_is_there(call: Call) -> None:
    """Neither in listings nor in searches, which find its neighbours."""
    listed = call("list_files", path="app").text
    found = call("glob", globs="app/**").text
    matches = call("grep", query=WORD).text

    assert (listed, found) == (".env.example (10 bytes)\nsettings (10 bytes)", "app/.env.example\napp/settings")
    assert [line.partition(":")[0] for line in matches.splitlines()] == ["app/.env.example", "app/settings"]


@pytest.mark.needs_program("git")
def test_git_shows_nothing_of_it(call: Call, workspace: Path) -> None:
    """Nor does it add it, although it was committed once."""

    def git(*args: str) -> None:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.invalid")
        subprocess.run(["git", *identity, *args], cwd=workspace, check=True, capture_output=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    (workspace / "app/.env").write_text("changed\n")

    shown = call("git", action="show", ref="HEAD:app/.env")
    diff = call("git", action="diff", ref="HEAD")
    added = call("git", action="add", paths=["app/.env"])

    assert (shown.outcome, shown.reason, added.reason) == ("denied", "protected_path", "protected_path")
    assert (diff.outcome, WORD in diff.text, "1 protected file(s) left out" in diff.text) == ("ok", False, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hidden", "read"),
    [
        pytest.param("hidden: []", ["app/.env", "app/settings", "app/.env.example"], id="nothing"),
        pytest.param("hidden: [settings]", ["app/.env", "app/.env.example"], id="another name"),
        pytest.param(f"hidden: [{{glob: app/*, containing: {WORD}}}]", [], id="what they hold"),
        pytest.param("hidden: [app, '!app']", ["app/.env", "app/settings", "app/.env.example"], id="an exception"),
        pytest.param("", ["app/settings", "app/.env.example"], id="the usual"),
    ],
)
def test_a_profile_says_what_is_hidden(call: Call, hidden: str, read: list[str]) -> None:
    """Its list takes the place of the usual one."""
    results = {name: call("read_file", hidden, path=name) for name in ("app/.env", "app/settings", "app/.env.example")}

    assert [name for name, result in results.items() if result.outcome == "ok"] == read


def test_a_child_replaces_its_parents_list(call: Call, tmp_path: Path) -> None:
    """As with every value that is no list of rules."""
    (tmp_path / "parent.yaml").write_text("profile: parent\nhidden: [settings]\n")

    inherited = call("read_file", "extends: [./parent.yaml]\n", path="app/settings")
    replaced = call("read_file", "extends: [./parent.yaml]\nhidden: []\n", path="app/settings")

    assert (inherited.reason, replaced.outcome) == ("protected_path", "ok")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"path": "twin.txt"}),
        ("edit_file", {"path": "twin.txt", "old_string": "A", "new_string": "B"}),
        ("grep", {"query": "A", "path": "twin.txt"}),
        ("git", {"action": "add", "paths": ["twin.txt"]}),
        ("bash", {"command": "cat twin.txt"}),
        ("bash", {"command": "cat < twin.txt"}),
    ],
)
@pytest.mark.parametrize("name", ["app/.env", ".aws/deep/credentials"])
def test_no_tool_reads_a_hidden_file_by_another_name(
    call: Call, workspace: Path, tool: str, args: dict[str, Any], name: str
) -> None:
    """A hard link that was made before shows the same content: it is the file that is hidden, not its name."""
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    (workspace / name).parent.mkdir(parents=True, exist_ok=True)
    (workspace / name).write_text(f"A={WORD}\n")
    (workspace / "twin.txt").hardlink_to(workspace / name)

    result = call(tool, **args)

    assert (result.outcome, WORD in result.text) == ("denied", False)
    assert result.reason in {"protected_path", "not_in_allow", "hard_link"}


def test_a_search_passes_over_other_names_of_a_hidden_file(call: Call, workspace: Path) -> None:
    """As it passes over the hidden file itself; other files with several names are searched."""
    (workspace / "twin.txt").hardlink_to(workspace / "app/.env")
    (workspace / "copy").hardlink_to(workspace / "app/settings")

    result = call("grep", query=WORD)

    assert (result.outcome, "copy" in result.text, "twin.txt" in result.text) == ("ok", True, False)
