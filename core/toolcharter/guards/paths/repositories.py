"""Where the repository of a workspace really lies: its hooks and settings run as programs, by whatever name they are written.

Source: gitrepository-layout(5): `.git` may be a link, or a file with the line `gitdir: PATH`.
"""

import os
from collections import deque
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

_MOST_BYTES = 8192
_MOST_LINKS = 40  # As the kernel: whatever has more leads nowhere.


def repository_folders(workspace: Path) -> tuple[Path, ...]:
    """The folders below *workspace* that hold its repository, besides one that is called `.git`.

    Args:
        workspace: A real path.
    """
    return tuple(dict.fromkeys(place for place in _folders(workspace) if workspace in place.parents))


def ways(folder: Path, target: str) -> Iterator[Path]:
    """Where *target*, a path seen from the real *folder*, leads, and what it is called from each link on its way.

    Whoever replaces such a link need not touch what it leads to. Of a name with a `..` what stands before that counts.
    """
    place, rest, end = folder, deque[str](), Path(os.path.realpath(folder / target))
    for _ in range(_MOST_LINKS):
        place = Path("/") if target.startswith("/") else place
        rest.extendleft(part for part in reversed(target.split("/")) if part not in {"", "."})
        link = next(_links(place, rest), None)
        if link is None:
            break
        yield link.joinpath(*takewhile(lambda name: name != "..", rest))
        place, target = link.parent, os.fspath(link.readlink())
    yield end


def _links(place: Path, rest: deque[str]) -> Iterator[Path]:
    """The links on the way from *place*; what is walked leaves *rest*."""
    while rest:
        name = rest.popleft()
        place = place.parent if name == ".." else place / name
        if os.path.islink(place):  # noqa: PTH114 - no error for what may not be looked at
            yield place


def _folders(workspace: Path) -> Iterator[Path]:
    own = workspace / ".git"
    pointer = Path(os.path.realpath(own))
    yield from (way for way in ways(workspace, ".git") if way != own)
    text = _start_of(pointer)
    if text.startswith("gitdir:"):
        target = text.removeprefix("gitdir:").strip()
        folder = Path(os.path.realpath(pointer.parent / target))
        yield from ways(pointer.parent, target)
        yield from ways(folder, _start_of(folder / "commondir").strip() or ".")


def _start_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(_MOST_BYTES)).replace("\0", "")
    except OSError:
        return ""
