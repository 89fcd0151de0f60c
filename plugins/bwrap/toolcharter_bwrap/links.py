"""Links in protected folders: what they lead to in the workspace is as good as in the folder, and is protected with it."""

import os
from collections.abc import Iterator
from pathlib import Path

from toolcharter import Denied, Reason

MOST_NAMES = 10_000
"""Looked at in one protected folder."""
# Of a repository: git neither runs nor believes what is written there, and it can be much. Source: gitrepository-layout(5).
_CONTENT = frozenset({"objects", "refs", "logs", "lfs"})


def places_behind_links(workspace: Path, folder: str) -> Iterator[str]:
    """What the links in *folder*, at any depth, lead to, relative to *workspace*, as far as it lies there.

    Raises:
        Denied: `protected_path`: one leads to the workspace itself, or there are too many names to look at.
    """
    left = MOST_NAMES
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _CONTENT]
        left -= len(folders) + len(files)
        if left < 0:
            raise _refused(f"The protected folder {folder!r} holds too many names to look for links.")
        for name in (*folders, *files):
            path = f"{parent}/{name}"
            if os.path.islink(path):  # noqa: PTH114 - on the way of every program
                yield from _ends_of(workspace, path)


def _ends_of(workspace: Path, link: str) -> Iterator[str]:
    """Where a link leads by its letters, and in truth: it may lead over other links, which have to be held, too."""
    step = os.path.join(os.path.realpath(os.path.dirname(link)), os.readlink(link))  # noqa: PTH115, PTH118, PTH120 - as above
    for end in dict.fromkeys((os.path.normpath(step), os.path.realpath(step))):
        if end == str(workspace):
            raise _refused(f"The path {link!r} is protected, but leads to all of the workspace.")
        if end.startswith(f"{workspace}/"):
            yield os.path.relpath(end, workspace)


def _refused(message: str) -> Denied:
    return Denied(Reason.PROTECTED_PATH, message, hint="Put the file or folder itself there.")
