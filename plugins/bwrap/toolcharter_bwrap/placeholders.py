"""Placeholders: empty folders in place of missing protected paths, while a program runs.

A mount needs a mount point. So a missing path is made for the time of a run, and removed after it. Several runs, also
in different processes, may need the same placeholder: each holds a shared lock on the folder, and the run that gets an
exclusive lock at its end removes it. The sticky bit distinguishes placeholders from other folders.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from toolcharter import Denied, Reason, ToolError

_FOLDER_MODE = 0o1755
_TIMEOUT_S = 2.0
_PAUSE_S = 0.002
_NOT_PERMITTED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class Keeper(Protocol):
    """Removes folders if this process is killed."""

    def add(self, folder: str) -> None:
        """Remove *folder* if this process dies."""
        ...

    def drop(self, folder: str) -> None:
        """Forget *folder*."""
        ...


def is_placeholder(status: os.stat_result) -> bool:
    """Return whether a file is a placeholder of this run or another."""
    return stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX) and status.st_uid == os.geteuid()


@contextmanager
def hold_placeholder(path: str, keeper: Keeper) -> Generator[None]:
    """Make a placeholder at *path*, an absolute path in an existing folder, or share that of another run.

    Raises:
        Denied: `sandbox_unavailable`, if this user may make no folder there.
        ToolError: Another file has appeared there, or another process keeps the placeholder locked.
        OSError: The folder cannot be made, for example on a full disk.
    """
    descriptor = _lock_placeholder(path)
    try:
        keeper.add(path)
        yield
    finally:
        with suppress(OSError):
            # Fails if another run holds the lock, or if the folder is no longer empty.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                Path(path).rmdir()
        keeper.drop(path)
        os.close(descriptor)


def _lock_placeholder(path: str) -> int:
    until = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < until:
        with suppress(FileExistsError):
            _make_folder(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            if _is_locked(path, descriptor):
                return descriptor
            os.close(descriptor)
        time.sleep(_PAUSE_S)
    message = f"The protected path {path!r} could not be reserved for the program: something else is there."
    raise ToolError(message, retryable=True)


def _make_folder(path: str) -> None:
    try:
        Path(path).mkdir(_FOLDER_MODE)
    except OSError as error:
        if error.errno not in _NOT_PERMITTED:
            raise
        raise Denied(
            Reason.SANDBOX_UNAVAILABLE,
            f"The protected path {path!r} does not exist, and toolcharter may not make a folder there to cover it: "
            f"{error.strerror}.",
            hint="Ask the user to give toolcharter the right to make folders in the workspace.",
        ) from error


def _is_locked(path: str, descriptor: int) -> bool:
    try:
        # Does not block: a program in the sandbox could hold the lock for ever.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return _is_at(path, descriptor)


def _is_at(path: str, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    return False
