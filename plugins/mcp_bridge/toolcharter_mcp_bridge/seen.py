"""What commands of this plugin need of the bridges that a session opens."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from toolcharter_mcp_bridge.trust import Definition, TrustStore


class Seen(Protocol):
    """A bridge, as commands see it."""

    def definitions(self) -> Mapping[str, list[Definition]]:
        """All tools as the servers have them now, by server."""
        ...

    @property
    def trust(self) -> TrustStore | None:
        """What was agreed to."""
        ...


_SEEN: ContextVar[list[Seen] | None] = ContextVar("mcp_bridges", default=None)


@contextmanager
def looked_at() -> Generator[list[Seen]]:
    """Collects the bridges that are built meanwhile, in this thread."""
    found = list[Seen]()
    token = _SEEN.set(found)
    try:
        yield found
    finally:
        _SEEN.reset(token)


def note(bridge: Seen) -> None:
    """Let a command see *bridge*, if one looks."""
    if (found := _SEEN.get()) is not None:
        found.append(bridge)
