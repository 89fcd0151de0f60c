"""Unix sockets of this host that a sandbox can see: namespaces and read-only mounts do not prevent connections to them.

Only the sockets of our own network namespace are listed, by the names to which they were bound. Source: proc_net(5),
`unix`.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_LISTED = Path("/proc/net/unix")
_FIELDS_BEFORE_PATH = 7


def sockets_below(roots: Iterable[Path]) -> tuple[str, ...]:
    """Return the sockets of this host below *roots*, as paths below these roots.

    A sandbox that shows a root has to cover them.
    """
    sockets = [place for name in _bound_paths() if (place := _socket_at(name))]
    real_roots = [(str(root), os.path.realpath(root)) for root in roots]
    return tuple(
        sorted({shown for root, real in real_roots for place in sockets if (shown := _visible_path(place, root, real))})
    )


def _visible_path(place: str, root: str, real: str) -> str:
    """The path at which a sandbox that shows the folder *real* as *root* sees *place*; empty if it does not see it."""
    if place == real:
        return root
    return f"{root}{place.removeprefix(real)}" if place.startswith(f"{real}/") else ""


def _bound_paths() -> Iterator[str]:
    """The paths to which sockets were bound, with the links of their folders resolved, once per folder."""
    folders: dict[str, str] = {}
    for path in dict.fromkeys(_listed_names()):  # /proc lists the name again for each end of each connection
        folder, _, name = path.rpartition("/")
        if folder not in folders:
            folders[folder] = os.path.realpath(folder or "/")
        yield f"{folders[folder].rstrip('/')}/{name}"


def _listed_names() -> Iterator[str]:
    """The absolute paths to which sockets were bound."""
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
        if stat.S_ISLNK(mode):  # the socket was moved, and a link to it left behind
            place = os.path.realpath(path)
            return place if stat.S_ISSOCK(os.lstat(place).st_mode) else ""
    return ""
