"""Finds where a plugin's module would be imported from, before it is imported."""

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import orjson

from toolcharter.errors import Fault
from toolcharter.loader.interpreter import has_other_finders
from toolcharter.loader.scan import EntryPoint, InstalledPlugins, is_within

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


def editable_root(entry: EntryPoint) -> str | None:
    """Return the source folder of an editable install; None for any other install.

    Source: PyPA specification "Recording the Direct URL Origin of installed distributions".
    """
    try:
        record = orjson.loads(Path(entry.metadata_dir, "direct_url.json").read_bytes())
        url = urlsplit(record["url"])
        if url.scheme != "file" or record["dir_info"]["editable"] is not True:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return os.path.realpath(unquote(url.path))


def origin_faults(entry: EntryPoint) -> Iterator[Fault]:
    """Yield the reasons why the module of a trusted *entry* must not be imported, each as a fault."""
    if not _MODULE.fullmatch(entry.module):
        yield Fault(
            entry.owner,
            "",
            f"the entry point {entry.name!r} names {entry.module!r}, which is not a module.",
            f'Write {entry.name} = "package_name" under [project.entry-points."{entry.group}"].',
        )
        return
    places = _import_locations(entry)
    if not places:
        yield Fault(
            entry.owner,
            "",
            f"there is no module {_top_level_name(entry)!r} to import.",
            f"Install {entry.distribution} again.",
        )
    yield from (_shadowed_fault(entry, place) for place in places if not _is_own_location(entry, place))


def profile_folders(index: InstalledPlugins) -> list[Path]:
    """Return the `profiles` folders in the packages of usable plugins, sorted; imports nothing."""
    entries = {
        entry.module: entry for entry in (*index.tools.values(), *index.extensions.values(), *index.commands.values())
    }
    found = {folder for entry in _with_profiles_folder(entries.values()) for folder in _profiles_of(entry)}
    return sorted(found)


def _with_profiles_folder(entries: Collection[EntryPoint]) -> Iterable[EntryPoint]:
    """Return the *entries* whose package has `profiles` in a folder of `sys.path`. Only these are searched singly."""
    if has_other_finders():  # They may find a package anywhere.
        return entries
    packages, holders = {_top_level_name(entry) for entry in entries}, dict[str, list[str]]()
    for folder in map(os.fspath, sys.path):
        for name in packages.intersection(_list_folder(folder)):
            holders.setdefault(name, []).append(folder)
    return (entry for entry in entries if _top_level_name(entry) in sys.modules or _has_profiles_folder(entry, holders))


def _has_profiles_folder(entry: EntryPoint, holders: Mapping[str, Iterable[str]]) -> bool:
    below = f"{entry.module.replace('.', '/')}/profiles"
    return any(os.path.isdir(os.path.join(folder, below)) for folder in holders.get(_top_level_name(entry), ()))


def _list_folder(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []


def _profiles_of(entry: EntryPoint) -> Iterator[Path]:
    if not _MODULE.fullmatch(entry.module):
        return
    inner = entry.module.split(".")[1:]
    found = [folder for place in _import_locations(entry) if (folder := Path(place, *inner, "profiles")).is_dir()]
    if found and not any(origin_faults(entry)):  # Asked last, because few plugins ship profiles.
        yield from found


def _top_level_name(entry: EntryPoint) -> str:
    return entry.module.partition(".")[0]


def _import_locations(entry: EntryPoint) -> list[str]:
    """Return the package folders, or the one file, that importing the top-level name would use."""
    try:
        spec = find_spec(_top_level_name(entry))
    except ValueError:  # An object without a spec has that name in `sys.modules`.
        return ["an object in sys.modules"]
    except ModuleNotFoundError:  # Only the workspace has the module, and the gate imports nothing from there.
        return []
    if spec is None:
        return []
    # A namespace package has one folder for each entry of `sys.path` that holds a part of it.
    return list(spec.submodule_search_locations or [str(spec.origin)])


def _is_own_location(entry: EntryPoint, place: str) -> bool:
    if not Path(place).is_absolute():  # "built-in", "frozen", or from a relative entry of `sys.path`.
        return False
    # The last part is not resolved: a link in a trusted folder is as trusted as a file there.
    holder = os.path.realpath(Path(place).parent)
    root = editable_root(entry)
    return holder == entry.folder or (root is not None and is_within(f"{holder}/{Path(place).name}", root))


def _shadowed_fault(entry: EntryPoint, place: str) -> Fault:
    return Fault(
        entry.owner,
        "",
        f"the module {_top_level_name(entry)!r} would be imported from {place!r}, not from {editable_root(entry) or entry.folder!r}.",
        "Remove what lies there, or take that folder off sys.path (PYTHONPATH, the current folder).",
    )
