"""Leases on paths: for a while only the holder may change these paths. The protocol for tools that grant leases."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol


class Claim(NamedTuple):
    """Paths that a caller wants to lease: a name for people, and two RE2 expressions that match whole paths.

    Paths are relative to the workspace, with `/`.
    """

    name: str
    paths: str
    """Matches the paths themselves."""
    folders: str
    """Matches the folders that such a path could lie below."""


class Lease(NamedTuple):
    """A claim that was granted."""

    name: str
    holder: str
    """The agent that holds the lease, in words for people."""
    expires: float
    """On `time.time`'s clock, the only clock that processes share."""


class Leases(Protocol):
    """The leases of the workspace, as the caller of the current call sees them.

    Every change through `rt.paths` respects the leases of others without further action by the tool. Every method
    raises `Denied` with `locks_unavailable` if the leases cannot be read, and waits no longer than the call's deadline.
    """

    def others(self) -> list[Lease]:
        """Return the leases that other callers hold."""
        ...

    def acquire(
        self, claims: Sequence[Claim], ttl_s: float, in_the_way: Callable[[list[Lease]], list[Lease]]
    ) -> tuple[str, list[Lease]]:
        """Acquire leases for all of *claims*, or for none; waits until no write is under way.

        Args:
            claims: The paths to lease.
            ttl_s: How long the leases last unless they are released, in seconds.
            in_the_way: Returns those of others' leases that share a path with *claims*.

        Returns:
            One token for all the leases, and no leases; or an empty token, and the leases of others that conflict.
        """
        ...

    def release(self, tokens: Sequence[str] | None = None) -> list[str]:
        """Release the leases that *tokens* identify, by default all of the caller's own; returns their names."""
        ...

    def require_free(self, path: str, *, below: bool = False) -> None:
        """Raise `Denied` with `path_locked` if another caller holds *path*, or with *below* any path below it."""
        ...
