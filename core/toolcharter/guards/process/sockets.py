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


def sockets_below(roots: Iterable[Path]) -> tuple[str, ...]:
    """The sockets of this host that lie below *roots*, by the names of these: a sandbox that shows a root has to cover them."""
    sockets = [place for name in _places() if (place := _socket_at(name))]
    real_roots = [(str(root), os.path.realpath(root)) for root in roots]
    return tuple(
        sorted({shown for root, real in real_roots for place in sockets if (shown := _shown(place, root, real))})
    )


def _shown(place: str, root: str, real: str) -> str:
    """Where a sandbox that has the folder *real* at the path *root* sees *place*; empty if it does not."""
    if place == real:
        return root
    return f"{root}{place.removeprefix(real)}" if place.startswith(f"{real}/") else ""


def _places() -> Iterator[str]:
    """What sockets were bound to, in real folders. Many lie in one, whose way is walked once."""
    folders: dict[str, str] = {}
    for path in dict.fromkeys(_names()):  # each end of each connection has the name, too
        folder, _, name = path.rpartition("/")
        if folder not in folders:
            folders[folder] = os.path.realpath(folder or "/")
        yield f"{folders[folder].rstrip('/')}/{name}"


def _names() -> Iterator[str]:
    """The absolute paths that sockets were bound to."""
    with suppress(OSError):
        for line in os.fsdecode(_LISTED.read_bytes()).splitlines():
            fields = line.split(maxsplit=_FIELDS_BEFORE_PATH)
            if len(fields) > _FIELDS_BEFORE_PATH and fields[-1].startswith("/"):
                yield fields[-1]


def _socket_at(path: str) -> str:
    """The real path of a socket; empty if there is none."""
    with suppress(OSError):
        mode = os.lstat(path).st_mode
        if stat.S_ISSOCK(mode):
            return path
        if stat.S_ISLNK(mode):  # the socket was moved, and this leads to it
            place = os.path.realpath(path)
            return place if stat.S_ISSOCK(os.lstat(place).st_mode) else ""
    return ""
