"""The inventory: everything in a workspace that the gate executes or trusts. No tool may change any of it.

A pure function makes it from facts that the loader and the gate have collected. The file tools, the runners, the shell
guard and the tools that use `rt.paths` all share the tuple `Inventory.places`; none of them keeps its own list.
"""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ALWAYS_PROTECTED = (".toolcharter",)
"""The folder in which a workspace keeps its ceiling."""
PACKAGE = "__init__"
"""The name of the module that makes a folder a package."""

Parts = tuple[str, ...]


class ImportFolder(NamedTuple):
    """One folder of `sys.path` in which tools may write."""

    folder: Parts
    """Relative to the workspace, folded; empty for the workspace itself."""
    names: frozenset[str]
    """Names of modules and packages that no tool may make there, folded."""
    open_names: frozenset[str] = frozenset()
    """The names for which no regular module or package is installed: here any folder of the name is a package."""
    taken: tuple[str, ...] = ()
    """Names that would be in `names`, but that modules of the user's own there already have."""

    def covers(self, parts: Parts) -> bool:
        """Whether Python would import a file at *parts*, relative to the workspace and folded, by one of the names."""
        below = self._below_folder(parts)
        if not below:
            return False
        name, *inner = below
        if not inner:
            return module_name(name) in self.names
        if name in self.open_names:
            return bool(module_name(inner[-1]))
        return name in self.names and len(inner) == 1 and module_name(inner[0]) == PACKAGE

    def holds(self, parts: Parts) -> bool:
        """Whether a folder or a link that is put at *parts* could bring a file that `covers` is true for."""
        below = self._below_folder(parts)
        if not below:
            return parts == self.folder[: len(parts)]
        name, *inner = below
        return name in self.open_names and "." not in below[-1] if inner else name in self.names

    def _below_folder(self, parts: Parts) -> Parts:
        depth = len(self.folder)
        return parts[depth:] if parts[:depth] == self.folder else ()


class Inventory(NamedTuple):
    """What is protected in one workspace, as paths relative to it. A path covers everything below it."""

    workspace: Path
    places: tuple[str, ...] = ALWAYS_PROTECTED
    """Paths that no file tool, program in a sandbox or action of git may change. None lies below another."""
    sealed: tuple[str, ...] = ()
    """Places, or folders in them, that tools may not read either: folders of installed packages."""
    repositories: tuple[str, ...] = ()
    """Folders of the workspace's repository that are not called `.git`. Only programs of tools that their own policy
    limits, such as `git`, may write there."""
    records: tuple[str, ...] = ()
    """Globs for the names that log rotation gives to event files. No tool may make or change such a file anywhere."""
    importing: tuple[ImportFolder, ...] = ()
    """Folders outside `places` from which Python imports at its next start. No tool may make a module of one of their
    names there."""

    def covers(self, path: str) -> bool:
        """Whether *path*, absolute and with its links resolved, is one of the places or lies below one."""
        return lies_in(path, self.workspace, self.places)

    def shadows(self, parts: Parts, *, with_below: bool) -> bool:
        """Whether a file put at *parts* would replace an installed module at Python's next start.

        Args:
            parts: Names relative to the workspace, folded.
            with_below: Whether it may also be a folder that is not empty, or a link.
        """
        return any(folder.covers(parts) or (with_below and folder.holds(parts)) for folder in self.importing)


def make_inventory(
    workspace: Path,
    trusted: Iterable[str],
    *,
    sealed: Iterable[str] = (),
    repositories: Iterable[str] = (),
    records: Iterable[str] = (),
) -> Inventory:
    """Select the paths that lie in a workspace.

    Args:
        workspace: Its real path.
        trusted: Absolute paths of everything that the gate executes or trusts. A path that leads through links is given
            by each of its names: a link can be replaced without touching its target.
        sealed: Absolute paths that tools may not read either.
        repositories: Absolute paths of folders that belong to the workspace's repository.
        records: Globs for the names of rotated event files.
    """
    below = sorted(
        {*ALWAYS_PROTECTED, *_relative_to_workspace(workspace, trusted)}, key=lambda path: PurePosixPath(path).parts
    )
    places: list[str] = []
    for path in below:
        if not (places and path.startswith(f"{places[-1]}/")):
            places.append(path)
    return Inventory(
        workspace,
        tuple(places),
        tuple(dict.fromkeys(_relative_to_workspace(workspace, sealed))),
        tuple(dict.fromkeys(_relative_to_workspace(workspace, repositories))),
        tuple(dict.fromkeys(records)),
    )


def lies_in(path: str, workspace: Path, places: Iterable[str]) -> bool:
    """Whether *path*, absolute and with its links resolved, is one of the *places* of *workspace*, or lies below one."""
    top = str(workspace).rstrip("/")
    return any(path == (place := f"{top}/{name}") or path.startswith(f"{place}/") for name in places)


def _relative_to_workspace(workspace: Path, paths: Iterable[str]) -> list[str]:
    top = f"{str(workspace).rstrip('/')}/"
    return [path.removeprefix(top).rstrip("/") for path in paths if path.startswith(top) and path != top]


def module_name(file: str) -> str:
    """Return the name by which Python would import a file, or an empty text.

    Modules are `a.py`, `a.pyc`, `a.so` and `a.cpython-311-x86_64-linux-gnu.so`. The next Python to start may be another
    version, so the suffixes of all versions count.
    """
    name, _, ending = file.partition(".")
    is_module = ending in {"py", "pyc"} or (ending.endswith(("so", "pyd")) and ending.count(".") <= 1)
    return name if is_module else ""
