"""Whether names that one command prints reach another one as they are, each as one word and none as an option."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import join
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.errors import ToolError
from toolcharter.gate.commands import ListedNames
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.glob_expand import MAX_NAMES, expand, lies_where_it_seems, link_at, names_in

if TYPE_CHECKING:
    from toolcharter.guards.shell import git_index, git_repository
else:
    git_index = lazy("toolcharter.guards.shell.git_index")
    git_repository = lazy("toolcharter.guards.shell.git_repository")

# What xargs parts words at, and what it takes away; of what is no text, `grep` prints a message in its place. Git writes
# others than ASCII in a way of its own.
_PARTED = re.compile(r"""[\s"'\\\udc80-\udcff]""")
_QUOTED_BY_GIT = re.compile(r"[^ -~]")
_FIRST = re.compile(r"[^A-Za-z0-9_.]")
_ADVICE = "Write `find ... -print0 | xargs -0 ...`."


def objection(
    paths: WorkspacePaths, workspace: Path, folder: str, listed: ListedNames, budget: Iterator[int]
) -> str | None:
    """Why a name would become something else; None if all stay what they are.

    Args:
        paths: Opens folders.
        workspace: Its real path.
        folder: From where the names are seen, relative to the workspace.
        listed: The names.
        budget: Of `patterns.all_names`.

    Raises:
        Denied: They lie outside the workspace.
        ToolError: They cannot be looked at.
    """
    if listed.kind == "unlinked":
        return _link_objection(paths, folder, listed, budget)
    if listed.kind == "folder":
        return None if _may_enter(paths, join(folder, listed.path)) else f"{listed.path!r} is no folder to enter."
    if listed.kind == "index":
        return _index_objection(paths, workspace, folder, listed, budget)
    if listed.kind in {"below", "in"}:
        is_deep = listed.kind == "below"
        names = names_in(paths, join(folder, listed.path), budget, is_deep=is_deep, pattern=listed.name)
        return next(filter(None, (_name_objection(name, listed, is_first) for name, is_first in names)), None)
    for path in expand(paths, folder, listed.path, budget):
        why = _path_objection(path, listed)
        if why is None and listed.kind == "files" and _is_folder(paths, join(folder, path)):
            why = f"{path!r} is a folder, of which `ls` shows what lies in it; `ls -d` does not."
        if why is not None:
            return why
    return None


def _link_objection(paths: WorkspacePaths, folder: str, listed: ListedNames, budget: Iterator[int]) -> str | None:
    """Why what is moved or copied may lead elsewhere afterwards: a link that is relative to its folder."""
    for path in expand(paths, folder, listed.path, budget):
        found = link_at(paths, join(folder, path), budget)
        if found is not None:
            return f"{found!r} is a link, which the line moves or copies and may then follow; do that in two calls."
    return None


def _name_objection(name: str, listed: ListedNames, is_first: bool) -> str | None:  # noqa: FBT001 - one of a pair
    if listed.is_split and _PARTED.search(name):
        return f"The name {name!r} would become other words behind `xargs`. {_ADVICE}"
    if listed.is_bare and is_first and _FIRST.match(name):
        return f"The name {name!r} could be taken for an option. {_ADVICE}"
    return None


def _path_objection(path: str, listed: ListedNames) -> str | None:
    parts = [part for part in path.split("/") if part]
    found = (_name_objection(part, listed, not place) for place, part in enumerate(parts))
    return None if path == listed.path else next(filter(None, found), None)


def _may_enter(paths: WorkspacePaths, path: str) -> bool:
    try:
        with paths.open_folder(path) as held:
            os.stat(".", dir_fd=held.fileno())  # asks for the right to search it, as `cd` does
    except (ToolError, OSError):
        return False
    return True


def _is_folder(paths: WorkspacePaths, path: str) -> bool:
    try:
        paths.open_folder(path).close()
    except ToolError:
        return False
    return True


def _index_objection(
    paths: WorkspacePaths, workspace: Path, folder: str, listed: ListedNames, budget: Iterator[int]
) -> str | None:

    try:
        found = git_repository.tracked_files(workspace)
    except git_index.UnreadableIndexError as error:
        return f".git/index cannot be read: {error}"
    top = "" if folder == "." else f"{folder}/"
    for path in found:
        why = _tracked_objection(path, path.removeprefix(top), listed)
        if why is not None or next(budget, None) is None:
            return why or f"git tracks more than {MAX_NAMES:,} files."
        _require_inside(paths, path)
    return None


def _tracked_objection(path: str, seen: str, listed: ListedNames) -> str | None:
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        return f".git/index holds the path {path!r}."
    if listed.is_split and _QUOTED_BY_GIT.search(path):
        return f"git would quote the name {path!r}. Write `git ls-files -z | xargs -0 ...`."
    return _path_objection(seen, listed)


def _require_inside(paths: WorkspacePaths, path: str) -> None:
    """Refuse a path that leads out: on disk, a link may have taken the place of a folder that the index names."""
    try:
        paths.open_file(path).__exit__(None, None, None)
    except ToolError as error:
        if not lies_where_it_seems(error):
            raise
