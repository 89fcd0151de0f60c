"""Resolve a program's name to a file: looked up once, in fixed folders, never in the workspace."""

import os
import stat
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

from toolcharter.api.reasons import Reason
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.inventory import lies_in

SEARCH_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
PROGRAM_NOT_FOUND = "program_not_found"


class Programs:
    """Resolves and pins the programs that one workspace's tools may start.

    A program below the workspace could have been written by the agent that wants to run it. There, only programs in a
    protected place are trusted, since no tool can write to it. This allows plugins to be installed with their programs
    in a virtual environment inside the workspace.

    Args:
        workspace: Where tools can write.
        protected: The protected places of the toolbox's inventory, relative to the workspace.
    """

    def __init__(self, workspace: Path, protected: tuple[str, ...] = ()) -> None:
        self._workspace = os.path.realpath(workspace)
        self.protected = protected
        self._pinned: dict[str, str] = {}

    def resolve(self, name: str) -> str:
        """Return the absolute path that *name* is pinned to.

        A link keeps its own name (a virtual environment's `python` is a link), but its target is
        checked, too.

        Raises:
            Denied: `protected_path`, for an absolute path below the workspace.
            ToolError: `program_not_found`.
        """
        found = self._pinned.get(name)
        if found is None:
            found = self._pinned[name] = self._resolve_path(name) if "/" in name else self._search_folders(name)
        return found

    def require_outside(self, name: str) -> None:
        """Refuse *name* if a shell would find it in the workspace. A name that is not found anywhere is accepted.

        Raises:
            Denied: `protected_path`.
        """
        path = next((path for folder in SEARCH_FOLDERS if _is_program(path := f"{folder}/{name}")), None)
        if path is not None and not all(map(self._is_outside, _real_paths(path))):
            raise Denied(Reason.PROTECTED_PATH, f"The program {name!r} lies in the workspace.")

    def is_shipped(self, path: str) -> bool:
        """Whether the program at *path* lies in the interpreter's own folders: a distribution installed it."""
        return all(_is_below_any(place, interpreter_folders()) for place in _real_paths(path))

    def _resolve_path(self, name: str) -> str:
        if not name.startswith("/"):
            raise ToolError(f"The program {name!r} is neither a bare name nor absolute.", reason=PROGRAM_NOT_FOUND)
        if not _is_program(name):
            raise ToolError(f"There is no program {name!r}.", reason=PROGRAM_NOT_FOUND)
        if not self._is_trusted(name):
            raise Denied(Reason.PROTECTED_PATH, f"The program {name!r} lies in the workspace.")
        return name

    def _search_folders(self, name: str) -> str:
        for folder in SEARCH_FOLDERS:
            path = f"{folder}/{name}"
            if name and _is_program(path) and self._is_trusted(path):
                return path
        raise ToolError(
            f"The program {name!r} is not installed.",
            reason=PROGRAM_NOT_FOUND,
            hint=f"Programs are looked for in {', '.join(SEARCH_FOLDERS)}, and never in the workspace.",
        )

    def _is_trusted(self, path: str) -> bool:
        return all(
            self._is_outside(place) or lies_in(place, Path(self._workspace), self.protected)
            for place in _real_paths(path)
        )

    def _is_outside(self, path: str) -> bool:
        return not _is_below_any(path, (self._workspace,))


def _real_paths(path: str) -> set[str]:
    """The real path of the program's own name, and that of the file to which it leads."""
    folder, name = os.path.split(path)
    return {os.path.join(os.path.realpath(folder), name), os.path.realpath(path)}


@lru_cache(maxsize=1)
def interpreter_folders() -> tuple[str, ...]:
    """The running interpreter's folders of scripts and of installed packages, links resolved."""
    names = ("scripts", "purelib", "platlib")
    folders = {os.path.realpath(sysconfig.get_path(name)) for name in names}
    return tuple(sorted(folders | {os.path.realpath(Path(sys.prefix, "bin"))}))


def _is_below_any(path: str, folders: tuple[str, ...]) -> bool:
    return any(os.path.commonpath((path, folder)) == folder for folder in folders)


def _is_program(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False
