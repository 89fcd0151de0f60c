"""Stage 4 for commands: checks on disk what rules have allowed by the text of a command.

A path whose text lies in the workspace may be a link that leads out of it, and a glob may match such a link. A
program's name may lead into the workspace, and a repository may contain programs of its own.
"""

import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from posixpath import basename, join
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.command import MAY, DiskPreconditions, ListedNames, PathAccess
from toolcharter.api.reasons import Reason
from toolcharter.errors import Denied, ToolError
from toolcharter.gate.call import CallContext
from toolcharter.guards.inventory import Inventory
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.glob_expand import (
    MAX_NAMES,
    expand,
    find_link,
    is_harmless_failure,
    list_names,
    new_name_budget,
)
from toolcharter.guards.process.programs import Programs
from toolcharter.profile.settings import HiddenGlob

if TYPE_CHECKING:
    from toolcharter.guards import python_modules
    from toolcharter.guards.shell.git import index as git_index
    from toolcharter.guards.shell.git import repository as git_repository
else:
    python_modules = lazy("toolcharter.guards.python_modules")
    git_index = lazy("toolcharter.guards.shell.git.index")
    git_repository = lazy("toolcharter.guards.shell.git.repository")
# Characters at which xargs splits words or which it removes, and bytes that are no text, for which `grep` prints a
# message instead. Git quotes names that are not printable ASCII.
_SPLIT_BY_XARGS = re.compile(r"""[\s"'\\\udc80-\udcff]""")
_QUOTED_BY_GIT = re.compile(r"[^ -~]")
_GLOB_CHARACTERS = re.compile(r"[*?[]")
_MAY_BEGIN_OPTION = re.compile(r"[^A-Za-z0-9_.]")
_ADVICE = "Write `find ... -print0 | xargs -0 ...`."


class Confinement:
    """Checks the commands of all calls of a toolbox against its workspace. Opens nothing before it is needed."""

    def __init__(self, workspace: Path, inventory: Inventory | None = None, hidden: Sequence[HiddenGlob] = ()) -> None:
        self._workspace = workspace
        self._inventory = inventory or Inventory(workspace)
        self._hidden = hidden

    def refuse_if_unconfined(self, ctx: CallContext, preconditions: DiskPreconditions) -> None:
        """Refuse *ctx* if its commands do not do on disk what their text says. Must run for each call: disks change."""
        denied = self.find_objection(preconditions)
        if denied is not None:
            ctx.refuse("guard", denied.reason, denied.message, hint=denied.hint)

    def find_objection(self, preconditions: DiskPreconditions) -> Denied | None:
        """Return why commands with these *preconditions* must not run; None if they may."""
        names = new_name_budget()
        try:
            for place in dict.fromkeys(preconditions.places):
                self._confine(place, names, preconditions.marks)
            for listed in preconditions.names:
                self._require_plain_names(listed, names)
            for name in preconditions.programs:
                self._programs.require_outside(name)
            for folder in preconditions.repositories:
                _refuse_repository(git_repository.objection(self._workspace / folder, self._workspace))
            if preconditions.blames:
                _refuse_repository(git_repository.blame_objection(self._workspace))
            for folder, module in preconditions.modules:
                _refuse_shadow(self._paths, folder, module, makes_files=preconditions.makes_files)
            if preconditions.links_repositories:
                self._require_no_repository_below()
        except Denied as denied:
            return denied
        except Exception as error:  # noqa: BLE001 - commands that cannot be checked cannot be permitted
            what = f"The commands cannot be checked against the disk: {type(error).__name__}."
            return Denied(Reason.NOT_UNDERSTOOD, what)
        return None

    def close(self) -> None:
        """Close the descriptor of the workspace."""
        if "_paths" in self.__dict__:
            self._paths.close()

    @cached_property
    def _paths(self) -> WorkspacePaths:
        return WorkspacePaths(self._workspace, inventory=self._inventory, hidden=self._hidden)

    @cached_property
    def _programs(self) -> Programs:
        return Programs(self._workspace)

    def _confine(self, place: PathAccess, names: Iterator[int], marks: tuple[str, ...]) -> None:
        for path in self._expand_place(place, names, marks):
            # A copy gets a name of its own in its target folder, so that folder may contain protected entries.
            is_whole = place.change != MAY and not (place.change == "into" and (self._workspace / path).is_dir())
            if place.change and not self._paths.changeable(path, with_below=is_whole):
                raise Denied(Reason.PROTECTED_PATH, f"{path!r} is protected: no program may change it.")
            try:
                self._paths.open_file(path).__exit__(None, None, None)
            except ToolError as error:
                if not is_harmless_failure(error):
                    raise Denied(
                        Reason.NOT_UNDERSTOOD, f"{error.message} Programs may resolve it differently."
                    ) from error
            if place.copied_into is not None:
                copies = [basename(path.rstrip("/"))]
                if place.copies_content and _is_folder(self._paths, path):
                    copies = [name for name, _ in list_names(self._paths, path, names, is_deep=False)]
                self._require_copies_unprotected(self._expand_place(place.copied_into, names, marks), copies)

    def _require_copies_unprotected(self, folders: Iterator[str], names: Sequence[str]) -> None:
        """Refuse if a copy would get a protected name in one of *folders*."""
        for folder in folders:
            for copy in (join(folder, name) for name in names):
                if not self._paths.changeable(copy):
                    raise Denied(Reason.PROTECTED_PATH, f"{copy!r} is protected: no program may create it.")

    def _expand_place(self, place: PathAccess, names: Iterator[int], marks: tuple[str, ...]) -> Iterator[str]:
        if marks and place.path.startswith(marks):
            message = f"{place.path!r} would be read as a special argument; write './' before it."
            raise Denied(Reason.NOT_UNDERSTOOD, message)
        for folder in place.folders:
            found = expand(self._paths, folder, place.path, names) if place.is_pattern else [place.path]
            for path in found:
                if place.is_pattern and path.startswith(("-", *marks)):
                    what = "an option" if path[0] == "-" else "a special argument"
                    message = f"The glob {place.path!r} matches {path!r}, which would be read as {what}."
                    raise Denied(Reason.NOT_UNDERSTOOD, message)
                yield path if path.startswith("/") or folder == "." else f"{folder}/{path}"

    def _require_plain_names(self, listed: ListedNames, budget: Iterator[int]) -> None:
        for folder in listed.folders:
            why = _names_objection(self._paths, self._workspace, folder, listed, budget)
            if why is not None:
                raise Denied(Reason.NOT_UNDERSTOOD, why)

    def _require_no_repository_below(self) -> None:
        """Refuse if git could add a repository in the work tree, and then run programs that this repository names."""
        left = MAX_NAMES
        for folder, folders, files in os.walk(self._workspace):
            left -= len(folders) + len(files)
            if left < 0:
                message = f"The workspace holds more than {MAX_NAMES:,} names, too many to look for repositories."
                raise Denied(Reason.NOT_UNDERSTOOD, message)
            is_top = folder == str(self._workspace)
            if not is_top and ".git" in (*folders, *files):
                name = os.path.relpath(folder, self._workspace)
                message = f"{name!r} is a repository, which git would add and then run in; use two calls."
                raise Denied(Reason.PROTECTED_PATH, message)
            if is_top and ".git" in folders:
                folders.remove(".git")


def _refuse_shadow(paths: WorkspacePaths, folder: str, module: str, *, makes_files: bool) -> None:
    """Refuse if Python would import a file of *folder*, in which it runs, instead of *module* or of its imports."""
    if makes_files:
        message = (
            f"Python might import a file that the line makes for {module!r}; use `-P`, or make it in an earlier call."
        )
        raise Denied(Reason.NOT_UNDERSTOOD, message)
    with paths.open_folder(folder) as held:
        found = python_modules.find_shadowing(held.fileno(), module)
    if found is not None:
        message = f"Python would import {join(folder, found)!r} for {module!r}, instead of its own module; use `-P`."
        raise Denied(Reason.PROTECTED_PATH, message)


def _refuse_repository(why: str | None) -> None:
    if why is not None:
        raise Denied(Reason.PROTECTED_PATH, why)


def _names_objection(
    paths: WorkspacePaths, workspace: Path, folder: str, listed: ListedNames, budget: Iterator[int]
) -> str | None:
    """Return why a name that one command prints would reach the next command as other words or as an option.

    Args:
        paths: Opens folders.
        workspace: Its real path.
        folder: The folder that the names are relative to, relative to the workspace.
        listed: The names.
        budget: How many names may be read, from `new_name_budget`.

    Returns:
        A sentence; None if every name arrives unchanged.

    Raises:
        Denied: The names lie outside the workspace.
        ToolError: The names cannot be read.
    """
    if listed.kind == "unlinked":
        return _link_objection(paths, folder, listed, budget)
    if listed.kind == "folder":
        return (
            None
            if _may_enter(paths, join(folder, listed.path))
            else f"{listed.path!r} is no folder that can be entered."
        )
    if listed.kind == "index":
        return _index_objection(paths, workspace, folder, listed, budget)
    if listed.kind in {"below", "in"}:
        is_deep = listed.kind == "below"
        names = list_names(paths, join(folder, listed.path), budget, is_deep=is_deep, pattern=listed.name)
        return next(filter(None, (_name_objection(name, listed, is_first=is_first) for name, is_first in names)), None)
    for path in expand(paths, folder, listed.path, budget):
        why = _path_objection(path, listed)
        if why is None and listed.kind == "files" and _is_folder(paths, join(folder, path)):
            why = f"{path!r} is a folder, whose entries `ls` would list; `ls -d` would not."
        if why is not None:
            return why
    return None


def _link_objection(paths: WorkspacePaths, folder: str, listed: ListedNames, budget: Iterator[int]) -> str | None:
    """Return why a moved or copied entry may lead elsewhere afterwards: it is, or contains, a link. Else None."""
    for path in expand(paths, folder, listed.path, budget):
        found = find_link(paths, join(folder, path), budget)
        if found is not None:
            return f"{found!r} is a link, which the line moves or copies and may then follow; do that in two calls."
    return None


def _name_objection(name: str, listed: ListedNames, *, is_first: bool) -> str | None:
    if listed.is_split and _SPLIT_BY_XARGS.search(name):
        where = "the shell" if listed.is_globbed else "`xargs`"
        return f"The name {name!r} would be split into other words by {where}. {_ADVICE}"
    if listed.is_globbed and _GLOB_CHARACTERS.search(name):
        return f"The name {name!r} would match other names in the shell. {_ADVICE}"
    if listed.is_bare and is_first and _MAY_BEGIN_OPTION.match(name):
        return f"The name {name!r} could be taken for an option. {_ADVICE}"
    return None


def _path_objection(path: str, listed: ListedNames) -> str | None:
    parts = [part for part in path.split("/") if part]
    found = (_name_objection(part, listed, is_first=not place) for place, part in enumerate(parts))
    return None if path == listed.path else next(filter(None, found), None)


def _may_enter(paths: WorkspacePaths, path: str) -> bool:
    try:
        with paths.open_folder(path) as held:
            os.stat(".", dir_fd=held.fileno())  # needs the right to search the folder, as `cd` does
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
        found = git_repository.tracked_paths(workspace)
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
    """Refuse a path that leads out of the workspace: a link may have replaced a folder of the index on disk."""
    try:
        paths.open_file(path).__exit__(None, None, None)
    except ToolError as error:
        if not is_harmless_failure(error):
            raise
