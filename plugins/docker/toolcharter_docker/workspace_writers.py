"""Keep a program from starting while another program could replace a folder that the daemon mounts for it.

The daemon resolves the paths of mounts itself, when the container starts. A program in whose container a folder is a
mount point cannot rename that folder. But a program that was started before the folder became protected can: it could
put a link there for a moment, and the daemon would mount the link's target. So a program starts only when each other
program that may write to the workspace has the same mount points. Standard library only.
"""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from toolcharter_docker.placeholders import HeldPath

_POLL_S = 0.1


class WorkspaceWriter:
    """A program that may write to the workspace, from before its mounts are made until its container is removed."""

    def __init__(self, held: Iterable[HeldPath], *, is_brief: bool) -> None:
        self.is_brief = is_brief
        """Whether a caller waits for its end. If so, other programs may wait for it, too."""
        self.is_mounted = False
        self.held = {part.path: part for part in held}
        """The paths that are mounted over themselves in its container."""

    def first_replaceable(self, other: "WorkspaceWriter") -> str | None:
        """Return the first path that is mounted for *other* and that this program could replace, or None."""
        return next((path for path, part in other.held.items() if not self._protects(part)), None)

    def _protects(self, part: HeldPath) -> bool:
        own = self.held.get(part.path)
        if own is not None:
            return own.identity == part.identity
        ways = (self.held.get(str(folder)) for folder in PurePosixPath(part.path).parents)
        return any(way is not None and not way.writable for way in ways)


class WorkspaceWriters:
    """All programs of one runner that may write to the workspace. Thread-safe."""

    def __init__(self) -> None:
        self._writers: set[WorkspaceWriter] = set()
        self._changed = threading.Condition()

    def enter(
        self, held: Iterable[HeldPath], expires: float, is_wanted: Callable[[], bool] | None, *, is_brief: bool
    ) -> WorkspaceWriter | str:
        """Register a program; wait while other programs could replace a path that is mounted for it.

        Args:
            held: The paths that are mounted over themselves in this program's container.
            expires: Until when to wait for others, on the monotonic clock.
            is_wanted: Returns whether the caller still waits for this program.
            is_brief: Whether a caller waits for this program's end.

        Returns:
            The registered program; or a path that another program could replace, if waiting for that program is
            pointless or the time is up.
        """
        newcomer = WorkspaceWriter(held, is_brief=is_brief)
        with self._changed:
            while conflict := self._conflict(newcomer):
                path, can_wait = conflict
                left = expires - time.monotonic()
                if not can_wait or left <= 0 or (is_wanted is not None and not is_wanted()):
                    return path
                self._changed.wait(min(left, _POLL_S))
            self._writers.add(newcomer)
        return newcomer

    def mark_mounted(self, writer: WorkspaceWriter | None) -> None:
        """Record that the program's mounts are made: changes to their paths no longer affect it."""
        with self._changed:
            if writer is not None:
                writer.is_mounted = True
            self._changed.notify_all()

    def leave(self, writer: WorkspaceWriter | None) -> None:
        """Remove a program whose container has ended."""
        with self._changed:
            self._writers -= {writer}
            self._changed.notify_all()

    def _conflict(self, newcomer: WorkspaceWriter) -> tuple[str, bool] | None:
        found: tuple[str, bool] | None = None
        for other in self._writers:
            if path := other.first_replaceable(newcomer):
                found = path, other.is_brief
            elif not other.is_mounted and (path := newcomer.first_replaceable(other)):
                found = path, True
            if found and not found[1]:
                break
        return found
