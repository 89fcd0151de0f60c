"""Where something is to be written: a walk that ends at a folder and a name in it, whether or not anything has it."""

import errno
import os
from collections import deque
from dataclasses import dataclass
from stat import S_ISLNK
from typing import NamedTuple

from toolcharter.guards.paths import faults
from toolcharter.guards.paths.handles import Held, Root
from toolcharter.guards.paths.names import Parts
from toolcharter.guards.paths.walk import STEP, Walk


class Found(NamedTuple):
    """A name in a folder, or in folders that have still to be made."""

    folder: int
    """A descriptor of the nearest folder that exists; the caller's to close."""
    root: Root
    names: Parts
    """Where that folder lies."""
    missing: Parts
    """The folders that have to be made below it."""
    name: str
    status: os.stat_result | None
    """What bears the name, links not followed; None if nothing does."""

    @property
    def place(self) -> Parts:
        """Where the name lies, or will."""
        return (*self.names, *self.missing, self.name)


def look(folder: int, name: str) -> os.stat_result | None:
    """What bears *name*; None if nothing does."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


@dataclass(eq=False, repr=False)
class PlaceWalk(Walk):
    """A walk to a place. Links on the way are read and walked like any other path.

    Args:
        follows: Whether a link in the last place is followed, too; else it is itself what was asked for.
    """

    follows: bool = True
    _standing: Held | None = None

    def find(self, parts: Parts) -> Found:
        """Walk *parts* up to the folder of the last.

        Raises:
            Denied: `path_outside_workspace`, or what `check` raises.
            ToolError: `is_directory`, for the root itself.
            OSError: As the system says; `ELOOP` for too many links.
        """
        pending = deque(parts)
        while True:
            name = pending.popleft()
            if name == "..":
                self._up()
            if name in {".", ".."}:
                if pending:
                    continue
                name = self._step_back()
            self.check(self.root, (*self.names, name))
            if not pending:
                found = self._at(name)
                if found is not None:
                    return found
                pending.extendleft(reversed(self._follow(name, self._here(), _link())))
                continue
            try:
                fd = os.open(name, STEP, dir_fd=self._here())
            except FileNotFoundError:
                return self._missing((name, *pending))
            except OSError as error:
                pending.extendleft(reversed(self._follow(name, self._here(), error)))
                continue
            self.names.append(name)
            self._folders.append(fd)

    def _here(self) -> int:
        # Kept: a root that is let go of meanwhile must not close what the next step starts from.
        self._standing = self.root.held()
        return self._folders[-1] if self._folders else self._standing.fd

    def _step_back(self) -> str:
        """The name of the walk's present folder; the walk then goes to its parent."""
        if not self.names:
            raise faults.is_directory(self.path)
        os.close(self._folders.pop())
        return self.names.pop()

    def _at(self, name: str) -> Found | None:
        """What is there; None for a link that is to be followed."""
        status = look(self._here(), name)
        if self.follows and status is not None and S_ISLNK(status.st_mode):
            return None
        return Found(self._take(), self.root, tuple(self.names), (), name, status)

    def _missing(self, rest: Parts) -> Found:
        names = tuple(name for name in rest if name != ".")
        if ".." in names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        self.check(self.root, (*self.names, *names))  # what covers a folder covers what lies below it
        return Found(self._take(), self.root, tuple(self.names), names[:-1], names[-1], None)

    def _take(self) -> int:
        return self._folders.pop() if self._folders else os.dup(self._here())


def _link() -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP))
