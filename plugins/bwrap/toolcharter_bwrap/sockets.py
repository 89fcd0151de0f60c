"""Hide the host's sockets in folders that a sandbox can see."""

from collections.abc import Iterable
from pathlib import Path

from toolcharter import sockets_below


def hide_sockets(roots: Iterable[Path]) -> tuple[str, ...]:
    """Return the arguments for bubblewrap that mount `/dev/null` over each socket below *roots*."""
    return tuple(word for place in sockets_below(roots) for word in ("--ro-bind", "/dev/null", place))
