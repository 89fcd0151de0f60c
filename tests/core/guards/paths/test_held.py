"""What the path guard hands out: open files and folders, by descriptor."""

import os
from pathlib import Path
from typing import Any, cast

import pytest

from toolcharter import ToolError
from toolcharter.api.paths import Entry
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.handles import HeldFolder


def test_file_is_read_by_position(openers, tree: Path) -> None:
    """An open file reads at most what is asked, from where it is asked, and closes its descriptor."""
    (tree / "long.txt").write_text("0123456789")
    paths = WorkspacePaths(tree, openers=openers)

    with paths.open_file("long.txt") as file:
        fd = file.fileno()
        read = (file.size, file.read(4), file.read(4, 8), file.read(4, 10))

    assert read == (10, b"0123", b"89", b"")
    with pytest.raises(ValueError, match=r"^The file is closed\.$"):
        file.fileno()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_forgotten_file_is_closed(tree: Path) -> None:
    """A tool that fails before its `with` leaves no descriptor behind."""
    file = WorkspacePaths(tree).open_file("a.txt")
    fd = file.fileno()

    del file

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_failed_read_is_a_tool_error(tree: Path) -> None:
    """What the system refuses while reading is `read_failure`, with the cause chained."""
    with WorkspacePaths(tree).open_file("a.txt") as file, pytest.raises(ToolError) as caught:
        file.read(1, -1)

    assert (caught.value.reason, type(caught.value.__cause__)) == ("invalid_path", OSError)


def test_entries_come_by_name_and_without_the_protected(openers, tree: Path) -> None:
    """A listing names links and never follows them, tells sizes of files only, and hides protected names."""
    for extra in ("sub", ".git", "in_dir"):
        (tree / "list" / extra).mkdir(parents=True)
    (tree / "list/link").symlink_to("/etc/passwd")
    (tree / "list/b").write_text("four")
    os.mkfifo(tree / "list/fifo")
    paths = WorkspacePaths(tree, protected=(".git",), openers=openers)

    with paths.open_folder("list") as folder:
        entries = list(folder.entries())
        again = list(folder.entries())

    assert entries == [
        Entry("b", "file", 4),
        Entry("fifo", "other", 0),
        Entry("in_dir", "folder", 0),
        Entry("link", "link", 0),
        Entry("sub", "folder", 0),
    ]
    assert again == entries


def test_entry_that_vanishes_while_listed_is_other(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file removed between listing and looking is named, not an error."""
    from toolcharter.guards.paths import handles  # noqa: PLC0415 - to stand in for a race

    class Gone:
        name = "gone"

        def stat(self, *, follow_symlinks: bool):
            raise FileNotFoundError

    assert handles._entry(cast("Any", Gone())) == Entry("gone", "other", 0)


def test_closed_folder_lists_nothing(tree: Path) -> None:
    """A folder is of no use after its `with`."""
    with WorkspacePaths(tree).open_folder() as folder:
        pass

    with pytest.raises(ValueError, match=r"^The file is closed\.$"):
        folder.entries()


def test_folder_that_cannot_be_listed_is_an_error() -> None:
    """What the system refuses while listing has a reason, with the cause chained."""
    reader, writer = os.pipe()
    os.close(writer)

    with HeldFolder(reader, "sub", lambda *_: True, tuple, lambda: None) as folder, pytest.raises(ToolError) as caught:
        folder.entries()

    assert (caught.value.reason, type(caught.value.__cause__)) == ("not_directory", NotADirectoryError)


def test_a_long_listing_ends_with_the_time_of_its_call(tree: Path) -> None:
    """The deadline is asked for at every name, not only before the first."""
    asked: list[int] = []

    def check() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise ToolError("no time left", reason="timed_out")

    with WorkspacePaths(tree, check=check).open_folder() as folder, pytest.raises(ToolError) as caught:
        [folder.shows(name) for name in ("a", "b", "c")]
    with WorkspacePaths(tree, check=check).open_folder() as again:
        asked.clear()
        with pytest.raises(ToolError) as listed:
            again.entries()

    assert (caught.value.reason, listed.value.reason) == ("timed_out", "timed_out")


def test_folder_replaced_while_open_keeps_its_own_entries(tree: Path, outside: Path) -> None:
    """A folder is what was opened, whatever bears its name by now."""
    with WorkspacePaths(tree).open_folder("sub/deep") as folder:
        (tree / "sub/deep").rmdir()
        (tree / "sub/deep").symlink_to(outside)

        assert list(folder.entries()) == []


def test_shows_judges_found_names_by_text(tree: Path) -> None:
    """Names that a program found below a folder are judged with the folder's own place in mind."""
    paths = WorkspacePaths(tree, protected=(".git", "sub/deep"))
    with paths.open_folder("sub") as folder:
        shown = [folder.shows(name) for name in ("b.txt", "./b.txt", "x/.git/y", "deep", "deep/x", "deeper")]

    assert shown == [True, True, False, False, False, True]


def test_hidden_tells_a_program_what_to_skip(tree: Path) -> None:
    """Names stay globs, places below the folder are anchored and literal, others are left out."""
    protected = (".git", "a{b}", "sub/deep", "sub/[x]/Y z", str(tree / "other"))
    paths = WorkspacePaths(tree, protected=protected)

    with paths.open_folder("sub") as sub, paths.open_folder() as root:
        hidden = sub.hidden(), root.hidden()

    assert hidden == (
        (".git", r"/\[x\]/y\ z", "/deep"),
        (".git", "/other", r"/sub/\[x\]/y\ z", "/sub/deep"),
    )
