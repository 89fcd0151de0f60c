"""The kernel's way and the portable walk are one guard: they agree on every tree and path."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcharter import Denied, ToolError
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.handles import HeldFile
from toolcharter.guards.paths.roots import kernel_openers, walking_openers

NAMES = st.sampled_from(["a", "b", "c", ".git", ".Git"])
STEPS = st.one_of(NAMES, st.sampled_from(["..", ".", ""]))
TARGETS = st.tuples(st.sampled_from(["", "", "{ws}/", "{out}/", "/"]), st.lists(STEPS, min_size=1, max_size=4))
ENTRIES = st.lists(
    st.tuples(st.lists(NAMES, min_size=1, max_size=3), st.one_of(st.just("file"), st.just("folder"), TARGETS)),
    max_size=10,
)


def text(target: tuple[str, list[str]], root: Path) -> str:
    prefix, steps = target
    return (prefix + "/".join(steps)).format(ws=root / "ws", out=root / "out") or "."


def lies_below(root: Path, path: Path) -> bool:
    """Whether *path* leads nowhere but into *root*, links, loops and all: a test that runs as root may write anywhere."""
    return Path(os.path.realpath(path)).is_relative_to(root)


def grow(root: Path, entries: list) -> None:
    """Make what can be made of *entries*; what clashes with an earlier one, or would lie outside of *root*, is left out."""
    for folder in ("ws", "out"):
        (root / folder / "a").mkdir(parents=True)
        (root / folder / "b").write_text(folder)
    for names, what in entries:
        place = root.joinpath("ws", *names)
        if place.is_symlink() or not lies_below(root, place.parent):
            continue
        try:
            if what == "folder":
                place.mkdir(parents=True)
            elif what == "file":
                place.write_text("ws")
            else:
                place.symlink_to(text(what, root))
        except OSError:
            continue


def outcomes(paths: WorkspacePaths, path: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for opener in (paths.open_file, paths.open_folder):
        try:
            with opener(path) as opened:
                content = opened.read(9).decode() if isinstance(opened, HeldFile) else "folder"
                found.append(("ok", opened.path, content))
        except Denied as denied:
            found.append(("denied", denied.reason))
        except ToolError as error:
            found.append(("error", error.reason))
    return found


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(entries=ENTRIES, tries=st.lists(TARGETS, min_size=1, max_size=8))
def test_kernel_and_walk_agree_and_never_leave(entries: list, tries: list) -> None:
    """On random trees with links both ways give the same outcome, and never a file from outside."""
    root = Path(tempfile.mkdtemp()).resolve()
    try:
        grow(root, entries)
        kernel, walk = (
            WorkspacePaths(root / "ws", protected=(".git", "a/c"), openers=openers)
            for openers in (kernel_openers, walking_openers)
        )

        for each in tries:
            path = text(each, root)
            got = outcomes(kernel, path)

            assert got == outcomes(walk, path), path
            assert all(outcome[0] != "ok" or outcome[2] in {"ws", "folder"} for outcome in got), path
            assert all(outcome[0] != "ok" or ".git" not in outcome[1].lower() for outcome in got), path
    finally:
        shutil.rmtree(root)
