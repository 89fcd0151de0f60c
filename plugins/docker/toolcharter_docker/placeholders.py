"""Protect the names of paths, existing or not, while containers run. Standard library only.

A mount needs a mount point. If a protected path is missing, its first missing component becomes an empty folder with
the sticky bit: a placeholder. It is mounted read-only over itself, and removed when no container needs it. Removing a
folder would also remove the mounts on it in other containers (Linux 3.18). So each user of a placeholder holds a shared
lock on it, and only the one that gets an exclusive lock removes it. Locks end with their process: the next run takes
over the placeholders that a crash has left.
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
"""The mode of a placeholder. The sticky bit marks it, as in the runner `bwrap`."""

_PATIENCE_S = 2.0
_PAUSE_S = 0.002

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Unprotectable(Exception):
    """A path cannot be protected; the exception's text says which path and why."""


class HeldPath(NamedTuple):
    """A path that has to be mounted over itself."""

    path: str
    """Relative to the workspace."""
    writable: bool
    """True for a folder above a protected path: it is only a mount point so that it cannot be renamed."""
    identity: tuple[int, int]
    """The device and the inode that were found there."""


def hold_paths(
    workspace: Path, protected: Iterable[str], stack: ExitStack, hidden: Iterable[str] = ()
) -> list[HeldPath]:
    """Find or make the mount points that keep *protected* from being written, renamed or created.

    Args:
        workspace: The real path of a folder.
        protected: Paths relative to the workspace.
        stack: Releases the locks and removes the placeholders when it is closed.
        hidden: Paths relative to the workspace. The folders above them cannot be renamed: under another name, a later
            program could see their content.

    Returns:
        Each path once, parents first.

    Raises:
        Unprotectable: A path has a link, whose name no mount can protect; or something that is neither a folder nor a
            file; or a folder cannot be made.
    """
    held: dict[str, HeldPath] = {}
    for path in sorted(set(protected)):
        for part in _held_parts(workspace, path, stack):
            if part.path not in held or not part.writable:
                held[part.path] = part
    for path in hidden:
        _hold_parents(workspace, path, held)
    return [held[path] for path in sorted(held, key=lambda path: path.count("/"))]


def first_replaced(workspace: Path, held: Iterable[HeldPath]) -> str | None:
    """Return the first path whose file has been replaced since `hold_paths`; None if there is none."""
    for part in held:
        try:
            found = (workspace / part.path).lstat()
        except OSError:
            return part.path
        if (found.st_dev, found.st_ino) != part.identity:
            return part.path
    return None


def remove_if_unused(path: str) -> None:
    """Remove the folder at *path* if it is a placeholder and no process holds a lock on it."""
    with suppress(OSError):
        descriptor = os.open(path, _FOLDER)
        _release(descriptor, path)


def _held_parts(workspace: Path, path: str, stack: ExitStack) -> Iterator[HeldPath]:
    parts = path.split("/")
    if not all(parts) or {".", ".."} & {*parts}:
        raise Unprotectable(f"{path!r} is not a plain relative path")
    for depth in range(1, len(parts) + 1):
        here = "/".join(parts[:depth])
        found = _stat_or_make(workspace / here, here, stack)
        is_on_the_way = depth < len(parts) and stat.S_ISDIR(found.st_mode) and not _is_placeholder(found)
        yield HeldPath(here, is_on_the_way, (found.st_dev, found.st_ino))
        if not is_on_the_way:
            return


def _hold_parents(workspace: Path, path: str, held: dict[str, HeldPath]) -> None:
    """Hold the folders above *path*, unless they are protected already."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        here = "/".join(parts[:depth])
        if here not in held:
            try:
                found = (workspace / here).lstat()
            except OSError as error:
                raise Unprotectable(f"{here!r}: {error.strerror}") from error
            held[here] = HeldPath(here, writable=True, identity=(found.st_dev, found.st_ino))
        if not held[here].writable:
            return  # another mount below would be writable again


def _stat_or_make(file: Path, path: str, stack: ExitStack) -> os.stat_result:
    """The status of the file or folder at *file*; a placeholder is made if there is none."""
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
                f"{path!r} is a link, and no mount can protect its name. Put the file or folder itself there. If it is "
                "the Python environment that toolcharter runs in, starting toolcharter from "
                f"{os.path.realpath(file)!r} is enough"
            )
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            raise Unprotectable(f"{path!r} is neither a file nor a folder")
        if not _is_placeholder(found):
            return found
        if taken := _share(file, stack):
            return taken
        time.sleep(_PAUSE_S)
    raise Unprotectable(f"{path!r} could not be reserved: another process has locked it")


def _make(file: Path, path: str) -> None:
    try:
        file.mkdir(MODE)
    except FileExistsError:
        return
    except OSError as error:
        raise Unprotectable(f"no placeholder can be made at {path!r}: {error.strerror}") from error


def _share(file: Path, stack: ExitStack) -> os.stat_result | None:
    """Share the lock on a placeholder; None if the placeholder has gone, or another process has the exclusive lock."""
    try:
        descriptor = os.open(file, _FOLDER)
    except OSError:
        return None
    if not _try_shared_lock(descriptor) or not _is_at(descriptor, str(file)):
        os.close(descriptor)
        return None
    stack.callback(_release, descriptor, str(file))
    return os.fstat(descriptor)


def _try_shared_lock(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        # Does not block: a program in a container could hold the lock for ever.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    return False


def _release(descriptor: int, path: str) -> None:
    try:
        # Only the last holder gets the exclusive lock; another run may be about to take the folder over.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(descriptor, path) and _is_placeholder(os.fstat(descriptor)):
            Path(path).rmdir()
    except OSError:
        pass  # Another holder will remove the folder, or it is not empty any more.
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: str) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    return False


def _is_placeholder(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_ISVTX) and found.st_uid == os.geteuid()
