"""The portable walk: opens one component at a time, each from the descriptor of the one before.

No step follows a link (`O_NOFOLLOW`). Links are read, and their targets are walked in the same
way, so exchanging a folder or link on the way can never lead out of the root. `..` goes back to
the descriptor from which the walk came, even if the folder has been moved since.
"""

import errno
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from toolcharter.guards.paths.faults import outside
from toolcharter.guards.paths.handles import Root
from toolcharter.guards.paths.names import Parts, split

MAX_LINKS = 40
"""As many as the kernel follows (MAXSYMLINKS, path_resolution(7))."""
# O_PATH: a folder with execute permission but without read permission can still be walked through.
STEP_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAYBE_LINK = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})

Locate = Callable[[str], tuple[Root, Parts]]
Check = Callable[[Root, Sequence[str]], None]


@dataclass(eq=False, repr=False)
class Walk:
    """One walk from a root. A context manager, which closes every folder on the way.

    Args:
        path: The requested path, for messages.
        root: The root at which the walk begins.
        locate: Finds the root to which an absolute link leads, or raises `Denied`.
        check: Called with every place before it is entered; raises `Denied` for a protected place.
    """

    path: str
    root: Root
    locate: Locate
    check: Check
    names: list[str] = field(default_factory=list)
    _folders: list[int] = field(default_factory=list)
    _links: int = 0

    def open(self, parts: Parts, flags: int) -> int:
        """Walk *parts* and open the last one with *flags*. Afterwards, `root` and `names` are its real place.

        Raises:
            Denied: `path_outside_workspace`, or a denial from `check`.
            OSError: The system's error; `ELOOP` for too many links.
        """
        held = self.root.ensure_open()
        pending = deque(parts)
        while True:
            name = pending.popleft()
            if name == "..":
                self._step_up()
                name = "."
            if name == "." and pending:
                continue
            if name != ".":
                self.check(self.root, (*self.names, name))
            here = self._folders[-1] if self._folders else held.fd
            try:
                fd = os.open(name, STEP_FLAGS if pending else flags | os.O_NOFOLLOW, dir_fd=here)
            except OSError as error:
                pending.extendleft(reversed(self._follow(name, here, error)))
                held = self.root.ensure_open()
                continue
            if name != ".":
                self.names.append(name)
            if not pending:
                return fd
            self._folders.append(fd)

    def _step_up(self) -> None:
        if not self.names:
            raise outside(self.path)
        self.names.pop()
        os.close(self._folders.pop())

    def _follow(self, name: str, here: int, error: OSError) -> Parts:
        if error.errno not in _MAYBE_LINK:
            raise error
        try:
            target = os.readlink(name, dir_fd=here)
        except OSError:
            raise error from None
        self._links += 1
        if self._links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not target.startswith("/"):
            return split(target)
        self.root, parts = self.locate(target)
        self.names.clear()
        self._close_folders()
        return parts

    def _close_folders(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_folders()
