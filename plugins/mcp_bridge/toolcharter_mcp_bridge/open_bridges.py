"""Gives this plugin's commands access to the bridges that a session opens."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from toolcharter_mcp_bridge.trust import Definition, TrustStore


class OpenBridge(Protocol):
    """The part of a bridge that commands use."""

    def definitions(self) -> Mapping[str, list[Definition]]:
        """Return all tools as the servers list them now, by server."""
        ...

    @property
    def trust(self) -> TrustStore | None:
        """The store of approved tools."""
        ...


_COLLECTED: ContextVar[list[OpenBridge] | None] = ContextVar("mcp_bridges", default=None)


@contextmanager
def collect_bridges() -> Generator[list[OpenBridge]]:
    """Collect the bridges that this thread builds inside the `with` block."""
    found = list[OpenBridge]()
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


def register_bridge(bridge: OpenBridge) -> None:
    """Give *bridge* to the command that collects bridges, if there is one."""
    if (found := _COLLECTED.get()) is not None:
        found.append(bridge)
