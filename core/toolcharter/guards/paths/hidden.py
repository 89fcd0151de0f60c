"""Hidden files: the names that a profile hides, and the files of a workspace that bear them now.

`HiddenNames` decides about a path as text. `HiddenFiles` looks at the disk, for runners that have to cover what is there.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
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
"""A workspace with more folders is not searched: its programs are refused."""
LOOKED_AT_BYTES = 65536
"""How much of a file is searched for what makes it hidden."""
# A folder that changed so recently may change again without a later time: the clock of file systems ticks.
_SETTLED_NS = 100_000_000
_UNSEARCHED = frozenset({".git"})
"""Holds objects and references, not files by their names."""


class HiddenNames:
    """What a profile's `hidden` says of a path, relative to the workspace or to a read root.

    A glob without a slash is for the name of any component. One with a slash is for a path from the root, in which `**` is any
    number of folders. `!GLOB` excepts. Upper and lower case are the same.

    Args:
        globs: As the profile has them.
    """

    def __init__(self, globs: Sequence[HiddenGlob] = ()) -> None:
        self.globs = tuple(globs)
        always = [one.glob for one in globs if one.containing is None and not one.glob.startswith("!")]
        excepted = [one.glob[1:] for one in globs if one.glob.startswith("!")]
        self._hides = _any_of(always).fullmatch
        self._excepts = _any_of(excepted).fullmatch
        # One look at a whole path shows for most that none of its prefixes is hidden.
        self._may_hide = re.compile(f"(?:{_any_of(always).pattern})(?:/.*)?", re.DOTALL).fullmatch
        self._conditions = [
            (_any_of([one.glob]).fullmatch, one.containing.encode()) for one in globs if one.containing is not None
        ]

    def covers(self, parts: Sequence[str]) -> bool:
        """Whether *parts*, or a folder on their way, are hidden whatever they hold."""
        folded = fold("/".join(parts))
        if self._may_hide(folded) is None:
            return False
        ends = (at for at in range(1, len(folded) + 1) if at == len(folded) or folded[at] == "/")
        return any(self._hides(folded[:end]) and not self._excepts(folded[:end]) for end in ends)

    def conditions(self, parts: Sequence[str]) -> tuple[bytes, ...]:
        """The texts of which a file at *parts* must hold none in order to be shown."""
        if not self._conditions:
            return ()
        folded = fold("/".join(parts))
        if self._excepts(folded):
            return ()
        return tuple(text for matches, text in self._conditions if matches(folded))


def holds_any(fd: int, texts: Sequence[bytes]) -> bool:
    """Whether the beginning of the open file *fd* holds one of *texts*."""
    content = os.pread(fd, LOOKED_AT_BYTES, 0)
    return any(text in content for text in texts)


class _Folder(NamedTuple):
    """What one folder held when it was last listed."""

    stamp: tuple[int, int, int]
    """Inode number, time of modification, time of change."""
    folders: tuple[str, ...]
    hidden: tuple[HiddenPath, ...]
    links: tuple[str, ...]
    """Links of a hidden name."""
    conditional: tuple[tuple[str, tuple[bytes, ...]], ...]
    """Files that are hidden if they hold one of the texts."""


class HiddenFiles:
    """Finds the hidden files and folders that a workspace has at the moment. Thread-safe; can be pickled.

    A folder is listed again only if it has changed, so that a search costs one look at each folder.

    Args:
        workspace: A real path.
        globs: As the profile has them.
    """

    def __init__(self, workspace: Path, globs: Sequence[HiddenGlob]) -> None:
        self._workspace = str(workspace)
        self._names = HiddenNames(globs)
        self._known: dict[str, _Folder] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["HiddenFiles"], tuple[Path, tuple[HiddenGlob, ...]]]:
        return HiddenFiles, (Path(self._workspace), self._names.globs)

    def __call__(self) -> tuple[HiddenPath, ...]:
        """What is hidden now, by paths relative to the workspace; nothing below a hidden folder.

        Raises:
            Denied: `sandbox_unavailable`, if the workspace has too many folders.
        """
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
                # Closed to us. A program of the same user could open it for itself.
                yield HiddenPath(name, is_folder=True)
                continue
            if len(self._known) > MAX_FOLDERS:
                message = f"The workspace has more than {MAX_FOLDERS:,} folders, too many to look for hidden files."
                raise Denied(Reason.SANDBOX_UNAVAILABLE, message, hint="Choose a smaller workspace, or `hidden: []`.")
            yield from folder.hidden
            yield from (
                HiddenPath(path, is_folder=False) for path, texts in folder.conditional if self._holds(path, texts)
            )
            yield from (place for link in folder.links for place in self._behind(link))
            left += folder.folders

    def _folder(self, name: str, known: _Folder | None) -> _Folder:
        path = f"{self._workspace}/{name}" if name else self._workspace
        status = os.stat(path, follow_symlinks=False)
        stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        if known is None or known.stamp != stamp:
            known = self._listed(path, name, stamp)
        is_settled = abs(time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)) > _SETTLED_NS
        self._known[name] = known if is_settled else known._replace(stamp=(0, 0, 0))
        return known

    def _listed(self, path: str, name: str, stamp: tuple[int, int, int]) -> _Folder:
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

    def _holds(self, name: str, texts: tuple[bytes, ...]) -> bool:
        try:
            fd = os.open(f"{self._workspace}/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            return isinstance(error, PermissionError)  # as a folder that is closed to us
        try:
            return S_ISREG(os.fstat(fd).st_mode) and holds_any(fd, texts)
        except OSError:
            return True  # what cannot be read here may be readable there
        finally:
            os.close(fd)

    def _behind(self, link: str) -> Iterator[HiddenPath]:
        """What a hidden link leads to, where that lies in the workspace."""
        target = Path(os.path.realpath(f"{self._workspace}/{link}"))
        if target.is_relative_to(self._workspace) and str(target) != self._workspace and target.exists():
            yield HiddenPath(str(target.relative_to(self._workspace)), is_folder=target.is_dir())


def _any_of(globs: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_expression(glob)})" for glob in globs) or r"(?!)", re.DOTALL)


def _expression(glob: str) -> str:
    """A regular expression for a path, folded, from its root."""
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
