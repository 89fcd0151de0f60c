"""What every tool that changes files asks first: the policy's scope, and the locks of others."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from time import time

from pydantic import field_validator

from toolcharter import Denied, OpenPlace, ToolRuntime
from toolcharter_files.common import ProtectingPolicy, representable
from toolcharter_files.globs import MAX_GLOBS, Glob, InvalidGlob, escaped, matcher, parse_whole
from toolcharter_files.locks import Lease, Locks, owner_of
from toolcharter_files.overlap import meeting


class AccessReason(StrEnum):
    """Why a tool that changes files refuses, beside what the path guard says."""

    OUTSIDE_WRITE_SCOPE = "outside_write_scope"
    PATH_LOCKED = "path_locked"
    LOCKS_UNAVAILABLE = "locks_unavailable"


class ChangingPolicy(ProtectingPolicy):
    """What one profile lets a tool change."""

    writable: tuple[str, ...] = ("**",)
    """Globs, relative to the workspace, of what may be changed; all of it by default."""

    @field_validator("writable")
    @classmethod
    def _understood(cls, globs: tuple[str, ...]) -> tuple[str, ...]:
        if len(globs) > MAX_GLOBS:
            raise ValueError(f"there are more than {MAX_GLOBS} globs")
        try:
            matcher([parse_whole(glob) for glob in globs])
        except InvalidGlob as error:
            raise ValueError(f"{error}; write one such as 'src/**'") from error
        return globs


class Access:
    """The way of one tool to what it changes."""

    def __init__(self, workspace: Path, policy: ChangingPolicy, rt: ToolRuntime) -> None:
        self._rt = rt
        self._scope = [parse_whole(glob) for glob in policy.writable]
        self._in_scope: Callable[[str], bool] = matcher(self._scope) if self._scope else _nothing
        self._locks = Locks(workspace)
        self.paths = rt.paths.narrowed(protected=policy.protected)

    def require_scope(self, *names: str) -> None:
        """Refuse what the policy does not let be changed.

        Raises:
            Denied: `outside_write_scope`.
        """
        for name in names:
            if not self._in_scope(representable(name)):
                raise _outside(name)

    def require_scope_for_folder(self, name: str) -> None:
        """The same for a folder that is made: one in which something may be written will do."""
        below = Glob(".", f"{escaped(name)}/**", anchored=True)
        if not self._in_scope(name) and not any(meeting(glob, below) is not None for glob in self._scope):
            raise _outside(name)

    @contextmanager
    def unlocked(self, *places: OpenPlace, with_below: bool = False) -> Generator[None]:
        """Refuse what others have locked, and let nobody lock it until the context is left.

        Args:
            places: What is changed; of a folder all that lies below it.
            with_below: All of *places* are, or become, folders that hold something.

        Raises:
            Denied: `path_locked`, `locks_unavailable`.
        """
        globs = [glob for place in places for glob in _globs(place, with_below=with_below)]
        with self._locks.reading(owner_of(self._rt.caller), globs, self._rt.deadline) as taken:
            if taken:
                raise locked(places[0].path, taken)
            yield


def _nothing(name: str) -> bool:  # noqa: ARG001 - takes what a matcher takes
    return False


def locked(path: str, taken: list[Lease]) -> Denied:
    """The refusal of what others hold."""
    first = taken[0]
    left = max(1, round(first.expires - time()))
    message = f"{path!r} is locked by {first.holder} (as {first.glob!r}, for another {left} s)."
    return Denied(AccessReason.PATH_LOCKED, message, hint="Work on something else, and try again later.")


def _outside(name: str) -> Denied:
    return Denied(AccessReason.OUTSIDE_WRITE_SCOPE, f"{name!r} is not among what the profile lets be changed.")


def _globs(place: OpenPlace, *, with_below: bool) -> Iterator[Glob]:
    yield Glob(".", escaped(place.path), anchored=True)
    if with_below or place.kind == "folder":
        yield Glob(".", f"{escaped(place.path)}/**", anchored=True)
