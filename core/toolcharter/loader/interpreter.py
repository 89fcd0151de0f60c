"""Finds the files and folders the gate's Python code comes from: interpreter, packages, editable sources, libraries.

A user who can write to one of them decides what the gate runs next. Only files in a workspace matter, so the expensive
checks are made only if a folder of `sys.path` is in the workspace.
"""

import os
import re
import site as site_module
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.machinery import PathFinder, all_suffixes
from pathlib import Path
from typing import NamedTuple

from toolcharter.errors import ConfigurationError, Fault
from toolcharter.loader.scan import InstalledPlugins, site_dirs
from toolcharter.loader.survey import Survey, is_within

CORE = "toolcharter"
_FOLDERS = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
_PREFIX_PARTS = ("lib", "lib64", "include", "share", "pyvenv.cfg")
# pytest's finder, which rewrites asserts, uses `PathFinder`; that of `importlib_metadata` finds only distributions.
_HARMLESS_FINDERS = frozenset(
    {
        "_frozen_importlib",
        "_frozen_importlib_external",
        "_distutils_hack",
        "_pytest",
        "importlib_metadata",
        "six",
        CORE,
    }
)
_STARTUP_MODULES = ("sitecustomize", "usercustomize")
# Folders of libraries and of C modules. Source: ld.so(8); openssl-env(7); iconv(3); locale(7).
_LIBRARY_FOLDERS = ("LD_LIBRARY_PATH", "OPENSSL_MODULES", "OPENSSL_ENGINES", "GCONV_PATH", "LOCPATH", "SSL_CERT_DIR")
_LIBRARY_FILES = ("LD_PRELOAD", "LD_AUDIT", "OPENSSL_CONF", "SSL_CERT_FILE")
_EMPTY_IS_CURRENT = frozenset({"LD_LIBRARY_PATH"})
"""The variables in which an empty entry means the current folder."""
_LIBRARY_SEPARATORS = {"LD_LIBRARY_PATH": "[:;]", "LD_PRELOAD": "[: ]"}


class GateCode(NamedTuple):
    """Where the gate's own code lies, as far as it matters to one workspace."""

    trusted: tuple[str, ...]
    """Absolute paths to protect, each by every name that leads to it."""
    sealed: tuple[str, ...]
    """The paths among them that tools must not read either: the folders of installed packages."""
    packages: frozenset[str]
    """The top-level names of the gate's packages: the core's and those of all installed plugins."""
    linked: frozenset[str] = frozenset()
    """Top-level names of modules that a link in a site directory imports from the workspace."""
    is_on_path: bool = False
    """Whether a folder of `sys.path` is the workspace, lies in it or contains it."""


def new_survey() -> Survey:
    """Return a new survey, which has not read anything from the disk yet."""
    return Survey(site_dirs())


def find_gate_code(workspace: Path, index: InstalledPlugins, seen: Survey | None = None) -> GateCode:
    """Find what has to be protected in *workspace*, so that the gate never runs what a tool has written.

    Args:
        workspace: Its real path.
        index: The installed plugins.
        seen: The survey of an earlier check in the same build of a toolbox.

    Raises:
        ConfigurationError: The workspace lies in a folder from which the gate imports, so that tools could write there.
    """
    seen = seen or new_survey()
    top = str(workspace)
    entries = [*index.tools.values(), *index.extensions.values()]
    packages = frozenset({CORE, *(entry.module.partition(".")[0] for entry in entries)})
    folders = {*seen.sites, *_python_folders().values()}
    _require_outside(top, {*seen.sites, _python_folders()["stdlib"], _python_folders()["platstdlib"]})
    trusted = [
        *_interpreter_paths(top),
        *folders,
        *_imported_packages(top, packages),
        *native_library_paths(top, os.environ),
    ]
    trusted += _script_path()
    path = [entry for entry in sys.path if isinstance(entry, str)]
    related = [*seen.related((entry or os.curdir for entry in path), top)]
    entries_there = [entry for entry in related if entry in path and not seen.is_in_any(entry, trusted)]
    linked = seen.linked_from(top)
    if entries_there or linked or has_other_finders():
        trusted += _import_sources(
            top, entries_there, linked, packages, [entry.distribution for entry in entries], seen
        )
    if entries_there:
        trusted += _shadowing_modules(top, entries_there)
    trusted += [folder for folder in seen.pth_folders if is_within(folder, top) and not os.path.lexists(folder)]
    return GateCode(
        seen.names_of_all(trusted), seen.names_of_all(seen.sites), packages, frozenset(linked), bool(related)
    )


@cache
def _python_folders() -> dict[str, str]:
    paths = sysconfig.get_paths()  # `get_path` would compute them again for each name.
    return {name: paths[name] for name in _FOLDERS}


@cache
def standard_folders() -> tuple[str, ...]:
    """Return the folders of the standard library, with and without links resolved."""
    folders = (_python_folders()["stdlib"], _python_folders()["platstdlib"])
    return tuple(dict.fromkeys((*folders, *map(os.path.realpath, folders))))


def _require_outside(workspace: str, folders: Iterable[str]) -> None:
    for folder in sorted(folders):
        if is_within(workspace, os.path.realpath(folder)):
            what = f"{workspace!r} lies in {folder!r}, from which this Python imports: tools could change what the gate runs."
            fix = "Choose a workspace outside of it, or install toolcharter in another environment."
            raise ConfigurationError([Fault("workspace", "", what, fix)])


def _interpreter_paths(workspace: str) -> Iterator[str]:
    """Yield the interpreter and its environment. Of a prefix that contains the workspace, yield only its own parts."""
    programs = {sys.executable, str(getattr(sys, "_base_executable", "") or "")} - {""}
    yield from programs
    yield from (os.path.dirname(program) for program in programs)
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        if is_within(workspace, os.path.realpath(prefix)):
            yield from (f"{prefix}/{name}" for name in (*_PREFIX_PARTS, "bin"))
        else:
            yield prefix
    if site_module.ENABLE_USER_SITE:
        yield f"{site_module.getuserbase()}/bin"  # `pip install --user` puts the command `toolcharter` there.
    if sys.pycache_prefix:
        yield sys.pycache_prefix


def _script_path() -> tuple[str, ...]:
    """Return the script that Python was started with, which chooses the profile."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return (file,) if isinstance(file, str) and os.path.exists(file) else ()


def _imported_packages(workspace: str, packages: frozenset[str]) -> Iterator[str]:
    """Yield the folders of the gate's packages that are imported already.

    Raises:
        ConfigurationError: The workspace lies in one of them.
    """
    for name in packages & sys.modules.keys():
        homes = module_locations(name)
        _require_outside(workspace, homes)
        yield from homes


def _shadowing_modules(workspace: str, entries: list[str]) -> Iterator[str]:
    """Yield modules that were imported from *entries* and hide a module of the same name outside the workspace.

    The gate uses imported modules: further parts of such a package would come from the workspace.

    Args:
        workspace: Its real path.
        entries: Folders of `sys.path` in the workspace.
    """
    outside = [entry for entry in sys.path if entry and not is_within(os.path.realpath(entry), workspace)]
    starts = tuple(f"{entry.rstrip('/')}/" for entry in entries)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." in name or name == "__main__" or not isinstance(file, str) or not file.startswith(starts):
            continue
        if name in sys.stdlib_module_names or PathFinder.find_spec(name, outside) is not None:
            yield from module_locations(name)


def module_locations(name: str) -> tuple[str, ...]:
    """Return the folders of an imported package, or the file of an imported module."""
    module = sys.modules.get(name)
    try:
        places = tuple(getattr(module, "__path__", ()) or ()) or (getattr(module, "__file__", None),)
    except Exception:  # noqa: BLE001 - a foreign lazy module may raise anything
        return ()
    return tuple(os.path.realpath(place) for place in places if isinstance(place, str))


def _import_sources(
    workspace: str,
    entries: list[str],
    linked: dict[str, str],
    packages: frozenset[str],
    plugins: Iterable[str],
    seen: Survey,
) -> Iterator[str]:
    """Yield folders in the workspace that the gate imports from: on `sys.path`, or sources of editable installs.

    Tools may write to the source of an editable install that the gate does not need: the gate never imports from it.
    """
    editable = [(name, root) for name, root in seen.editables if any(True for _ in seen.related((root,), workspace))]
    needed = frozenset({CORE, *plugins})
    if not needed.issuperset(name for name, _ in editable):
        needed = seen.with_requirements(needed)
    ours = [root for name, root in editable if name in needed]
    others = [root for name, root in editable if name not in needed]
    yield from (real for real in linked.values() if not seen.is_in_any(real, others) or seen.is_in_any(real, ours))
    from_files = set(seen.pth_folders)
    for entry in entries:
        real = seen.real_path(entry)
        if is_within(workspace, real):
            yield from (f"{entry}/{name}" for name in packages if os.path.lexists(f"{entry}/{name}"))
        elif not (real in from_files and seen.is_in_any(real, others) and not seen.is_in_any(real, ours)):
            yield entry
        if real in from_files:
            # Python imports these modules by itself when the gate starts the next time.
            yield from (f"{entry}/{name}{end}" for name in _STARTUP_MODULES for end in ("", *all_suffixes()))
    yield from (root for root in ours if is_within(root, workspace))


def has_other_finders() -> bool:
    """Whether modules may be found other than by `sys.path`: each build backend may install its own finder."""
    modules = (str(getattr(finder, "__module__", "")).partition(".")[0] for finder in sys.meta_path)
    return not _HARMLESS_FINDERS.issuperset(modules)


def native_library_paths(workspace: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield files and folders other than Python modules that this process loads because of variables in *environ*.

    The dynamic loader and OpenSSL read these variables at every start, and search their folders each time a C module is
    imported. A process that can write there decides what the gate runs, or which servers the gate trusts. The paths are
    returned as they are written.

    Raises:
        ConfigurationError: A folder of libraries is the workspace itself, so that tools could write there.
    """
    for variable in (*_LIBRARY_FOLDERS, *_LIBRARY_FILES):
        value = environ.get(variable)
        if not value:
            continue
        for entry in re.split(_LIBRARY_SEPARATORS.get(variable, ":"), value):
            path = entry or ("." if variable in _EMPTY_IS_CURRENT else "")
            if not path:
                continue
            if variable in _LIBRARY_FOLDERS and os.path.realpath(path) == workspace:
                named = repr(entry) if entry else "an empty entry, which is the current folder"
                what = f"{variable} names {named}, and so the workspace: tools could write libraries that toolcharter loads."
                raise ConfigurationError([Fault("workspace", "", what, f"Take that entry out of {variable}.")])
            yield path
