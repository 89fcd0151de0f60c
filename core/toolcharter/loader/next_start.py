"""Finds the folders of a workspace that Python will import from at its next start, and the names to protect there.

Python puts a script's folder, or the current one for `python -m`, ahead of all others. It would import a `click.py`
there before any code of ours runs, so the only protection is to let no tool use the name.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from toolcharter.guards.inventory import PACKAGE, ImportFolder, module_name
from toolcharter.guards.paths.names import absolute_parts, fold
from toolcharter.loader.scan import site_dirs
from toolcharter.loader.survey import is_within, metadata_folders, requirements_of

_STARTUP_MODULES = frozenset({"sitecustomize", "usercustomize"})
_TRIED_BY_PYTHON = frozenset({"java", "org"})
"""Modules that CPython lacks although its library tries to import them: in `copy`, `pickle`, `platform`, `xml.sax`."""


class _Modules(NamedTuple):
    """Top-level names of modules in one folder."""

    regular: frozenset[str] = frozenset()
    """Modules, and packages with an `__init__`."""
    spaces: frozenset[str] = frozenset()
    """Folders without an `__init__`, which may be namespace packages."""


def import_folders(
    workspace: Path, packages: frozenset[str], is_protected: Callable[[str], bool]
) -> tuple[ImportFolder, ...]:
    """Return the folders of `sys.path` in *workspace*, each with the names that would shadow other modules.

    The shadowed modules are installed or standard ones. A module that already exists in a folder under such a name is
    the user's own; its name is left out.

    Args:
        workspace: Its real path.
        packages: Top-level names of the gate's own packages.
        is_protected: Returns whether no tool may write anywhere in a folder of the workspace.
    """
    top = str(workspace)
    path = list(dict.fromkeys(os.path.realpath(entry) for entry in sys.path if isinstance(entry, str)))
    inside = [entry for entry in path if is_within(entry, top) and not is_protected(entry)]
    above = [entry for entry in path if os.path.dirname(top) == entry and entry != top]
    if not (inside or above):
        return ()
    found = {entry: _modules_in(entry) for entry in path}
    installed = _union(found[entry].regular for entry in path if entry not in inside)
    installed |= packages | sys.stdlib_module_names | _STARTUP_MODULES
    spaces = _union(found[entry].spaces for entry in path if entry not in inside)
    open_names = (spaces | _optional_modules() | _TRIED_BY_PYTHON) - installed
    folders = [
        _import_folder(
            top, entry, installed | open_names, open_names, found[entry], _names_found_before(path, entry, found)
        )
        for entry in inside
    ]
    if any(os.path.basename(top) in installed - _names_found_before(path, entry, found) for entry in above):
        folders.append(ImportFolder((), frozenset({PACKAGE}) - _modules_in(top).regular))
    return tuple(folders)


def _import_folder(
    top: str, entry: str, names: frozenset[str], open_names: frozenset[str], own: _Modules, before: frozenset[str]
) -> ImportFolder:
    names -= before
    taken = names & own.regular
    names -= taken
    return ImportFolder(
        tuple(map(fold, absolute_parts(entry[len(top) :]))),
        frozenset(map(fold, names)),
        frozenset(map(fold, (names & open_names) - own.spaces)),
        tuple(sorted(taken)),
    )


def _names_found_before(path: Sequence[str], entry: str, found: dict[str, _Modules]) -> frozenset[str]:
    """Return the names that Python finds before it searches *entry*."""
    return _union(found[one].regular for one in path[: path.index(entry)])


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def _modules_in(folder: str) -> _Modules:
    regular, spaces = set[str](), set[str]()
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if name := module_name(entry.name):
                regular.add(name)
            elif entry.name.isidentifier() and entry.name != "__pycache__" and entry.is_dir():
                (regular if _is_package(entry.path) else spaces).add(entry.name)
    return _Modules(frozenset(regular), frozenset(spaces))


def _is_package(folder: str) -> bool:
    if os.path.lexists(f"{folder}/{PACKAGE}.py"):
        return True
    with suppress(OSError):
        return any(module_name(file) == PACKAGE for file in os.listdir(folder))
    return False


@cache
def _optional_modules() -> frozenset[str]:
    """Return the modules that installed distributions may use, named as distributions, which most modules are."""
    needs = (need for metadata in metadata_folders(site_dirs()) for need in requirements_of(metadata))
    return frozenset(need.replace("-", "_") for need in needs)
