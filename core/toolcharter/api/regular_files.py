"""Reading a file that a program in the workspace may have exchanged for a pipe, a device or a link."""

import os
import stat
from pathlib import Path


def read_regular(path: str | Path, most: int, *, follow: bool = False) -> bytes:
    """The first *most* bytes of a regular file. Never waits, whatever lies at *path*.

    Opening a named pipe waits for its writer, and opening a device may act on it.

    Args:
        path: The file.
        most: In bytes.
        follow: Whether a link in the last place is followed.

    Raises:
        OSError: As the system says; also for a pipe, a socket, a device or a folder, and for a link unless *follow*.
        ValueError: No file can have this path.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{os.fspath(path)!r} is no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)
