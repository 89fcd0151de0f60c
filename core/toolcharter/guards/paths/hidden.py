"""Hidden files: the names that a profile hides, and the files in a workspace that currently have such names.

`HiddenNames` checks a path as text. `HiddenFiles` searches the disk, for runners that have to cover these files.
`HardLinkDetector` recognises other names of hidden files: hard links, which tools do not make, but installers and users
may have made before a toolbox is opened.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from stat import S_ISREG
from threading import Lock
from typing import NamedTuple

from toolcharter.api.reasons import Reason
from toolcharter.api.runner import HiddenPath
from toolcharter.errors import Denied
from toolcharter.guards.paths.names import Parts, fold
from toolcharter.profile.settings import HiddenGlob

MAX_FOLDERS = 200_000
"""In a workspace with more folders no program is run, since it cannot be searched."""
SEARCHED_BYTES = 65536
"""How much of a file's beginning is searched for the texts that make it hidden."""
# A folder that changed more recently may change again with the same time stamp: file systems' clocks are coarse.
_SETTLED_NS = 100_000_000
_FRESH_S = 2.0
"""How long, in seconds, the result of a search is used for files that have got no new name since."""
MOST_FILES = 10_000
"""How many files below one hidden folder are checked for other names."""
_UNSEARCHED = frozenset({".git"})
"""Folders that are not searched: they hold objects and references, not the work tree's files."""

Inode = tuple[int, int]
"""Device and inode number."""


class HiddenNames:
    """Matches paths, relative to the workspace or to a read root, against a profile's `hidden`.

    A glob without a slash matches the name of any component. A glob with a slash matches a path from the root; in it,
    `**` matches any number of folders. `!GLOB` makes an exception. Case is ignored.

    Args:
        globs: The globs from the profile.
    """

    def __init__(self, globs: Sequence[HiddenGlob] = ()) -> None:
        self.globs = tuple(globs)
        always = [one.glob for one in globs if one.containing is None and not one.glob.startswith("!")]
        excepted = [one.glob[1:] for one in globs if one.glob.startswith("!")]
        self._always, self._excepted = always, excepted
        # For most paths, one match of the whole path shows that none of its prefixes is hidden.
        self._may_hide = re.compile(f"(?:{_any_pattern(always)})(?:/.*)?", re.DOTALL).fullmatch

    @cached_property
    def _hides(self) -> Callable[[str], object]:
        return _any_of(self._always).fullmatch

    @cached_property
    def _excepts(self) -> Callable[[str], object]:
        return _any_of(self._excepted).fullmatch

    @cached_property
    def _conditions(self) -> list[tuple[Callable[[str], object], bytes]]:
        conditional = ((one.glob, one.containing) for one in self.globs if one.containing is not None)
        return [(_any_of([glob]).fullmatch, text.encode()) for glob, text in conditional]

    def covers(self, parts: Sequence[str]) -> bool:
        """Whether *parts*, or a folder above, are hidden regardless of their content."""
        folded = fold("/".join(parts))
        if self._may_hide(folded) is None:
            return False
        ends = (at for at in range(1, len(folded) + 1) if at == len(folded) or folded[at] == "/")
        return any(self._hides(folded[:end]) and not self._excepts(folded[:end]) for end in ends)

    def conditions(self, parts: Sequence[str]) -> tuple[bytes, ...]:
        """The texts that hide a file at *parts* if it contains one of them."""
        if not self._conditions:
            return ()
        folded = fold("/".join(parts))
        if self._excepts(folded):
            return ()
        return tuple(text for matches, text in self._conditions if matches(folded))


def holds_any(fd: int, texts: Sequence[bytes]) -> bool:
    """Whether the first `SEARCHED_BYTES` of the open file *fd* contain one of *texts*."""
    content = os.pread(fd, SEARCHED_BYTES, 0)
    return any(text in content for text in texts)


class _Folder(NamedTuple):
    """The relevant content of one folder when it was last listed."""

    stamp: tuple[int, int, int]
    """Inode number, time of modification, time of change."""
    folders: tuple[str, ...]
    hidden: tuple[HiddenPath, ...]
    links: tuple[str, ...]
    """Links with a hidden name."""
    conditional: tuple[tuple[str, tuple[bytes, ...]], ...]
    """Files that are hidden if they contain one of the texts."""


class HiddenFiles:
    """Finds the hidden files and folders that a workspace currently has. Thread-safe; can be pickled.

    A folder is listed again only if it has changed, so a search costs one `stat` for each unchanged folder.

    Args:
        workspace: A real path.
        globs: The globs from the profile.
    """

    def __init__(self, workspace: Path, globs: Sequence[HiddenGlob]) -> None:
        self._workspace = str(workspace)
        self._names = HiddenNames(globs)
        self._known: dict[str, _Folder] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["HiddenFiles"], tuple[Path, tuple[HiddenGlob, ...]]]:
        return HiddenFiles, (Path(self._workspace), self._names.globs)

    def __call__(self) -> tuple[HiddenPath, ...]:
        """Return the paths that are currently hidden, relative to the workspace, without those below a hidden folder.

        The other names of a hidden file are hidden with it.

        Raises:
            Denied: `sandbox_unavailable`, if the workspace has too many folders.
        """
        named = self._hidden_by_name()
        wanted = {inode for place in named for inode in hard_linked_inodes(f"{self._workspace}/{place.path}")}
        if not wanted:
            return named
        top = len(self._workspace) + 1
        others = (HiddenPath(path[top:], is_folder=False) for path in paths_of_inodes(self._workspace, wanted))
        return tuple(dict.fromkeys((*named, *(place for place in others if not _lies_in(place.path, named)))))

    def paths(self) -> list[str]:
        """The absolute paths of files and folders that their own name, or the name of a link to them, hides."""
        return [f"{self._workspace}/{place.path}" for place in self._hidden_by_name()]

    def _hidden_by_name(self) -> tuple[HiddenPath, ...]:
        if not self._names.globs:
            return ()
        with self._lock:
            known, self._known = self._known, {}
            return tuple(dict.fromkeys(self._search(known)))

    def _search(self, known: dict[str, _Folder]) -> Iterator[HiddenPath]:
        left = [""]
        while left:
            name = left.pop()
            try:
                folder = self._folder(name, known.get(name))
            except (FileNotFoundError, NotADirectoryError):
                continue  # gone since it was listed
            except PermissionError as error:
                if not name:
                    message = "The workspace cannot be searched for hidden files: permission denied."
                    raise Denied(Reason.SANDBOX_UNAVAILABLE, message) from error
                # We may not list it, but a program of the same user could change its permissions.
                yield HiddenPath(name, is_folder=True)
                continue
            if len(self._known) > MAX_FOLDERS:
                message = f"The workspace has more than {MAX_FOLDERS:,} folders, too many to look for hidden files."
                raise Denied(Reason.SANDBOX_UNAVAILABLE, message, hint="Choose a smaller workspace, or `hidden: []`.")
            yield from folder.hidden
            yield from (
                HiddenPath(path, is_folder=False)
                for path, texts in folder.conditional
                if self._contains_text(path, texts)
            )
            yield from (place for link in folder.links for place in self._target_of_link(link))
            left += folder.folders

    def _folder(self, name: str, known: _Folder | None) -> _Folder:
        path = f"{self._workspace}/{name}" if name else self._workspace
        status = os.stat(path, follow_symlinks=False)
        stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        if known is None or known.stamp != stamp:
            known = self._list_folder(path, name, stamp)
        is_settled = abs(time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)) > _SETTLED_NS
        self._known[name] = known if is_settled else known._replace(stamp=(0, 0, 0))
        return known

    def _list_folder(self, path: str, name: str, stamp: tuple[int, int, int]) -> _Folder:
        base: Parts = tuple(name.split("/")) if name else ()
        folders, links = list[str](), list[str]()
        hidden, conditional = list[HiddenPath](), list[tuple[str, tuple[bytes, ...]]]()
        with os.scandir(path) as listing:
            for entry in listing:
                below = f"{name}/{entry.name}" if name else entry.name
                parts = (*base, entry.name)
                if self._names.covers(parts):
                    if entry.is_symlink():
                        links.append(below)
                    else:
                        hidden.append(HiddenPath(below, is_folder=entry.is_dir(follow_symlinks=False)))
                elif entry.is_dir(follow_symlinks=False):
                    if entry.name not in _UNSEARCHED:
                        folders.append(below)
                elif texts := self._names.conditions(parts):
                    conditional.append((below, texts))
        return _Folder(stamp, tuple(folders), tuple(hidden), tuple(links), tuple(conditional))

    def _contains_text(self, name: str, texts: tuple[bytes, ...]) -> bool:
        try:
            fd = os.open(f"{self._workspace}/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            return isinstance(error, PermissionError)  # hidden, as a folder that we may not list
        try:
            return S_ISREG(os.fstat(fd).st_mode) and holds_any(fd, texts)
        except OSError:
            return True  # a file that cannot be read here may be readable for a program
        finally:
            os.close(fd)

    def _target_of_link(self, link: str) -> Iterator[HiddenPath]:
        """The target of a hidden link, if it lies in the workspace."""
        target = Path(os.path.realpath(f"{self._workspace}/{link}"))
        if target.is_relative_to(self._workspace) and str(target) != self._workspace and target.exists():
            yield HiddenPath(str(target.relative_to(self._workspace)), is_folder=target.is_dir())


def hard_linked_inodes(path: str | Path) -> Iterator[Inode]:
    """Yield each regular file with several hard links that is *path* or lies below it, up to `MOST_FILES`."""
    try:
        found = os.stat(path)
    except OSError:
        return
    if S_ISREG(found.st_mode):
        if found.st_nlink > 1:
            yield found.st_dev, found.st_ino
        return
    left = MOST_FILES
    for folder, _, files in os.walk(path):
        for name in files[: max(0, left)]:
            yield from _hard_linked_inode(f"{folder}/{name}")
        left -= len(files)


def paths_of_inodes(workspace: str | Path, wanted: set[Inode]) -> Iterator[str]:
    """Yield every name that a *wanted* file has in *workspace*, as an absolute path.

    A folder's listing contains the inode numbers, so only files with a wanted number need a `stat`.
    """
    inodes = {inode for _, inode in wanted}
    pending = [str(workspace)]
    while pending:
        try:
            with os.scandir(pending.pop()) as listing:
                entries = list(listing)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.inode() in inodes:
                found = entry.stat(follow_symlinks=False)
                if (found.st_dev, found.st_ino) in wanted:
                    yield entry.path


def _hard_linked_inode(path: str) -> Iterator[Inode]:
    try:
        found = os.lstat(path)
    except OSError:
        return
    if S_ISREG(found.st_mode) and found.st_nlink > 1:
        yield found.st_dev, found.st_ino


class _SearchResult(NamedTuple):
    inodes: frozenset[Inode]
    at_s: float
    """On the monotonic clock."""
    at_ns: int
    """On the file system's clock."""


class HardLinkDetector:
    """Recognises files that are hard links to one of a set of files.

    A new hard link changes a file's `ctime`, so the result of one search is valid for all files with an older `ctime`.

    Args:
        search: Returns the current absolute paths of the set's files and folders.
    """

    def __init__(self, search: Callable[[], Iterable[str]]) -> None:
        self._search = search
        self._last: _SearchResult | None = None

    def has(self, status: os.stat_result) -> bool:
        """Whether the file with *status* is one of the set.

        Raises:
            Denied: As the search does.
        """
        if status.st_nlink <= 1 or not S_ISREG(status.st_mode):
            return False
        return (status.st_dev, status.st_ino) in self._inodes(status.st_ctime_ns)

    def has_below(self, folder: int, names: Sequence[str]) -> bool:
        """Like `has`, for the file at *names*, without links, below the open *folder*. False if there is none."""
        try:
            return self.has(os.stat("/".join(names) or ".", dir_fd=folder, follow_symlinks=False))
        except (OSError, ValueError):
            return False

    def _inodes(self, changed_ns: int) -> frozenset[Inode]:
        last = self._last
        if last is None or time.monotonic() - last.at_s > _FRESH_S or changed_ns > last.at_ns - _SETTLED_NS:
            at_s, at_ns = time.monotonic(), time.time_ns()
            found = frozenset(inode for path in self._search() for inode in hard_linked_inodes(path))
            self._last = last = _SearchResult(found, at_s, at_ns)
        return last.inodes


def hidden_link_detector(workspace: Callable[[], str], names: HiddenNames) -> HardLinkDetector:
    """Recognise hard links to the files that *names* currently hide.

    Args:
        workspace: Returns the workspace's real path. Called when it is first needed.
        names: The hidden names from the profile.
    """
    files = cache(lambda: HiddenFiles(Path(workspace()), names.globs))
    return HardLinkDetector(lambda: files().paths())


def _lies_in(path: str, places: Sequence[HiddenPath]) -> bool:
    return any(path.startswith(f"{place.path}/") for place in places if place.is_folder)


def _any_of(globs: Sequence[str]) -> re.Pattern[str]:
    return re.compile(_any_pattern(globs), re.DOTALL)


def _any_pattern(globs: Sequence[str]) -> str:
    return "|".join(f"(?:{_expression(glob)})" for glob in globs) or r"(?!)"


def _expression(glob: str) -> str:
    """Return a regular expression that matches a folded path, relative to its root."""
    is_anchored = "/" in glob.rstrip("/")
    components = fold(glob).strip("/").split("/")
    text = "" if is_anchored else "(?:.*/)?"
    for number, component in enumerate(components, 1):
        is_last = number == len(components)
        if component == "**":
            text += "[^/].*" if is_last else "(?:[^/]+/)*"
        else:
            text += _of_component(component) + ("" if is_last else "/")
    return text


def _of_component(glob: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(sign) or re.escape(sign) for sign in glob)
