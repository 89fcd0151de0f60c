"""Links in protected folders: their targets in the workspace are protected like the folders' own files."""

import os
from collections.abc import Iterator
from pathlib import Path

from toolcharter import Denied, Reason

MAX_NAMES = 10_000
"""The most names that are searched for links in one protected folder."""
# Folders of a repository that are not searched: git neither runs nor trusts their files, which can be many.
# Source: gitrepository-layout(5).
_UNSEARCHED = frozenset({"objects", "refs", "logs", "lfs"})


def link_targets(workspace: Path, folder: str) -> Iterator[str]:
    """Yield the targets of the links in *folder*, at any depth, that lie in *workspace*, relative to it.

    Raises:
        Denied: `protected_path`, if a link leads to the workspace itself, or *folder* has more than `MAX_NAMES` names.
    """
    left = MAX_NAMES
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _UNSEARCHED]
        left -= len(folders) + len(files)
        if left < 0:
            raise _links_denied(f"The protected folder {folder!r} has too many names to search it for links.")
        for name in (*folders, *files):
            path = f"{parent}/{name}"
            if os.path.islink(path):  # noqa: PTH114 - on the way of every program
                yield from _targets_of(workspace, path)


def _targets_of(workspace: Path, link: str) -> Iterator[str]:
    """The target of a link as written, and its final target: other links on the way have to be protected, too."""
    step = os.path.join(os.path.realpath(os.path.dirname(link)), os.readlink(link))  # noqa: PTH115, PTH118, PTH120 - as above
    for end in dict.fromkeys((os.path.normpath(step), os.path.realpath(step))):
        if end == str(workspace):
            raise _links_denied(f"The path {link!r} is protected, but links to the whole workspace.")
        if end.startswith(f"{workspace}/"):
            yield os.path.relpath(end, workspace)


def _links_denied(message: str) -> Denied:
    return Denied(Reason.PROTECTED_PATH, message, hint="Put the file or folder itself there.")
