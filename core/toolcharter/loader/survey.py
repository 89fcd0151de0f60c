"""Examines the folders that Python imports from: real paths, links, editable installs, `.pth` files.

A `Survey` looks each of these up once. It serves one build of a toolbox, which asks the same questions before and after
its plugins are imported. The next build makes a new survey.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

import orjson

from toolcharter.guards.paths.git_dirs import paths_through_links
from toolcharter.loader.scan import normalise, real_paths

_REQUIREMENT = re.compile(rb"^Requires-Dist:[ \t]*([A-Za-z0-9][A-Za-z0-9._-]*)", re.MULTILINE)
_HEADERS_END = re.compile(rb"\r?\n\r?\n")


class Survey:
    """Cached facts about the disk.

    Args:
        sites: The site directories, links resolved.
    """

    def __init__(self, sites: Iterable[str]) -> None:
        self.sites = tuple(sites)
        self._real: dict[str, str] = {}
        self._names: dict[str, tuple[str, ...]] = {}

    def real_path(self, path: str) -> str:
        """Return `os.path.realpath` of *path*, cached."""
        return real_paths((path,), self._real)[0]

    def names_of_all(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return all names of *paths*, without duplicates."""
        return tuple(dict.fromkeys(name for path in paths for name in self._names_of(path)))

    def _names_of(self, path: str) -> tuple[str, ...]:
        found = self._names.get(path)
        if found is None:
            found = self._names[path] = names_of(path, self.real_path(path))
        return found

    def related(self, paths: Iterable[str], workspace: str) -> Iterator[str]:
        """Yield the *paths* that, as written or with links resolved, are the workspace, lie in it, or contain it."""
        for path in paths:
            names = (os.path.abspath(path), self.real_path(path))
            if any(is_within(name, workspace) or is_within(workspace, name) for name in names):
                yield path

    def is_in_any(self, path: str, folders: Iterable[str]) -> bool:
        """Whether *path*, with links resolved, is one of *folders* or lies in one of them."""
        real = self.real_path(path)
        return any(is_within(real, self.real_path(folder)) for folder in folders)

    @cached_property
    def _links(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for site in self.sites:
            try:
                with os.scandir(site) as entries:
                    found += [(entry.name, self.real_path(entry.path)) for entry in entries if entry.is_symlink()]
            except OSError:
                continue
        return found

    def linked_from(self, workspace: str) -> dict[str, str]:
        """Return top-level names of modules that links in site directories take from the workspace, with their targets.

        Installers make such links: `flit install --symlink`, `uv` with links to its cache.
        """
        return {name.partition(".")[0]: real for name, real in self._links if is_within(real, workspace)}

    @cached_property
    def editables(self) -> tuple[tuple[str, str], ...]:
        """The name and the source folder of each editable install.

        Source: PyPA specification "Recording the Direct URL Origin of installed distributions".
        """
        return tuple(_find_editables(self.sites))

    @cached_property
    def pth_folders(self) -> tuple[str, ...]:
        """The folders that `.pth` files add to `sys.path`, links resolved. Source: the module `site`."""
        lines = (
            os.path.join(site, line.strip())
            for site in self.sites
            for file in _list_folder(site)
            if file.endswith(".pth")
            for line in _read_or_empty(f"{site}/{file}").decode(errors="replace").splitlines()
            if line.strip() and not line.startswith(("#", "import ", "import\t"))
        )
        return tuple(real_paths(lines, self._real))

    def with_requirements(self, first: Iterable[str]) -> frozenset[str]:
        """Return *first* and all distributions that they need, directly or not, including those of extras."""
        folders = {_distribution_of(folder): folder for folder in metadata_folders(self.sites)}
        found, left = set[str](), list(first)
        while left:
            found.update(left)
            left = [
                need for name in left if name in folders for need in requirements_of(folders[name]) if need not in found
            ]
        return frozenset(found)


def names_of(path: str, real: str | None = None) -> tuple[str, ...]:
    """Return all absolute names of *path*: one for each link on its way, and *real*, the name without links."""
    absolute = os.path.abspath(path)
    real = real or os.path.realpath(path)
    if real == absolute:
        return (real,)
    # `abspath` removes `..` from the text, which is wrong behind a link; the walk follows the link.
    written = path if path.startswith("/") else f"{os.getcwd()}/{path}"
    return tuple(dict.fromkeys(map(str, paths_through_links(Path("/"), written))))


def is_within(path: str, folder: str) -> bool:
    """Whether *path* is *folder* or lies below it; both absolute."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def metadata_folders(sites: Iterable[str]) -> Iterator[str]:
    """Yield the metadata folders of all installed distributions."""
    for site in sites:
        yield from (f"{site}/{name}" for name in _list_folder(site) if name.endswith((".dist-info", ".egg-info")))


def _find_editables(sites: Iterable[str]) -> Iterator[tuple[str, str]]:
    for folder in metadata_folders(sites):
        record = _read_or_empty(f"{folder}/direct_url.json")
        try:
            read = orjson.loads(record) if record else {}
            url = urlsplit(read["url"])
            if url.scheme == "file" and read["dir_info"]["editable"] is True:
                yield _distribution_of(folder), os.path.realpath(unquote(url.path))
        except (ValueError, KeyError, TypeError):  # No record, or not that of an editable install.
            continue


def _distribution_of(metadata: str) -> str:
    return normalise(os.path.basename(metadata).rpartition(".")[0].partition("-")[0])


def requirements_of(metadata: str) -> Iterator[str]:
    """Yield the names of the distributions that one needs or can use. Source: PyPA specification "Core metadata"."""
    for name in ("METADATA", "PKG-INFO"):
        try:
            with open(f"{metadata}/{name}", "rb") as file:
                headers = _HEADERS_END.split(file.read(), 1)[0]
        except OSError:
            continue
        yield from (normalise(need.decode()) for need in dict.fromkeys(_REQUIREMENT.findall(headers)))
        return


def _list_folder(folder: str) -> Sequence[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()


def _read_or_empty(file: str) -> bytes:
    """Return a file's content; nothing if it cannot be read."""
    try:
        with open(file, "rb", buffering=0) as opened:
            return opened.readall()
    except OSError:
        return b""
