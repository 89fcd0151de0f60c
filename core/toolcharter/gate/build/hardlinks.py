"""Finds the other names, in a workspace, of files that the gate believes. What is written to one name is written to all.

Tools make no hard links to what is protected; installers and people do, before. A sandbox holds paths, not files.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

_MOST_FILES = 10_000
"""Looked at in one folder that is believed."""
# Of a repository: what git reads its settings from, and the programs that it runs. The rest is content.
_OF_GIT = ("config", "config.worktree", "hooks", "info")


def other_names(workspace: Path, believed: Iterable[Path]) -> Iterator[str]:
    """Absolute paths in *workspace* of files that *believed* files, or files in *believed* folders, are hard links to.

    Args:
        workspace: A real path. Its repository's settings and hooks are believed, too.
        believed: Files and folders, there or not.
    """
    git = workspace / ".git"
    wanted: set[tuple[int, int]] = set()
    for path in (*believed, *(git / name for name in _OF_GIT)):
        wanted.update(_with_more_names(path))
    if wanted:
        yield from _named(workspace, wanted)


def _with_more_names(path: Path) -> Iterator[tuple[int, int]]:
    """Device and inode of each regular file with several names that is *path* or lies below it."""
    try:
        found = path.stat()
    except OSError:
        return
    if stat.S_ISREG(found.st_mode):
        if found.st_nlink > 1:
            yield found.st_dev, found.st_ino
        return
    left = _MOST_FILES
    for folder, _, files in os.walk(path):
        for name in files[: max(0, left)]:
            yield from _if_named_twice(os.path.join(folder, name))  # noqa: PTH118 - as text, for speed
        left -= len(files)


def _if_named_twice(path: str) -> Iterator[tuple[int, int]]:
    try:
        found = os.lstat(path)
    except OSError:
        return
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        yield found.st_dev, found.st_ino


def _named(workspace: Path, wanted: set[tuple[int, int]]) -> Iterator[str]:
    """Every name that a *wanted* file has in *workspace*. An entry's inode costs no look at the file."""
    inodes = {inode for _, inode in wanted}
    pending = [str(workspace)]
    while pending:
        try:
            with os.scandir(pending.pop()) as listing:
                entries = list(listing)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.inode() in inodes:
                found = entry.stat(follow_symlinks=False)
                if (found.st_dev, found.st_ino) in wanted:
                    yield entry.path
