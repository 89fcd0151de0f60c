"""`LineSender`: writes JSON lines to a file or a socket that no other user may write to."""

import fcntl
import json
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from toolcharter import Deliverable, NotDelivered, Pause

TIMEOUT_S = 5.0
MAX_BYTES = 50_000_000
"""How large a file may become, in bytes. Then it is renamed to `NAME.1` and replaces the file of that name."""
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class LineSender:
    """Delivers to one path. The path is opened for each line, so that a file may be moved away."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes

    def send(self, item: Deliverable, _pause: Pause) -> None:
        """Deliver *item* as one line.

        Raises:
            NotDelivered: The path cannot be written to, or other users may write to it.
        """
        line = json.dumps({"delivery": item.delivery, **item.payload()}, default=str).encode() + b"\n"
        try:
            found = self._stat_path()
            if found is not None and stat.S_ISSOCK(found.st_mode):
                self._write_to_socket(line)
            else:
                self._write_to_file(line)
        except OSError as error:
            raise NotDelivered(f"the local channel: {os.strerror(error.errno or 0)}") from error

    def _stat_path(self) -> os.stat_result | None:
        """Return the state of the path; None if it does not exist.

        Raises:
            NotDelivered: The path is neither a file nor a socket, or other users may write to it or replace it.
        """
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_own_path(self._path.parent.stat(), "its folder")
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            return None
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISSOCK(found.st_mode)):
            raise NotDelivered("the local channel: the path is neither a file nor a socket")
        _require_own_path(found, "it")
        return found

    def _write_to_socket(self, line: bytes) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.connect(str(self._path))
            connection.sendall(line)

    def _write_to_file(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise NotDelivered("the local channel: the path is not a file")
            _require_own_path(found, "it")
            if found.st_size and found.st_size + len(line) > self._max_bytes:
                self._path.rename(f"{self._path}.1")
                self._write_to_file(line)
                return
            written = os.write(descriptor, line)
            if written < len(line):
                with suppress(OSError):
                    os.ftruncate(descriptor, found.st_size)
                raise NotDelivered("the local channel: the disk is full")
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Do nothing: no file stays open."""


def _require_own_path(found: os.stat_result, what: str) -> None:
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if found.st_uid not in {os.geteuid(), 0} or (found.st_mode & _OTHERS_MAY_WRITE and not sticky):
        raise NotDelivered(f"the local channel: {what} belongs to another user, or other users may write there")
