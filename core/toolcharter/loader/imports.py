"""Keeps the gate from importing modules out of workspaces: a finder ahead of all others on `sys.meta_path`.

A script in a workspace puts the workspace on `sys.path`, and so does the current folder of `python -m`. A tool may
write `selectors.py` there, and the gate imports most modules only when it needs them. So the finder imports a module
from outside the workspaces, if it is found there, unless the user's own code asks for a module that was in the
workspace before the tools were built. A module that only a workspace has stays available to the user's code. It is
refused to the gate's code and to a library that the gate's code has called.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from inspect import currentframe
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from toolcharter.guards.inventory import lies_in, make_inventory
from toolcharter.loader.interpreter import GateCode, module_locations, standard_folders
from toolcharter.loader.survey import Survey, is_within, names_of

_IMPORT_SYSTEM = "<frozen importlib"
Importer = Literal["gate", "python", "other"]
_SET_SEARCH_PATH = "import sys; sys.path[:] = sys.argv[1:]; del sys.argv[1:]"


class GateFinder:
    """A meta path finder. It finds nothing as long as no folder of `sys.path` is in a workspace."""

    def __init__(self) -> None:
        self._workspaces: dict[str, tuple[str, ...]] = {}
        self._uses = Counter[str]()
        self._packages: frozenset[str] = frozenset()
        self._current: frozenset[str] = frozenset()
        self._names: dict[str, tuple[str, ...]] = {}
        self._trusted: dict[str, bool] = {}
        self._present: frozenset[str] = frozenset()
        self._linked: frozenset[str] = frozenset()

    def exclude_workspace(self, workspace: Path, code: GateCode, places: tuple[str, ...]) -> None:
        """Keep imports away from one more workspace, and from the current folder.

        Args:
            workspace: Its real path.
            code: Where the gate's code lies.
            places: Paths in the workspace, relative to it, that no tool can write: imports from there are safe.
        """
        self._uses[str(workspace)] += 1
        self._workspaces = {**self._workspaces, str(workspace): places}
        self._packages |= code.packages
        self._linked |= code.linked
        current = os.path.realpath(os.curdir)
        # A developer of a plugin starts in its source folder, from which the gate has to import.
        if not any(os.path.lexists(f"{current}/{name}") for name in code.packages) and current not in code.sealed:
            self._current |= {current}
        self._trusted = {}
        self._present |= (
            frozenset(_module_names_in(entry for entry in sys.path if not self._is_trusted(entry))) | code.linked
        )

    def forget_workspace(self, workspace: Path) -> None:
        """Forget a workspace whose toolbox is closed, unless a folder of it is still on `sys.path`."""
        top = str(workspace)
        self._uses[top] -= 1
        entries = (entry for entry in sys.path if isinstance(entry, str))
        if self._uses[top] <= 0 and not any(True for _ in Survey(()).related(entries, top)):
            self._workspaces = {name: places for name, places in self._workspaces.items() if name != top}
            self._trusted = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module outside of the workspaces.

        Returns:
            None to leave the module to the finders behind this one.

        Raises:
            ModuleNotFoundError: Code of the gate, or of Python itself, asks for a module that only a workspace has.
        """
        searched = sys.path if path is None else path
        trusted = [entry for entry in searched if self._is_trusted(entry)]
        if len(trusted) == len(searched) and name.partition(".")[0] not in self._linked:
            return None
        importer = self._importer()
        if importer == "other" and name.partition(".")[0] in self._present:
            return None  # The user's own module, which existed before the tools.
        found = self._find_outside(name, path, target, trusted)
        if found is not None:
            return found if found.loader is not None or importer == "gate" else None
        if importer == "other" or BuiltinImporter.find_spec(name) or FrozenImporter.find_spec(name):
            return None
        if PathFinder.find_spec(name, [entry for entry in searched if isinstance(entry, str)]) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        what = f"toolcharter imports nothing that a tool could have written, and {name!r} is found nowhere else"
        raise ModuleNotFoundError(f"{what}; install it, or take the workspace off sys.path", name=name)

    def _find_outside(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None, trusted: list[str]
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find: Any = getattr(finder, "find_spec", None)
            if isinstance(finder, GateFinder) or find is None:
                continue
            places: Sequence[str] | None = trusted if finder is PathFinder else path
            found: ModuleSpec | None = find(name, places, target)
            if found is not None and self._is_from_outside(found):
                return found
        # The first match may lead into a workspace; another folder may have the same name.
        singly = (PathFinder.find_spec(name, [entry], target) for entry in trusted)
        return next((found for found in singly if found is not None and self._is_from_outside(found)), None)

    def _is_from_outside(self, spec: ModuleSpec) -> bool:
        places = [*(spec.submodule_search_locations or ())]
        if spec.has_location and spec.origin:
            places.append(spec.origin)
        return all(not self._is_in_workspace(place) for place in places)

    def _is_trusted(self, entry: object) -> bool:
        if not isinstance(entry, str):
            return True  # Python's own finders ignore it.
        known = self._trusted.get(entry)
        if known is None:
            is_current = not entry or not self._current.isdisjoint(self._names_of(entry))
            known = self._trusted[entry] = not is_current and not self._is_in_workspace(entry)
        return known

    def _names_of(self, path: str) -> tuple[str, ...]:
        names = self._names.get(path)
        if names is None:
            names = names_of(path)
            if path.startswith("/"):  # A relative path changes its meaning with the current folder.
                self._names[path] = names
        return names

    def _is_in_workspace(self, path: str) -> bool:
        """Whether a tool could write the file at *path*, by any of its names."""
        return any(
            is_within(name, workspace) and not lies_in(name, Path(workspace), protected)
            for name in self._names_of(path)
            for workspace, protected in self._workspaces.items()
        )

    def _importer(self) -> Importer:
        """Determine who began the import: the nearest code on the stack, without libraries."""
        frame, is_nearest = currentframe(), True
        while frame is not None:
            file = frame.f_code.co_filename
            if file != __file__ and not file.startswith(_IMPORT_SYSTEM):
                if str(frame.f_globals.get("__name__", "")).partition(".")[0] in self._packages:
                    return "gate"
                if is_nearest and frame.f_code.co_name == "<module>" and _is_standard(file):
                    return "python"
                if file.startswith("/") and self._is_in_workspace(file):
                    return "other"
                is_nearest = False
            frame = frame.f_back
        return "other"

    def search_path(self) -> list[str]:
        """Return the folders of `sys.path` and of the gate's packages that child processes of the gate import from."""
        homes = [os.path.dirname(home) for name in sorted(self._packages) for home in module_locations(name)]
        return [entry for entry in dict.fromkeys((*sys.path, *homes)) if entry and self._is_trusted(entry)]


_FINDER = GateFinder()


def keep_imports_out(workspace: Path, code: GateCode) -> Callable[[], None]:
    """Keep the gate from importing anything out of *workspace*, except from its protected folders.

    Returns:
        A function to call when the toolbox of the workspace is closed.
    """
    _FINDER.exclude_workspace(workspace, code, make_inventory(workspace, code.trusted).places)
    if not sys.meta_path or sys.meta_path[0] is not _FINDER:
        sys.meta_path[:] = [_FINDER, *(finder for finder in sys.meta_path if finder is not _FINDER)]
    return partial(_FINDER.forget_workspace, workspace)


def child_search_path() -> list[str]:
    """Return the folders that the gate's child processes import from: those of `sys.path` that no tool can write to."""
    return _FINDER.search_path()


def python_command(code: str) -> tuple[str, ...]:
    """Return a command that runs *code* with this Python and imports nothing that a tool could have written.

    Its imports do not depend on the environment, the current folder or `.pth` files, and no `sitecustomize` runs.
    """
    return (sys.executable, "-I", "-S", "-c", f"{_SET_SEARCH_PATH}\n{code}", *child_search_path())


def _module_names_in(entries: Iterable[str]) -> Iterator[str]:
    """Yield the names by which the files in some folders could be imported."""
    for entry in entries:
        with suppress(OSError):
            yield from (file.partition(".")[0] for file in os.listdir(entry or "."))


def _is_standard(file: str) -> bool:
    """Whether a source file is one of Python's own. At its top level it imports only other modules of Python."""
    return any(
        is_within(file, folder) and not file.startswith((f"{folder}/site-packages/", f"{folder}/dist-packages/"))
        for folder in standard_folders()
    )
