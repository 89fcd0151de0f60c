"""Keeps a program from starting while another one could replace what the daemon mounts for it.

The daemon follows the paths of mounts by itself, when the container starts. A program that holds a folder as a mount
point cannot rename it. One that began before there was a reason to hold that folder can: it could put a link there for a
moment, and the daemon would mount the folder that the link leads to. So a program starts only when all others that may
write to the workspace hold whatever is mounted for it. Standard library only.
"""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from toolcharter_docker.placeholders import Hold

_BEAT_S = 0.1


class Neighbour:
    """A program that may write to the workspace, from before its mounts are made to the removal of its container."""

    def __init__(self, held: Iterable[Hold], *, is_brief: bool) -> None:
        self.is_brief = is_brief
        """Somebody waits for its end, so that others may do so, too."""
        self.is_mounted = False
        self.held = {part.path: part for part in held}
        """What is mounted over itself for it."""

    def first_loose(self, other: "Neighbour") -> str | None:
        """The first path that is mounted for *other* and that this program could replace; None if there is none."""
        return next((path for path, part in other.held.items() if not self._keeps(part)), None)

    def _keeps(self, part: Hold) -> bool:
        own = self.held.get(part.path)
        if own is not None:
            return own.identity == part.identity
        ways = (self.held.get(str(folder)) for folder in PurePosixPath(part.path).parents)
        return any(way is not None and not way.writable for way in ways)


class Neighbours:
    """All programs of one runner that may write to the workspace; safe from many threads."""

    def __init__(self) -> None:
        self._present: set[Neighbour] = set()
        self._changed = threading.Condition()

    def enter(
        self, held: Iterable[Hold], expires: float, is_wanted: Callable[[], bool] | None, *, is_brief: bool
    ) -> Neighbour | str:
        """Take a place among the others.

        Args:
            held: What is mounted over itself for this program.
            expires: Until when to wait for others, on the monotonic clock.
            is_wanted: Whether anybody still waits for this program.
            is_brief: Whether somebody waits for its end.

        Returns:
            The place, or a path that another program could replace: one that is not waited for, or not any longer.
        """
        newcomer = Neighbour(held, is_brief=is_brief)
        with self._changed:
            while conflict := self._conflict(newcomer):
                path, can_wait = conflict
                left = expires - time.monotonic()
                if not can_wait or left <= 0 or (is_wanted is not None and not is_wanted()):
                    return path
                self._changed.wait(min(left, _BEAT_S))
            self._present.add(newcomer)
        return newcomer

    def mounted(self, neighbour: Neighbour | None) -> None:
        """Its mounts are made: what others do to their paths from now on does not change them."""
        with self._changed:
            if neighbour is not None:
                neighbour.is_mounted = True
            self._changed.notify_all()

    def leave(self, neighbour: Neighbour | None) -> None:
        """Nothing of it runs any longer."""
        with self._changed:
            self._present -= {neighbour}
            self._changed.notify_all()

    def _conflict(self, newcomer: Neighbour) -> tuple[str, bool] | None:
        found: tuple[str, bool] | None = None
        for other in self._present:
            if path := other.first_loose(newcomer):
                found = path, other.is_brief
            elif not other.is_mounted and (path := newcomer.first_loose(other)):
                found = path, True
            if found and not found[1]:
                break
        return found
