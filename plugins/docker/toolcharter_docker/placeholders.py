"""Holds the names of protected paths, also of those that do not exist, while containers run. Standard library only.

A mount needs something to lie on. Where a protected path is missing, its first missing component becomes an empty folder
with the sticky bit, is mounted read-only over itself, and goes when no container needs it. To remove a folder
takes away the mounts that lie on it in other containers, too (Linux 3.18). So each holder has a shared lock on the folder,
and only who gets it for himself removes it. Locks end with their process: what a crash leaves, the next run takes over.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

MODE = 0o1755
"""Sticky: the mark of a placeholder, the same as in the runner `bwrap`."""

_PATIENCE_S = 2.0
_PAUSE_S = 0.002

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Unprotectable(Exception):
    """A protected path cannot be held; its text says which and why."""


class Hold(NamedTuple):
    """What has to be mounted over itself."""

    path: str
    """Relative to the workspace."""
    writable: bool
    """A folder on the way to a protected path: as a mount point it cannot be renamed away."""
    identity: tuple[int, int]
    """Device and inode of what was seen there."""


def hold(workspace: Path, protected: Iterable[str], stack: ExitStack, hidden: Iterable[str] = ()) -> list[Hold]:
    """Find or make what keeps *protected* from being written, renamed or created.

    Args:
        workspace: The real path of a folder.
        protected: Paths relative to it.
        stack: Gives back what is held, and removes what was made, when it is closed.
        hidden: Paths relative to it. The folders on the way to them cannot be renamed: under another name a later program
            might be shown what lies in them.

    Returns:
        Each path once, parents first.

    Raises:
        Unprotectable: A link lies on the way, whose name no mount can hold; or something that is neither folder nor
            file; or a folder cannot be made.
    """
    held: dict[str, Hold] = {}
    for path in sorted(set(protected)):
        for part in _held(workspace, path, stack):
            if part.path not in held or not part.writable:
                held[part.path] = part
    for path in hidden:
        _hold_way(workspace, path, held)
    return [held[path] for path in sorted(held, key=lambda path: path.count("/"))]


def changed(workspace: Path, held: Iterable[Hold]) -> str | None:
    """The first path where something else lies than when it was held; None if there is none."""
    for part in held:
        try:
            found = (workspace / part.path).lstat()
        except OSError:
            return part.path
        if (found.st_dev, found.st_ino) != part.identity:
            return part.path
    return None


def remove_if_unused(path: str) -> None:
    """Remove the placeholder at *path* if it is one and nobody holds it."""
    with suppress(OSError):
        descriptor = os.open(path, _FOLDER)
        _give_back(descriptor, path)


def _held(workspace: Path, path: str, stack: ExitStack) -> Iterator[Hold]:
    parts = path.split("/")
    if not all(parts) or {".", ".."} & {*parts}:
        raise Unprotectable(f"{path!r} is no plain relative path")
    for depth in range(1, len(parts) + 1):
        here = "/".join(parts[:depth])
        found = _look(workspace / here, here, stack)
        is_on_the_way = depth < len(parts) and stat.S_ISDIR(found.st_mode) and not _is_placeholder(found)
        yield Hold(here, is_on_the_way, (found.st_dev, found.st_ino))
        if not is_on_the_way:
            return


def _hold_way(workspace: Path, path: str, held: dict[str, Hold]) -> None:
    """Hold the folders that lead to *path*, as far as nothing protects them already."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        here = "/".join(parts[:depth])
        if here not in held:
            try:
                found = (workspace / here).lstat()
            except OSError as error:
                raise Unprotectable(f"{here!r}: {error.strerror}") from error
            held[here] = Hold(here, writable=True, identity=(found.st_dev, found.st_ino))
        if not held[here].writable:
            return  # a mount of its own would make it writable again


def _look(file: Path, path: str, stack: ExitStack) -> os.stat_result:
    """What is there, a file or a folder; where nothing is, a placeholder is made."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        try:
            found = file.lstat()
        except FileNotFoundError:
            _make(file, path)
            continue
        except OSError as error:
            raise Unprotectable(f"{path!r}: {error.strerror}") from error
        if stat.S_ISLNK(found.st_mode):
            raise Unprotectable(
                f"{path!r} is a link, and no mount can hold its name. Put the file or folder itself there. If it is the Python "
                f"environment that toolcharter runs in, starting toolcharter from {os.path.realpath(file)!r} is enough"
            )
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise Unprotectable(f"{path!r} is neither a file nor a folder")
        if not _is_placeholder(found):
            return found
        if taken := _take(file, stack):
            return taken
        time.sleep(_PAUSE_S)
    raise Unprotectable(f"{path!r} could not be reserved: something else has it")


def _make(file: Path, path: str) -> None:
    try:
        file.mkdir(MODE)
    except FileExistsError:
        return
    except OSError as error:
        raise Unprotectable(f"{path!r} cannot be kept from being created: {error.strerror}") from error


def _take(file: Path, stack: ExitStack) -> os.stat_result | None:
    """Share the lock on a placeholder; None if it went away meanwhile, or somebody has the lock for himself."""
    try:
        descriptor = os.open(file, _FOLDER)
    except OSError:
        return None
    if not _shares(descriptor) or not _is_at(descriptor, str(file)):
        os.close(descriptor)
        return None
    stack.callback(_give_back, descriptor, str(file))
    return os.fstat(descriptor)


def _shares(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        # Never waited for: a program in a container could hold the lock for ever.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    return False


def _give_back(descriptor: int, path: str) -> None:
    try:
        # Only the last holder gets it; another one may be just about to take the folder over.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(descriptor, path) and _is_placeholder(os.fstat(descriptor)):
            Path(path).rmdir()
    except OSError:
        pass  # Somebody else holds it and will remove it, or has put something in.
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: str) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    return False


def _is_placeholder(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_ISVTX) and found.st_uid == os.geteuid()
