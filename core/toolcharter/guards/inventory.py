"""The inventory: everything in a workspace that the gate executes or believes. No tool may change any of it.

A pure function makes it from facts that the loader and the gate have collected. The file tools, the runners, the guard of
shell lines and the tools that ask `rt.paths` all hold the tuple `Inventory.places` itself, never a list of their own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ALWAYS_PROTECTED = (".toolcharter",)
"""Where a workspace keeps its ceiling."""


@dataclass(frozen=True, slots=True)
class Inventory:
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

    def covers(self, path: str) -> bool:
        """Whether *path*, absolute and with its links resolved, is one of the places or lies below one."""
        return lies_in(path, self.workspace, self.places)


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
