"""Sockets of this host that lie where a sandbox can see: neither a namespace nor a read-only mount keeps one from connecting.

Only those of our own network namespace are known, by the names that they were bound to. Source: proc_net(5), `unix`.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_LISTED = Path("/proc/net/unix")
_FIELDS_BEFORE_PATH = 7


def covered_sockets(roots: Iterable[Path]) -> tuple[str, ...]:
    """The arguments for bubblewrap that lay something else over each socket below *roots*, by the names of these."""
    sockets = [place for name in _names() if _is_socket(place := os.path.realpath(name))]
    found = {shown for root in roots for place in sockets if (shown := _shown(place, root))}
    return tuple(word for place in sorted(found) for word in ("--ro-bind", "/dev/null", place))


def _shown(place: str, root: Path) -> str:
    """Where a sandbox that has *root* at that path sees *place*; empty if it does not."""
    real = os.path.realpath(root)
    if place == real:
        return str(root)
    return f"{root}{place.removeprefix(real)}" if place.startswith(f"{real}/") else ""


def _names() -> Iterator[str]:
    """The absolute paths that sockets were bound to."""
    with suppress(OSError):
        for line in os.fsdecode(_LISTED.read_bytes()).splitlines():
            fields = line.split(maxsplit=_FIELDS_BEFORE_PATH)
            if len(fields) > _FIELDS_BEFORE_PATH and fields[-1].startswith("/"):
                yield fields[-1]


def _is_socket(path: str) -> bool:
    with suppress(OSError):
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    return False
