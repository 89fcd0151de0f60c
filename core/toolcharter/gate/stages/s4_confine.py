"""Stage 4 for commands: what rules have allowed by its letters is held against the file system.

A path that lies in the workspace by its letters may be a link that leads out of it, a glob may match one, a program's
name may lead into the workspace, a repository may bring programs of its own.
"""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.reasons import Reason
from toolcharter.errors import Denied, ToolError
from toolcharter.gate.call import CallContext
from toolcharter.gate.commands import MAY, DiskPreconditions, ListedNames, PathAccess
from toolcharter.guards.inventory import Inventory
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.glob_expand import MAX_NAMES, all_names, expand, lies_where_it_seems
from toolcharter.guards.process.programs import Programs
from toolcharter.profile.settings import HiddenGlob

if TYPE_CHECKING:
    from toolcharter.gate import listed_names
    from toolcharter.guards.shell import git_repository
else:
    listed_names = lazy("toolcharter.gate.listed_names")
    git_repository = lazy("toolcharter.guards.shell.git_repository")


class Confinement:
    """Looks at one workspace for all calls of a toolbox. Opens nothing before the first call that needs it."""

    def __init__(self, workspace: Path, inventory: Inventory | None = None, hidden: Sequence[HiddenGlob] = ()) -> None:
        self._workspace = workspace
        self._inventory = inventory or Inventory(workspace)
        self._hidden = hidden

    def hold(self, ctx: CallContext, world: DiskPreconditions) -> None:
        """Refuse *ctx* if its commands lead elsewhere than they seem to; the disk changes, so each call is looked at."""
        denied = self.objection(world)
        if denied is not None:
            ctx.refuse("guard", denied.reason, denied.message, hint=denied.hint)

    def objection(self, world: DiskPreconditions) -> Denied | None:
        """Why commands with this *world* must not run, if anything speaks against it."""
        names = all_names()
        try:
            for place in dict.fromkeys(world.places):
                self._confine(place, names)
            for listed in world.names:
                self._require_plain_names(listed, names)
            for name in world.programs:
                self._programs.require_outside(name)
            for folder in world.repositories:
                self._require_plain_repository(folder)
            if world.blames:
                self._require_no_list_of_commits()
            if world.links_repositories:
                self._require_no_repository_below()
        except Denied as denied:
            return denied
        except Exception as error:  # noqa: BLE001 - what cannot be looked at cannot be permitted
            what = f"The commands cannot be compared with the disk: {type(error).__name__}."
            return Denied(Reason.NOT_UNDERSTOOD, what)
        return None

    def close(self) -> None:
        """Let go of the workspace."""
        if "_paths" in self.__dict__:
            self._paths.close()

    @cached_property
    def _paths(self) -> WorkspacePaths:
        return WorkspacePaths(self._workspace, inventory=self._inventory, hidden=self._hidden)

    @cached_property
    def _programs(self) -> Programs:
        return Programs(self._workspace)

    def _confine(self, place: PathAccess, names: Iterator[int]) -> None:
        for path in self._paths_of(place, names):
            # The folder that something is copied into may hold what is protected: the copy gets a name of its own.
            is_whole = place.change not in {"into", MAY}
            if place.change and not self._paths.changeable(path, with_below=is_whole):
                raise Denied(Reason.PROTECTED_PATH, f"{path!r} is protected: no program may change it.")
            try:
                self._paths.open_file(path).__exit__(None, None, None)
            except ToolError as error:
                if not lies_where_it_seems(error):
                    raise Denied(Reason.NOT_UNDERSTOOD, f"{error.message} Programs may see it otherwise.") from error

    def _paths_of(self, place: PathAccess, names: Iterator[int]) -> Iterator[str]:
        for folder in place.folders:
            found = expand(self._paths, folder, place.path, names) if place.is_pattern else [place.path]
            for path in found:
                if place.is_pattern and path.startswith("-"):
                    message = f"The glob {place.path!r} matches {path!r}, which would be an option."
                    raise Denied(Reason.NOT_UNDERSTOOD, message)
                yield path if path.startswith("/") or folder == "." else f"{folder}/{path}"

    def _require_plain_names(self, listed: ListedNames, budget: Iterator[int]) -> None:

        for folder in listed.folders:
            why = listed_names.objection(self._paths, self._workspace, folder, listed, budget)
            if why is not None:
                raise Denied(Reason.NOT_UNDERSTOOD, why)

    def _require_plain_repository(self, folder: str) -> None:

        why = git_repository.objection(self._workspace / folder, self._workspace)
        if why is not None:
            raise Denied(Reason.PROTECTED_PATH, why)

    def _require_no_list_of_commits(self) -> None:

        why = git_repository.blame_objection(self._workspace)
        if why is not None:
            raise Denied(Reason.PROTECTED_PATH, why)

    def _require_no_repository_below(self) -> None:
        """Refuse if git could add a repository of the work tree, and then run what that one names."""
        left = MAX_NAMES
        for folder, folders, files in os.walk(self._workspace):
            left -= len(folders) + len(files)
            if left < 0:
                message = f"The workspace holds more than {MAX_NAMES:,} names, too many to look for repositories."
                raise Denied(Reason.NOT_UNDERSTOOD, message)
            is_top = folder == str(self._workspace)
            if not is_top and ".git" in (*folders, *files):
                name = os.path.relpath(folder, self._workspace)
                message = f"{name!r} is a repository, which git would add and then run in; add and look in two calls."
                raise Denied(Reason.PROTECTED_PATH, message)
            if is_top and ".git" in folders:
                folders.remove(".git")
