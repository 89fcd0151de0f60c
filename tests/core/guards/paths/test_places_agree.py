"""On random trees places are found alike by both ways, and nothing that is written lies outside."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.guards.paths.test_agree import ENTRIES, STEPS, TARGETS, grow, lies_below, text

from toolcharter import Denied, ToolError
from toolcharter.api.paths import PlaceUse
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.roots import kernel_openers, walking_openers
from toolcharter.guards.paths.workspace import WorkspaceView

USES = st.sampled_from(["write", "delete", "move", "receive", "make"])
PATHS = st.one_of(TARGETS, st.tuples(st.just(""), st.lists(STEPS, min_size=1, max_size=4)))


def found(paths: WorkspaceView, path: str, use: PlaceUse) -> tuple[str, str]:
    try:
        with paths.open_place(path, use) as place:
            return place.kind, place.path
    except Denied as denied:
        return "denied", denied.reason
    except ToolError as error:
        return "error", error.reason


def kernel_says(root: Path, path: str) -> Path | None:
    """Where the system itself would write, links and all; None if it would not, or beyond *root*."""
    if not lies_below(root, root / "ws" / path):
        return None
    try:
        fd = os.open(root / "ws" / path, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        return Path(f"/proc/self/fd/{fd}").readlink()
    finally:
        os.close(fd)


def act(paths: WorkspaceView, path: str, use: PlaceUse) -> None:
    try:
        with paths.open_place(path, use) as place:
            {"write": lambda: place.write(b"ws"), "delete": place.delete, "make": place.make_folder}.get(use, str)()
    except (Denied, ToolError):
        return


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path): str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(entries=ENTRIES, tries=st.lists(st.tuples(PATHS, USES), min_size=1, max_size=8))
def test_both_ways_agree_and_nothing_outside_is_changed(entries: list, tries: list) -> None:
    """Whatever is written, deleted or made by whatever path: all that lies outside or is protected stays as it is."""
    root = Path(tempfile.mkdtemp()).resolve()
    try:
        grow(root, entries)
        kernel, walk = (
            WorkspacePaths(root / "ws", read_only=(".git", "a/c"), openers=openers).writable(lambda: None)
            for openers in (kernel_openers, walking_openers)
        )
        before = contents(root / "out"), names(root)  # links may have led the growing itself astray

        for each, use in tries:
            path = text(each, root)
            got = found(kernel, path, use)
            assert got == found(walk, path, use), (path, use)
            assert got[0] in {"denied", "error"} or ".git" not in got[1].lower()
            act(kernel, path, use)

        assert (contents(root / "out"), names(root)) == before
    finally:
        shutil.rmtree(root)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(entries=ENTRIES, tried=PATHS)
def test_place_is_where_the_system_would_write(entries: list, tried: tuple) -> None:
    """A place to write is the very file that an open by the same path would write, if that lies beneath the workspace."""
    root = Path(tempfile.mkdtemp()).resolve()
    try:
        grow(root, entries)
        path = text(tried, root)
        got = found(WorkspacePaths(root / "ws"), path, "write")

        real = kernel_says(root, path)

        if got[0] in {"file", "missing"} and real is not None:
            assert root / "ws" / got[1] == real
        if real is not None and not real.is_relative_to(root / "ws"):
            assert got == ("denied", "path_outside_workspace")
    finally:
        shutil.rmtree(root)
