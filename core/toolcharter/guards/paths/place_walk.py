"""Find the place of a write: a walk that ends at an open folder and a name in it, which may not exist yet."""

import errno
import os
from collections import deque
from dataclasses import dataclass
from stat import S_ISLNK
from typing import NamedTuple

from toolcharter.guards.paths import faults
from toolcharter.guards.paths.handles import OpenRoot, Root
from toolcharter.guards.paths.names import Parts
from toolcharter.guards.paths.walk import STEP_FLAGS, Walk


class WriteLocation(NamedTuple):
    """A name in an existing folder, or in folders that still have to be made."""

    folder: int
    """The descriptor of the nearest existing folder. The caller closes it."""
    root: Root
    names: Parts
    """The path of that folder."""
    missing: Parts
    """The folders that have to be made below it."""
    name: str
    status: os.stat_result | None
    """The status of the file or link with that name; None if there is none."""

    @property
    def place(self) -> Parts:
        """The path of the name, relative to the root."""
        return (*self.names, *self.missing, self.name)


def lstat_or_none(folder: int, name: str) -> os.stat_result | None:
    """Return the status of *name*, without following a link; None if it does not exist."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


@dataclass(eq=False, repr=False)
class PlaceWalk(Walk):
    """A walk to the place of a write. Links on the way are read, and their targets are walked like any other path.

    Args:
        follows: Whether a link at the end is followed, too. If not, the link itself is the result.
    """

    follows: bool = True
    _root_handle: OpenRoot | None = None

    def find(self, parts: Parts) -> WriteLocation:
        """Walk *parts* up to the folder of the last one.

        Raises:
            Denied: `path_outside_workspace`, or a denial from `check`.
            ToolError: `is_directory`, for the root itself.
            OSError: The system's error; `ELOOP` for too many links.
        """
        pending = deque(parts)
        while True:
            name = pending.popleft()
            if name == "..":
                self._step_up()
            if name in {".", ".."}:
                if pending:
                    continue
                name = self._step_back()
            self.check(self.root, (*self.names, name))
            if not pending:
                found = self._location_of(name)
                if found is not None:
                    return found
                pending.extendleft(reversed(self._follow(name, self._current_folder(), _link_error())))
                continue
            try:
                fd = os.open(name, STEP_FLAGS, dir_fd=self._current_folder())
            except FileNotFoundError:
                return self._missing_location((name, *pending))
            except OSError as error:
                pending.extendleft(reversed(self._follow(name, self._current_folder(), error)))
                continue
            self.names.append(name)
            self._folders.append(fd)

    def _current_folder(self) -> int:
        # Keep a reference: if the root is closed meanwhile, the descriptor for the next step must stay open.
        self._root_handle = self.root.ensure_open()
        return self._folders[-1] if self._folders else self._root_handle.fd

    def _step_back(self) -> str:
        """Go back to the parent of the current folder, and return that folder's name."""
        if not self.names:
            raise faults.is_directory(self.path)
        os.close(self._folders.pop())
        return self.names.pop()

    def _location_of(self, name: str) -> WriteLocation | None:
        """Build the result for *name*; None if it is a link to be followed."""
        status = lstat_or_none(self._current_folder(), name)
        if self.follows and status is not None and S_ISLNK(status.st_mode):
            return None
        return WriteLocation(self._take_folder(), self.root, tuple(self.names), (), name, status)

    def _missing_location(self, rest: Parts) -> WriteLocation:
        names = tuple(name for name in rest if name != ".")
        if ".." in names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        self.check(self.root, (*self.names, *names))  # this checks the folders on the way, too
        return WriteLocation(self._take_folder(), self.root, tuple(self.names), names[:-1], names[-1], None)

    def _take_folder(self) -> int:
        return self._folders.pop() if self._folders else os.dup(self._current_folder())


def _link_error() -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP))
