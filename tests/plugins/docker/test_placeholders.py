"""Names are held while containers run, and given back without a trace."""

import fcntl
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from toolcharter_docker import placeholders
from toolcharter_docker.placeholders import HeldPath, Unprotectable, first_replaced, hold_paths, remove_if_unused


def held(workspace: Path, *paths: str) -> list[tuple[str, bool]]:
    with ExitStack() as stack:
        return [(part.path, part.writable) for part in hold_paths(workspace, paths, stack)]


def test_folders_on_the_way_are_held_too(workspace: Path) -> None:
    """A folder above a protected path could be renamed with all that lies on it."""
    (workspace / "a/b/c").mkdir(parents=True)
    (workspace / "f").write_text("")

    assert held(workspace, "a/b/c", "f", "a/b/c") == [("a", True), ("f", False), ("a/b", True), ("a/b/c", False)]
    assert held(workspace, "a/b/c", "a") == [("a", False), ("a/b", True), ("a/b/c", False)]


def test_folders_on_the_way_to_hidden_files_are_held(workspace: Path) -> None:
    """They stay writable, and below a protected folder nothing becomes writable again."""
    for folder in ("a/b", "kept/c"):
        (workspace / folder).mkdir(parents=True)

    with ExitStack() as stack:
        found = hold_paths(workspace, ["kept"], stack, ["a/b/.env", "kept/c/.env", ".env"])

    assert [(part.path, part.writable) for part in found] == [("kept", False), ("a", True), ("a/b", True)]


def test_a_way_to_a_hidden_file_that_is_gone_is_refused(workspace: Path) -> None:
    """Somebody renames folders at this moment: what the search has found lies elsewhere by now."""
    with ExitStack() as stack, pytest.raises(Unprotectable, match="'a': No such file"):
        hold_paths(workspace, [], stack, ["a/.env"])


def test_what_is_missing_is_made_and_removed(workspace: Path) -> None:
    """The first missing component is there, empty, until it is given back."""
    (workspace / "a").mkdir()
    with ExitStack() as stack:
        found = hold_paths(workspace, ["x/y/z", "a/b"], stack)

        assert [(part.path, part.writable) for part in found] == [("a", True), ("x", False), ("a/b", False)]
        assert list((workspace / "x").iterdir()) == []
        assert stat.S_IMODE((workspace / "x").stat().st_mode) & stat.S_ISVTX

    assert sorted(workspace.rglob("*")) == [workspace / "a"]


def test_a_file_on_the_way_is_the_end(workspace: Path) -> None:
    """Below a file nothing can be created, as long as it stays one."""
    (workspace / "a").write_text("")

    assert held(workspace, "a/b/c") == [("a", False)]


def test_last_holder_removes(workspace: Path) -> None:
    """What one gives back another may still need."""
    with ExitStack() as first:
        hold_paths(workspace, ["x"], first)
        with ExitStack() as second:
            hold_paths(workspace, ["x"], second)
            first.close()
            assert (workspace / "x").is_dir()

        assert not (workspace / "x").exists()


def test_many_at_a_time_leave_nothing(workspace: Path) -> None:
    """Making and removing the same folder at the same time neither fails nor leaves it."""

    def turn(_: int) -> bool:
        with ExitStack() as stack:
            (part,) = hold_paths(workspace, ["x"], stack)
            return first_replaced(workspace, [part]) is None

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(turn, range(400)))
    assert list(workspace.iterdir()) == []


def test_leftover_of_a_crash_is_taken_over(workspace: Path) -> None:
    """A placeholder that nobody holds goes with the next run."""
    (workspace / "x").mkdir(placeholders.MODE)

    held(workspace, "x")

    assert list(workspace.iterdir()) == []


def test_what_somebody_has_filled_stays(workspace: Path) -> None:
    """A placeholder in which something lies is nobody's to remove."""
    with ExitStack() as stack:
        hold_paths(workspace, ["x"], stack)
        (workspace / "x/file").write_text("")

    assert (workspace / "x/file").exists()


@pytest.mark.parametrize("path", ["", "/etc", "a//b", "../x", "a/./b", "a/"])
def test_path_that_is_not_plain_is_refused(workspace: Path, path: str) -> None:
    """A protected path is relative and goes down only."""
    with pytest.raises(Unprotectable, match="is not a plain relative path"):
        held(workspace, path)


def test_link_is_refused(workspace: Path) -> None:
    """No mount can hold the name of a link, and the daemon would follow it."""
    (workspace / "a").symlink_to("/etc")

    with pytest.raises(Unprotectable, match="'a' is a link"):
        held(workspace, "a/passwd")


def test_socket_is_refused(workspace: Path) -> None:
    """Read-only keeps nobody from using a pipe or a socket."""
    os.mkfifo(workspace / "p")

    with pytest.raises(Unprotectable, match="'p' is neither a file nor a folder"):
        held(workspace, "p")


def test_what_is_locked_by_others_is_not_waited_for(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program could hold the lock for ever."""
    monkeypatch.setattr(placeholders, "_PATIENCE_S", 0.05)
    (workspace / "x").mkdir(placeholders.MODE)
    descriptor = os.open(workspace / "x", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    with pytest.raises(Unprotectable, match="'x' could not be reserved"):
        held(workspace, "x")
    os.close(descriptor)


def test_folder_that_cannot_be_made_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, say: nothing runs unprotected."""

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", fail)

    with pytest.raises(Unprotectable, match="no placeholder can be made at 'x': No space left on device"):
        held(workspace, "x")


def test_folder_that_cannot_be_seen_is_refused(workspace: Path) -> None:
    """What cannot be looked at cannot be protected."""
    with pytest.raises(Unprotectable, match="File name too long"):
        held(workspace, "x" * 300)


def test_somebody_else_makes_it_first(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the making another may have been faster."""
    real = Path.mkdir

    def slow(path: Path, mode: int) -> None:
        real(path, mode)
        real(path, mode)

    monkeypatch.setattr(Path, "mkdir", slow)

    assert held(workspace, "x") == [("x", False)]


def test_somebody_else_removes_it_first(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the lock the last holder may have removed it: it is made again."""
    real, turns = os.open, []

    def late(path: Any, flags: int, **given: Any) -> int:
        turns.append(path)
        if len(turns) == 1:
            Path(path).rmdir()
        if len(turns) == 2:
            descriptor = real(path, flags)
            Path(path).rmdir()
            return descriptor
        return real(path, flags, **given)

    monkeypatch.setattr(os, "open", late)

    assert held(workspace, "x") == [("x", False)]
    assert len(turns) == 3


def test_exchange_is_noticed(workspace: Path) -> None:
    """What lies at a held path now is compared with what lay there."""
    (workspace / "a").mkdir()
    with ExitStack() as stack:
        found = hold_paths(workspace, ["a"], stack)
    assert first_replaced(workspace, found) is None

    (workspace / "a").rename(workspace / "old")
    assert first_replaced(workspace, found) == "a"
    (workspace / "a").mkdir()
    assert first_replaced(workspace, found) == "a"
    assert first_replaced(workspace, [HeldPath("b", writable=False, identity=(0, 0))]) == "b"


def test_clean_up_removes_placeholders_only(workspace: Path) -> None:
    """An ordinary folder, a file and a missing one are left alone."""
    (workspace / "mine").mkdir(placeholders.MODE)
    (workspace / "theirs").mkdir()
    (workspace / "file").write_text("")

    for name in ("mine", "theirs", "file", "missing"):
        remove_if_unused(str(workspace / name))

    assert sorted(path.name for path in workspace.iterdir()) == ["file", "theirs"]
