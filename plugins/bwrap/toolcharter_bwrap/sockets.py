"""Sockets of this host that lie where a sandbox can see: something else lies over them."""

from collections.abc import Iterable
from pathlib import Path

from toolcharter import sockets_below


def covered_sockets(roots: Iterable[Path]) -> tuple[str, ...]:
    """The arguments for bubblewrap that lay something else over each socket below *roots*, by the names of these."""
    return tuple(word for place in sockets_below(roots) for word in ("--ro-bind", "/dev/null", place))
