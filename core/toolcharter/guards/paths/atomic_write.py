"""Replace a file atomically: write a temporary file in the same folder, and rename it.

Both steps use the folder's descriptor. After any failure (a full disk, an interruption, the death of the process) the
old content is still there. Only a process that is killed also leaves its temporary file.
"""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from stat import S_IMODE

from toolcharter.guards.paths.openat2 import rename_new

CHUNK_BYTES = 1 << 20
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PERMISSION_BITS = 0o777  # without set-user-ID and set-group-ID, which every program's write clears, and the sticky bit


class FileChanged(Exception):
    """The file is not the one that the caller inspected, or it has changed since."""


def is_unchanged(now: os.stat_result, then: os.stat_result) -> bool:
    """Whether both statuses show the same file with the same content."""
    return _identity(now) == _identity(then)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def require_unchanged(folder: int, name: str, then: os.stat_result) -> None:
    """Check that *name* is still the same, unchanged file.

    Raises:
        FileChanged: It has been changed, replaced or removed.
    """
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise FileChanged from None
    if not is_unchanged(now, then):
        raise FileChanged


def read_content(folder: int, name: str, then: os.stat_result, tick: Callable[[], None]) -> Iterator[bytes]:
    """Yield the content of a regular file piece by piece.

    Raises:
        FileChanged: The file has been changed, replaced or removed.
        OSError: The system cannot open or read it.
    """
    try:
        fd = os.open(name, _READ_FLAGS, dir_fd=folder)
    except OSError:
        require_unchanged(folder, name, then)
        raise
    try:
        if not is_unchanged(os.fstat(fd), then):
            raise FileChanged
        while piece := os.read(fd, CHUNK_BYTES):
            tick()
            yield piece
    finally:
        os.close(fd)


def replace_content(
    folder: int, name: str, pieces: Iterable[bytes], then: os.stat_result | None, tick: Callable[[], None]
) -> None:
    """Make *pieces* the content of *name* atomically.

    Args:
        folder: The descriptor of the file's folder.
        name: One component.
        pieces: The content.
        then: The file's status when the caller inspected it; None if there was no file. Its permissions are kept, and
            its owner if the system permits that.
        tick: Called before each piece; raises to stop.

    Raises:
        FileChanged: Another file or other content is there by now.
        OSError: The system cannot write the file.
    """
    temporary = f".toolcharter-{secrets.token_hex(8)}"
    fd = os.open(temporary, _CREATE_FLAGS, 0o666 if then is None else 0o600, dir_fd=folder)
    try:
        try:
            _write_pieces(fd, pieces, tick)
            _keep_permissions(fd, then)
        finally:
            os.close(fd)  # may fail, too: some file systems report a full disk only here
        _put_in_place(folder, temporary, name, then)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _put_in_place(folder: int, temporary: str, name: str, then: os.stat_result | None) -> None:
    if then is None:
        try:
            rename_new(folder, temporary, folder, name)
        except FileExistsError:
            raise FileChanged from None
        return
    require_unchanged(folder, name, then)
    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _write_pieces(fd: int, pieces: Iterable[bytes], tick: Callable[[], None]) -> None:
    for piece in pieces:
        left = memoryview(piece)
        while left:
            tick()
            left = left[os.write(fd, left[:CHUNK_BYTES]) :]


def _keep_permissions(fd: int, then: os.stat_result | None) -> None:
    if then is None:
        return
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (then.st_uid, then.st_gid):
        with suppress(PermissionError):
            os.fchown(fd, then.st_uid, then.st_gid)
    os.fchmod(fd, S_IMODE(then.st_mode) & _PERMISSION_BITS)
