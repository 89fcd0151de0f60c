"""Leases: for a while only their owner changes certain paths. The part of them that tools which give them see."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol


class Claim(NamedTuple):
    """Paths that a caller wants for itself: a name for people, and two expressions, of RE2, for a whole path each.

    Paths are relative to the workspace, with `/`.
    """

    name: str
    paths: str
    """Matches the paths themselves."""
    folders: str
    """Matches the folders below which such a path could lie."""


class Lease(NamedTuple):
    """A claim that was granted."""

    name: str
    holder: str
    """For people: which agent it is."""
    expires: float
    """On `time.time`'s clock: processes have no other in common."""


class Leases(Protocol):
    """The leases of the workspace, as the caller of the present call sees them.

    All changes through `rt.paths` respect the leases of others by themselves. Every method raises `Denied` with
    `locks_unavailable`, if it cannot be read which paths are leased, and ends with the time of the call.
    """

    def others(self) -> list[Lease]:
        """What others hold."""
        ...

    def acquire(
        self, claims: Sequence[Claim], ttl_s: float, in_the_way: Callable[[list[Lease]], list[Lease]]
    ) -> tuple[str, list[Lease]]:
        """Take all of *claims*, or none; waits until no write is under way.

        Args:
            claims: What is wanted.
            ttl_s: When the lease ends by itself, in seconds.
            in_the_way: Of the leases of others, those that share a path with *claims*.

        Returns:
            An identifier for all of them; or an empty one, and what is in the way.
        """
        ...

    def release(self, tokens: Sequence[str] | None = None) -> list[str]:
        """Let go of the leases that *tokens* identify, or of all the caller's own; returns their names."""
        ...

    def require_free(self, path: str, *, below: bool = False) -> None:
        """Refuse with `path_locked` what others hold: *path*, and all *below* it."""
        ...
