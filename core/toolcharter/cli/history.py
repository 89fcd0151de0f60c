"""Finds the hidden files that git holds in a workspace: in the index, or in any commit that a reference reaches.

The git tool shows none of them. A program that runs git in the workspace does: hiding covers files, not git's objects.
"""

import subprocess
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from toolcharter.errors import Denied, ToolError
from toolcharter.guards.paths.hidden import SEARCHED_BYTES, HiddenNames
from toolcharter.guards.process.governed import CLEAN_ENVIRONMENT
from toolcharter.guards.process.programs import Programs
from toolcharter.guards.shell.git.settings import git_overrides

PATIENCE_S = 20
_MOST_BYTES = 64 << 20
"""The most bytes that all versions of files which `hidden` covers by their content may have together."""
_LISTINGS = (
    ("ls-files", "-z"),
    ("log", "--all", "--format=", "--name-only", "--no-renames", "--diff-filter=A", "-c", "-z"),
)


class HiddenInGit(NamedTuple):
    """The hidden files that git holds."""

    names: tuple[str, ...] = ()
    """Sorted paths."""
    is_whole: bool = True
    """False if git failed, or took longer than `PATIENCE_S`."""


def find_hidden_in_git(workspace: Path, hidden: HiddenNames) -> HiddenInGit:
    """Ask git, without running anything that the repository configures. A folder without `.git` holds nothing."""
    if not (workspace / ".git").exists() or not hidden.globs:
        return HiddenInGit()
    names = set[str]()
    try:
        for listing in _LISTINGS:
            listed = {name.strip("\n") for name in _run_git(workspace, listing).decode(errors="replace").split("\0")}
            names |= {name for name in listed if name and hidden.covers(name.split("/"))}
        names |= _find_hidden_by_content(workspace, hidden)
    except (Denied, ToolError, OSError, subprocess.SubprocessError):
        return HiddenInGit(tuple(sorted(names)), is_whole=False)
    return HiddenInGit(tuple(sorted(names)))


def _run_git(workspace: Path, words: Sequence[str], given: bytes = b"") -> bytes:
    ran = subprocess.run(
        [Programs(workspace).resolve("git"), "--no-pager", "-C", str(workspace), *words],
        env={**CLEAN_ENVIRONMENT, **git_overrides(str(workspace))},
        input=given,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return ran.stdout


def _find_hidden_by_content(workspace: Path, hidden: HiddenNames) -> set[str]:
    """Return the names of files of which some version has content that hides it.

    Raises:
        ToolError: All versions together are larger than `_MOST_BYTES`.
    """
    wanted: dict[bytes, tuple[str, tuple[bytes, ...]]] = {}
    for line in _run_git(workspace, ("rev-list", "--objects", "--all", "--indexed-objects")).splitlines():
        name, _, path = line.partition(b" ")
        text = path.decode(errors="replace")
        if text and (texts := hidden.conditions(text.split("/"))):
            wanted[name] = text, texts
    if not wanted:
        return set()
    sizes = _run_git(workspace, ("cat-file", "--batch-check=%(objecttype) %(objectsize)"), b"\n".join(wanted) + b"\n")
    kinds = dict(zip(wanted, (line.split() for line in sizes.splitlines()), strict=True))
    blobs = [name for name in wanted if kinds[name][0] == b"blob"]
    if sum(int(kinds[name][1]) for name in blobs) > _MOST_BYTES:
        raise ToolError("The versions of these files are too large to be looked at.")
    shown = BytesIO(_run_git(workspace, ("cat-file", "--batch"), b"\n".join(blobs) + b"\n"))
    found = set[str]()
    for name in blobs:
        shown.readline()
        content = shown.read(int(kinds[name][1]) + 1)[:SEARCHED_BYTES]
        file, marks = wanted[name]
        if any(mark in content for mark in marks):
            found.add(file)
    return found
