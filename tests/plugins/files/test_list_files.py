"""`list_files`: one folder's entries."""

import os
from pathlib import Path

import pytest


def test_entries_are_listed_by_name_and_kind(call, workspace: Path) -> None:
    """Folders and links are marked, files have sizes, protected names are left out."""
    result = call("list_files")

    assert result.text.splitlines() == [
        ".gitignore (13 bytes)",
        "a.txt (14 bytes)",
        "build/",
        "out@",
        "out.txt@",
        "sub/",
        "x.log (4 bytes)",
    ]
    assert result.data["items"][1:3] == [
        {"name": "a.txt", "kind": "file", "size": 14},
        {"name": "build", "kind": "folder", "size": 0},
    ]
    assert (result.data["path"], result.data["total"], result.data["truncated"]) == (".", 7, False)


@pytest.mark.parametrize(
    ("limit", "asked", "count"),
    [pytest.param(7, None, 7, id="at the limit"), pytest.param(6, None, 6, id="one past it"), (7, 2, 2), (2, 7, 2)],
)
def test_smaller_limit_wins(call, limit: int, asked: int | None, count: int) -> None:
    """At most as many entries as policy and call both allow, and a notice if there are more."""
    result = call("list_files", {"max_results": limit}, **({} if asked is None else {"max_results": asked}))

    assert (len(result.data["items"]), result.data["total"], result.data["truncated"]) == (count, 7, count < 7)
    assert result.text.endswith(f"[truncated: {count} of 7 entries]") is (count < 7)


def test_empty_folder_says_so(call, workspace: Path) -> None:
    """An empty listing is no empty text."""
    (workspace / "empty").mkdir()

    result = call("list_files", path="empty")

    assert (result.text, result.data["items"]) == ("(empty)", [])


def test_strange_names_cannot_pass_for_other_lines(call, workspace: Path) -> None:
    """A name with a line break is quoted in the text, and bytes that are no UTF-8 are replaced."""
    folder = workspace / "odd"
    folder.mkdir()
    (folder / "a\nb").write_text("")
    Path(os.fsdecode(os.fsencode(folder) + b"/x\xff")).write_text("")
    os.mkfifo(folder / "pipe")

    result = call("list_files", path="odd")

    assert result.text.splitlines() == ["'a\\nb' (0 bytes)", "pipe?", "x\ufffd (0 bytes)"]
    assert [item["name"] for item in result.data["items"]] == ["a\nb", "pipe", "x\ufffd"]


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("out", "denied", "path_outside_workspace"),
        (".git", "denied", "protected_path"),
        ("a.txt", "error", "not_directory"),
        ("none", "error", "path_not_found"),
    ],
)
def test_guard_refuses_with_its_own_reasons(call, path: str, outcome: str, reason: str) -> None:
    """What the path guard says is the tool's result."""
    result = call("list_files", path=path)

    assert (result.outcome, result.reason) == (outcome, reason)


@pytest.mark.parametrize("name", ["list_dir", "ls", "tool_ls"])
def test_names_of_other_systems_are_understood(box, name: str) -> None:
    """Tool names of the sources reach the same tool."""
    assert box("list_files", {}).call(name, {"folder": "sub"}).data["path"] == "sub"
