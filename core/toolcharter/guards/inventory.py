"""The inventory: everything in a workspace that the gate executes or believes. No tool may change any of it.

A pure function makes it from facts that the loader and the gate have collected. The file tools, the runners, the guard of
shell lines and the tools that ask `rt.paths` all hold the tuple `Inventory.places` itself, never a list of their own.
"""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ALWAYS_PROTECTED = (".toolcharter",)
"""Where a workspace keeps its ceiling."""
PACKAGE = "__init__"
"""The name of the module that makes a folder a package."""

Parts = tuple[str, ...]


class ImportFolder(NamedTuple):
    """One folder of `sys.path` in which tools may write."""

    folder: Parts
    """Relative to the workspace, folded; empty for the workspace itself."""
    names: frozenset[str]
    """Of modules and packages, folded."""
    open_names: frozenset[str] = frozenset()
    """Those of them that no regular module or package has elsewhere: any folder of the name is a package."""
    taken: tuple[str, ...] = ()
    """Names of that kind that modules there bear already: they are the user's own."""

    def covers(self, parts: Parts) -> bool:
        """Whether a file at *parts*, relative to the workspace and folded, would be imported by one of the names."""
        below = self._below(parts)
        if not below:
            return False
        name, *inner = below
        if not inner:
            return module_name(name) in self.names
        if name in self.open_names:
            return bool(module_name(inner[-1]))
        return name in self.names and len(inner) == 1 and module_name(inner[0]) == PACKAGE

    def holds(self, parts: Parts) -> bool:
        """Whether a folder or a link that is put at *parts* could bring what `covers` means."""
        below = self._below(parts)
        if not below:
            return parts == self.folder[: len(parts)]
        name, *inner = below
        return name in self.open_names and "." not in below[-1] if inner else name in self.names

    def _below(self, parts: Parts) -> Parts:
        depth = len(self.folder)
        return parts[depth:] if parts[:depth] == self.folder else ()


class Inventory(NamedTuple):
    """What is protected in one workspace, as paths relative to it. A path covers everything below it."""

    workspace: Path
    places: tuple[str, ...] = ALWAYS_PROTECTED
    """What nothing may change: no file tool, no program in a sandbox, no action of git. None lies below another."""
    sealed: tuple[str, ...] = ()
    """Those of them, or folders in them, that tools may not read either: folders of installed packages."""
    repositories: tuple[str, ...] = ()
    """Folders of the workspace's repository that are not called `.git`. Only tools that are bounded by their own policy,
    such as `git`, may have programs write there."""
    records: tuple[str, ...] = ()
    """Globs for names, in any folder, that log rotation gives to files of events: no tool changes or makes one."""
    importing: tuple[ImportFolder, ...] = ()
    """Folders that are no places, from which Python imports at its next start: no tool makes a module of their names there."""

    def covers(self, path: str) -> bool:
        """Whether *path*, absolute and with its links resolved, is one of the places or lies below one."""
        return lies_in(path, self.workspace, self.places)

    def shadows(self, parts: Parts, *, with_below: bool) -> bool:
        """Whether Python would import what is put at *parts* in the place of what is installed, at its next start.

        Args:
            parts: Names relative to the workspace, folded.
            with_below: What is put there may be a folder that is not empty, or a link.
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
    """Keep what lies in a workspace.

    Args:
        workspace: Its real path.
        trusted: Absolute paths of everything that the gate executes or believes. A path that leads through links is
            given by each of its names: a link can be replaced without touching what it leads to.
        sealed: Those that tools may not read either.
        repositories: Absolute paths of folders that belong to the workspace's repository.
        records: Globs for names of rotated files of events.
    """
    below = sorted({*ALWAYS_PROTECTED, *_below(workspace, trusted)}, key=lambda path: PurePosixPath(path).parts)
    places: list[str] = []
    for path in below:
        if not (places and path.startswith(f"{places[-1]}/")):
            places.append(path)
    return Inventory(
        workspace,
        tuple(places),
        tuple(dict.fromkeys(_below(workspace, sealed))),
        tuple(dict.fromkeys(_below(workspace, repositories))),
        tuple(dict.fromkeys(records)),
    )


def lies_in(path: str, workspace: Path, places: Iterable[str]) -> bool:
    """Whether *path*, absolute and with its links resolved, is one of the *places* of *workspace*, or lies below one."""
    top = str(workspace).rstrip("/")
    return any(path == (place := f"{top}/{name}") or path.startswith(f"{place}/") for name in places)


def _below(workspace: Path, paths: Iterable[str]) -> list[str]:
    top = f"{str(workspace).rstrip('/')}/"
    return [path.removeprefix(top).rstrip("/") for path in paths if path.startswith(top) and path != top]


def module_name(file: str) -> str:
    """The name by which Python would import a file, or an empty text: `a.py`, `a.pyc`, `a.so`, `a.cpython-311-x86_64-linux-gnu.so`.

    Another Python than this one may start next, so that any of its suffixes counts.
    """
    name, _, ending = file.partition(".")
    is_module = ending in {"py", "pyc"} or (ending.endswith(("so", "pyd")) and ending.count(".") <= 1)
    return name if is_module else ""
