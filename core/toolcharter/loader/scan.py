"""Lists the installed plugins from their metadata, without importing any of them.

Reads `entry_points.txt` of each distribution on `sys.path` as bytes and parses only files that
name a group of ours. Only for archives it uses `importlib_metadata`. It keeps nothing on disk.
"""

import os
import re
import site
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import importlib_metadata

    from toolcharter import errors
else:
    errors = lazy("toolcharter.errors")
    importlib_metadata = lazy("importlib_metadata")

TOOLS = "toolcharter"
EXTENSIONS = "toolcharter.extensions"
COMMANDS = "toolcharter.commands"
RESTRICTION = "TOOLCHARTER_PLUGINS"

_GROUP_PREFIX = b"[toolcharter"
_GROUPS = (TOOLS, EXTENSIONS, COMMANDS)
# Not blocking: a FIFO of that name in the current folder must not hang the start.
_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 16_384
_MAX_BYTES = 1_048_576
_MAX_RESOLVED_DEPTH = 100
"""The most folders of a path that are resolved one by one; a deeper path is resolved as a whole."""


class EntryPoint(NamedTuple):
    """One line of a distribution's metadata that offers a tool, an extension or a command."""

    group: str
    """`TOOLS`, `EXTENSIONS` or `COMMANDS`."""
    name: str
    """The name of the tool, extension or command."""
    module: str
    """The module to import for it, as the metadata name it."""
    distribution: str
    """The distribution's name, normalised."""
    version: str
    folder: str
    """The folder on `sys.path` that holds the metadata; absolute, links resolved."""
    metadata: str
    """The name of the metadata folder in it."""
    trusted: bool
    """Whether *folder* is a site directory of this interpreter."""

    @property
    def owner(self) -> str:
        """The distribution and its version, as faults name them."""
        return f"{self.distribution} {self.version}"

    @property
    def metadata_dir(self) -> str:
        """The path of the metadata folder."""
        return os.path.join(self.folder, self.metadata)


class InstalledPlugins:
    """Every entry point of ours on `sys.path`, in that order, trusted or not."""

    # Not a dataclass: `toolcharter --help` would have to import `dataclasses` for this class alone.
    def __init__(self, entry_points: tuple[EntryPoint, ...], permitted: frozenset[str] | None) -> None:
        self.entry_points = entry_points
        self.permitted = permitted
        """The distributions that `TOOLCHARTER_PLUGINS` names; None if it is not set."""

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[EntryPoint]]:
        found: dict[tuple[str, str], list[EntryPoint]] = {}
        for entry in self.entry_points:
            found.setdefault((entry.group, entry.name.lower()), []).append(entry)
        return found

    def offers(self, group: str, name: str) -> Sequence[EntryPoint]:
        """Return all entry points that claim *name* in *group*, whatever their case, trusted or not."""
        return self._by_name.get((group, name.lower()), ())

    def permits(self, entry: EntryPoint) -> bool:
        """Whether `TOOLCHARTER_PLUGINS` lets *entry* load. There, `git` also means `toolcharter-git`."""
        short = entry.distribution.removeprefix("toolcharter-")
        return self.permitted is None or not self.permitted.isdisjoint({entry.distribution, short})

    def unmatched(self) -> list[str]:
        """Return a sentence for each name in `TOOLCHARTER_PLUGINS` without a distribution; it has the nearest name."""
        full = {entry.distribution for entry in self.entry_points}
        short = {name.removeprefix("toolcharter-") for name in full}
        return [
            f"{RESTRICTION} names {name!r}, but no installed distribution has it. {errors.did_you_mean(name, full | short)}"
            for name in sorted((self.permitted or frozenset()) - full - short)
        ]

    def usable(self, group: str) -> dict[str, EntryPoint]:
        """Return the trusted and permitted entry points of *group* by name, sorted."""
        found = (entry for entry in self.entry_points if entry.group == group)
        ours = (entry for entry in found if entry.trusted and self.permits(entry))
        return {entry.name: entry for entry in sorted(ours, key=lambda entry: entry.name)}

    @property
    def tools(self) -> dict[str, EntryPoint]:
        """The tools that a profile may list, by name."""
        return self.usable(TOOLS)

    @property
    def extensions(self) -> dict[str, EntryPoint]:
        """The extensions that a profile or a sink may name, by name."""
        return self.usable(EXTENSIONS)

    @property
    def commands(self) -> dict[str, EntryPoint]:
        """The commands that plugins add to `toolcharter`, by name."""
        return self.usable(COMMANDS)


def find_installed(path: Iterable[str] | None = None, sites: Iterable[str] | None = None) -> InstalledPlugins:
    """List the installed entry points. It imports nothing, so no plugin's code runs.

    Args:
        path: The folders to search; default `sys.path`.
        sites: The folders to trust; default the site directories of this interpreter.
    """
    trusted = site_dirs() if sites is None else frozenset(map(os.path.realpath, sites))
    folders = [(folder, folder in trusted) for folder in search_path(path)]
    found = (entry for folder, is_site in folders for entry in _entries_in(folder, trusted=is_site))
    return InstalledPlugins(tuple(_without_shadowed(found)), _parse_restriction(os.environ.get(RESTRICTION)))


def summary(entry: EntryPoint) -> str:
    """Return the distribution's one-line description of itself; empty if it has none.

    Source: PyPA specification "Core metadata", `Summary`.
    """
    try:
        descriptor = os.open(entry.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return _headers(descriptor, entry.metadata).get("Summary", "").strip()
    finally:
        os.close(descriptor)


def normalise(name: str) -> str:
    """Normalise a distribution's name for comparison. Source: PEP 503."""
    plain = name.strip().lower().replace("_", "-").replace(".", "-")
    return re.sub(r"-+", "-", plain) if "--" in plain else plain


def _parse_restriction(value: str | None) -> frozenset[str] | None:
    if value is None:
        return None
    return frozenset(normalise(name) for name in value.split(",") if name.strip())


def _without_shadowed(entries: Iterable[EntryPoint]) -> Iterator[EntryPoint]:
    """Drop entries of a distribution that a site directory earlier on `sys.path` also has, as Python does.

    Two versions in one folder both stay, because it is undefined which of them Python imports.
    """
    home: dict[str, str] = {}
    for entry in entries:
        if not entry.trusted or home.setdefault(entry.distribution, entry.folder) == entry.folder:
            yield entry


def _entries_in(folder: str, *, trusted: bool) -> Iterator[EntryPoint]:
    try:
        names = sorted(name for name in os.listdir(folder) if _is_metadata(name))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except NotADirectoryError:
        yield from _entries_in_archive(folder)
        return
    except OSError:
        return
    try:
        for name in names:
            text = _read(descriptor, f"{name}/entry_points.txt")
            if _GROUP_PREFIX in text:
                owner = _name_and_version(descriptor, name)
                yield from _parse(text, owner, folder, name, trusted=trusted)
    finally:
        os.close(descriptor)


def _is_metadata(name: str) -> bool:
    # pip renames a distribution that it is removing to begin with "~".
    return name.endswith((".dist-info", ".egg-info")) and not name.startswith("~")


def _read(folder: int, name: str) -> bytes:
    """Return at most 1 MiB of a file; nothing if it cannot be read."""
    try:
        descriptor = os.open(name, _OPEN_FLAGS, dir_fd=folder)
    except OSError:
        return b""
    try:
        text = os.read(descriptor, _CHUNK)
        more = text if len(text) == _CHUNK else b""
        while more and len(text) < _MAX_BYTES:
            more = os.read(descriptor, _CHUNK)
            text += more
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return text


def _name_and_version(folder: int, metadata: str) -> tuple[str, str]:
    """Return name and version: a wheel has them in its folder's name, anything older in a file."""
    name, dash, version = metadata.removesuffix(".dist-info").partition("-")
    if dash and version and metadata.endswith(".dist-info"):
        return normalise(name), version
    fields = _headers(folder, metadata)
    return normalise(fields.get("Name", metadata)), fields.get("Version", "0").strip()


def _headers(folder: int, metadata: str) -> dict[str, str]:
    headers = _read(folder, f"{metadata}/METADATA") or _read(folder, f"{metadata}/PKG-INFO")
    head = headers.decode(errors="replace").partition("\n\n")[0]
    return dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)


def _parse(text: bytes, owner: tuple[str, str], folder: str, metadata: str, *, trusted: bool) -> Iterator[EntryPoint]:
    """Parse the sections of our groups. Source: PyPA specification "Entry points"."""
    group = ""
    for line in text[text.index(_GROUP_PREFIX) :].decode(errors="replace").splitlines():
        name, equals, module = line.partition("=")
        if equals and group in _GROUPS:
            name = name.strip()
            if not name.startswith("#"):
                yield EntryPoint(group, name, module.strip(), *owner, folder, metadata, trusted)
        elif line.lstrip().startswith("["):
            group = line.strip()[1:-1]


def _entries_in_archive(archive: str) -> Iterator[EntryPoint]:
    for found in importlib_metadata.distributions(path=[archive]):
        text = (found.read_text("entry_points.txt") or "").encode()
        if _GROUP_PREFIX in text:
            owner = (normalise(found.name), found.version)
            yield from _parse(text, owner, archive, f"{found.name}-{found.version}.dist-info", trusted=False)


def command_clashes(index: InstalledPlugins, own: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each command name that several distributions claim.

    Args:
        index: The installed entry points.
        own: The names of toolcharter's own commands, which no plugin replaces.
    """
    for name in index.commands:
        rivals = [offer for offer in index.offers(COMMANDS, name) if offer.trusted and index.permits(offer)]
        if name in own:
            yield f"The command {name!r} is toolcharter's own, and {describe_owners(rivals)} claims it, too: toolcharter's is used."
        elif len(rivals) > 1:
            yield f"The command {name!r} is claimed {len(rivals)} times, by {describe_owners(rivals)}. Uninstall all but one."


def describe_owners(entries: Collection[EntryPoint]) -> str:
    """Name the distributions of *entries* for a message: `acme-git 2.0, toolcharter-git 1.0`."""
    return ", ".join(sorted({entry.owner for entry in entries}))


def site_dirs() -> frozenset[str]:
    """Return the site directories of this interpreter, links resolved, whether or not they exist.

    Plugins are loaded only from these. In the rest of `sys.path`, the current folder, the workspace and `PYTHONPATH`,
    an agent or the repository it works on can create files.

    Source: `site.getsitepackages`, `site.getusersitepackages` if it is enabled, and the
    schemes `purelib` and `platlib` of `sysconfig`.
    """
    found = {*site.getsitepackages(), *_package_folders()}
    if site.ENABLE_USER_SITE:
        found.add(site.getusersitepackages())
    return frozenset(map(os.path.realpath, found))


@cache
def _package_folders() -> tuple[str, str]:
    paths = sysconfig.get_paths()
    return paths["purelib"], paths["platlib"]


def search_path(entries: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return `sys.path` as absolute paths, links resolved, in order and without duplicates."""
    return tuple(dict.fromkeys(real_paths(sys.path if entries is None else entries)))


def real_paths(paths: Iterable[str], known: dict[str, str] | None = None) -> list[str]:
    """Return `os.path.realpath` of each of *paths*. A folder that several paths share is resolved once.

    Args:
        paths: Absolute or relative paths.
        known: A cache of resolved paths, by path; it gets the new ones.
    """
    known = {} if known is None else known
    return [_real_path(os.fspath(path), known) for path in paths]


def _real_path(path: str, known: dict[str, str]) -> str:
    found = known.get(path)
    if found is None:
        folder, _, name = path.rpartition("/")
        if not folder or name in {"", ".", ".."} or "//" in path or path.count("/") > _MAX_RESOLVED_DEPTH:
            found = os.path.realpath(path)
        else:
            whole = f"{_real_path(folder, known).rstrip('/')}/{name}"
            found = os.path.realpath(path) if os.path.islink(whole) else whole
        known[path] = found
    return found


def is_within(path: str, folder: str) -> bool:
    """Whether *path* is *folder* or lies below it; both absolute, links resolved."""
    return os.path.commonpath([path, folder]) == folder
