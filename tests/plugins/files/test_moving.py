"""`move_file`, `delete_file` and `make_dir`."""

import os
from pathlib import Path
from typing import Any

import pytest

from toolcharter import build_tools


def test_file_is_moved(call, workspace: Path) -> None:
    """It gets another name, and missing folders are made."""
    result = call("move_file", path="a.txt", to="x/b.txt")

    assert (result.text, result.data) == ("Moved a.txt to x/b.txt", {"path": "a.txt", "to": "x/b.txt"})
    assert ((workspace / "x/b.txt").read_text(), (workspace / "a.txt").exists()) == ("one\ntwo\nthree\n", False)


def test_folder_is_moved_with_all_it_holds(call, workspace: Path) -> None:
    """A folder takes its contents along."""
    result = call("move_file", path="sub/", to="x/y")

    assert (result.outcome, (workspace / "x/y/deep/c.py").read_text()) == ("ok", "two\n")


def test_link_is_moved_itself(call, workspace: Path, outside: Path) -> None:
    """What a link leads to stays where it is."""
    result = call("move_file", path="out.txt", to="link")

    assert (result.outcome, (workspace / "link").is_symlink(), (outside / "secret.txt").exists()) == ("ok", True, True)


@pytest.mark.parametrize(
    ("policy", "overwrite", "reason"),
    [({}, False, "path_exists"), ({}, True, "path_exists"), ({"allow_overwrite": True}, True, None)],
)
def test_file_is_replaced_only_where_profile_and_call_say_so(
    call, workspace: Path, policy: dict[str, Any], *, overwrite: bool, reason: str | None
) -> None:
    """Neither is enough alone."""
    result = call("move_file", policy, path="a.txt", to="sub/b.py", overwrite=overwrite)

    assert result.reason == reason
    assert (workspace / "a.txt").exists() is (reason is not None)


@pytest.mark.parametrize(
    ("args", "outcome", "reason"),
    [
        ({"path": "none", "to": "x"}, "error", "path_not_found"),
        ({"path": "a.txt", "to": "sub"}, "error", "path_exists"),
        ({"path": "sub", "to": "sub/x"}, "error", "invalid_path"),
        ({"path": ".", "to": "x"}, "error", "is_directory"),
        ({"path": "a.txt", "to": "../x"}, "denied", "path_outside_workspace"),
        ({"path": "a.txt", "to": "out/x"}, "denied", "path_outside_workspace"),
        ({"path": "../outside/secret.txt", "to": "x"}, "denied", "path_outside_workspace"),
        ({"path": "out/secret.txt", "to": "x"}, "denied", "path_outside_workspace"),
        ({"path": "a.txt", "to": ".git/hooks/x"}, "denied", "protected_path"),
        ({"path": "a.txt", "to": ".hg/hgrc"}, "denied", "protected_path"),
        ({"path": "sub", "to": ".JJ"}, "denied", "protected_path"),
        ({"path": ".git", "to": "x"}, "denied", "protected_path"),
    ],
)
def test_what_cannot_be_moved_stays(call, workspace: Path, args, outcome: str, reason: str) -> None:
    """The guard's reasons, and nothing has moved."""
    result = call("move_file", **args)

    assert (result.outcome, result.reason) == (outcome, reason)
    assert (workspace / "a.txt").exists()


def test_slash_behind_a_link_means_neither_link_nor_folder(call, workspace: Path) -> None:
    """A link to a folder is moved and deleted by its own name; what it leads to stays, by whatever name."""
    (workspace / "empty").mkdir()
    (workspace / "dl").symlink_to("empty")

    results = [call("delete_file", path="dl/"), call("move_file", path="dl/", to="x")]
    gone = call("delete_file", path="dl")

    assert [(each.outcome, each.reason) for each in results] == [("error", "not_directory")] * 2
    assert (gone.data["kind"], (workspace / "empty").is_dir()) == ("link", True)


@pytest.mark.parametrize(
    ("to", "reason"), [("lib/x", None), ("other", "outside_write_scope"), ("lib/x.py", "outside_write_scope")]
)
def test_scope_holds_for_all_that_is_moved(call, to: str, reason: str | None) -> None:
    """Both ends, and each name below a folder."""
    scope = {"writable": ["sub", "sub/**", "lib/x", "lib/x/**", "lib/x.p[y]"]}

    assert call("move_file", scope, path="sub", to=to).reason == reason


def test_file_is_deleted(call, workspace: Path) -> None:
    """Gone, and its kind is told."""
    result = call("delete_file", path="a.txt")

    assert (result.text, result.data) == ("Deleted a.txt", {"path": "a.txt", "kind": "file"})
    assert not (workspace / "a.txt").exists()


def test_link_and_empty_folder_are_deleted(call, workspace: Path, outside: Path) -> None:
    """A link goes, not what it leads to; a folder only if it is empty."""
    (workspace / "empty").mkdir()
    kinds = [call("delete_file", path=path).data["kind"] for path in ("out", "out.txt", "empty")]

    refused = call("delete_file", path="sub")

    assert (kinds, refused.reason) == (["link", "link", "folder"], "not_empty")
    assert (outside / "secret.txt").read_text() == "SECRET two\n"


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("none", "error", "path_not_found"),
        (".", "error", "is_directory"),
        ("out/secret.txt", "denied", "path_outside_workspace"),
        ("../outside/secret.txt", "denied", "path_outside_workspace"),
        (".git/config", "denied", "protected_path"),
        (".env.local", "denied", "protected_path"),
        ("sub/b.py", "denied", "outside_write_scope"),
    ],
)
def test_what_cannot_be_deleted_stays(call, path: str, outcome: str, reason: str) -> None:
    """The guard's reasons, and the scope's."""
    result = call("delete_file", {"writable": ["*", "sub/deep/**"]} if "sub" in path else {}, path=path)
    scoped = call("delete_file", {"writable": ["docs/**"]}, path="a.txt")

    assert scoped.reason == "outside_write_scope"
    if path != "sub/b.py":
        assert (result.outcome, result.reason) == (outcome, reason)


def test_folder_is_made(call, workspace: Path) -> None:
    """With those above it; a second time it is there."""
    first, second = call("make_dir", path="x/y"), call("make_dir", path="x/y/")

    assert (first.text, first.data) == ("Made folder: x/y", {"path": "x/y", "created": True})
    assert (second.text, second.data) == ("The folder exists already: x/y", {"path": "x/y", "created": False})
    assert (workspace / "x/y").is_dir()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("src", None),
        ("src/a", None),
        ("docs", None),
        ("docs/a", "outside_write_scope"),
        ("other", "outside_write_scope"),
    ],
)
def test_folder_is_made_where_something_may_be_written(call, path: str, reason: str | None) -> None:
    """A scope needs its folders."""
    assert call("make_dir", {"writable": ["src/**", "docs/*.md"]}, path=path).reason == reason


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("a.txt", "error", "path_exists"),
        ("out/x", "denied", "path_outside_workspace"),
        ("/tmp/x", "denied", "path_outside_workspace"),
        (".git/x", "denied", "protected_path"),
        ("sub/.toolcharter", "denied", "protected_path"),
    ],
)
def test_folder_that_cannot_be_made(call, path: str, outcome: str, reason: str) -> None:
    """The guard's reasons."""
    result = call("make_dir", path=path)

    assert (result.outcome, result.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("rename_file", {"from": "a.txt", "destination": "b.txt"}),
        ("move_file", {"source": "a.txt", "dest": "b.txt"}),
        ("remove_file", {"file": "a.txt"}),
        ("create_directory", {"dir": "x"}),
    ],
)
def test_other_names_are_understood(box, tool: str, args: dict[str, str]) -> None:
    """What others call the tools and their arguments."""
    name = {"rename_file": "move_file", "remove_file": "delete_file", "create_directory": "make_dir"}.get(tool, tool)

    assert box(name, {}).call(tool, args).outcome == "ok"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("move_file", {"path": "a.txt", "to": "x/b.txt"}),
        ("delete_file", {"path": "a.txt"}),
        ("make_dir", {"path": "x"}),
    ],
)
def test_dry_run_changes_nothing(box, workspace: Path, tool: str, args: dict[str, str]) -> None:
    """It is known that the call may run, and all is as it was."""
    before = sorted(workspace.rglob("*"))

    decision = box(tool, {}).decide(tool, args)

    assert (decision.outcome, decision.tool_checks, sorted(workspace.rglob("*"))) == ("allow", "passed", before)


def test_names_that_are_no_unicode_are_moved_along(call, workspace: Path) -> None:
    """A folder may hold what no call can name."""
    (workspace / "sub" / os.fsdecode(b"\xff.txt")).touch()

    result = call("move_file", path="sub", to="new")

    assert (result.outcome, (workspace / "new" / os.fsdecode(b"\xff.txt")).exists()) == ("ok", True)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "odd/f", "content": "x"}),
        ("edit_file", {"path": "odd/old", "old_string": "a", "new_string": "b"}),
        ("move_file", {"path": "odd/old", "to": "odd/new"}),
        ("delete_file", {"path": "odd/old"}),
        ("make_dir", {"path": "odd/new"}),
        ("make_dir", {"path": "odd"}),
    ],
)
def test_names_that_are_no_unicode_are_reached_by_links(call, workspace: Path, tool: str, args: dict[str, str]) -> None:
    """The change is made, and its result can be told."""
    folder = workspace / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "old").write_text("a")
    (workspace / "odd").symlink_to(folder.name)

    result = call(tool, {"writable": ["*/**", "?"]}, **args)

    assert (result.outcome, result.data["path"].partition("/")[0]) == ("ok", "\ufffd")


@pytest.mark.parametrize("kind", ["link", "file"])
def test_link_on_the_way_to_the_repository_is_not_replaced(call, workspace: Path, kind: str) -> None:
    """What `.git` leads to over a link is protected against another link, too."""
    (workspace / ".git/config").unlink()
    (workspace / ".git").rmdir()
    (workspace / "store/repo").mkdir(parents=True)
    (workspace / "way").symlink_to("store")
    if kind == "link":
        (workspace / ".git").symlink_to("way/repo")
    else:
        (workspace / ".git").write_text("gitdir: way/repo\n")

    results = [call("delete_file", path="way"), call("move_file", path="way", to="other")]

    assert [result.reason for result in results] == ["protected_path", "protected_path"]
    assert call("write_file", path="store/other.txt", content="x").outcome == "ok"


def test_link_on_the_way_to_the_profile_is_not_replaced(workspace: Path) -> None:
    """Another profile would be found behind another link."""
    (workspace / "cfg").mkdir()
    (workspace / "cfg/own.yaml").write_text("profile: own\ntools: {delete_file: {}}\n")
    (workspace / "way").symlink_to("cfg")
    (workspace / "profiles").symlink_to("way")

    with build_tools(workspace / "profiles/own.yaml", workspace=workspace) as toolbox:
        result = toolbox.call("delete_file", {"path": "way"})

    assert result.reason == "protected_path"
