"""The protocol between toolboxes and supervisors: one line of JSON each way, over a socket that only the user can open.

Each side checks the credentials of the other side, which the kernel gives. Source: unix(7), SO_PEERCRED.
"""

import json
import os
import socket
import struct
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolcharter import is_marked

MAX_MESSAGE_BYTES = 1_048_576
PATIENCE_S = 2.0
"""How long to wait for the other side, in seconds; it should answer at once."""
_BACKLOG = 16
_CREDENTIALS = struct.Struct("iII")


class WrongPeer(OSError):
    """The other side is not the expected process or user."""


def listen(path: Path) -> socket.socket:
    """Open a listening socket at *path*, in a folder that only the user can open. Raises the system's errors."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short_name(path) as name:
            server.bind(name)
            os.chmod(name, 0o600)  # noqa: PTH101 - a path of this process only; before `listen` no client can connect
        server.listen(_BACKLOG)
    except BaseException:
        server.close()
        raise
    return server


def accept(server: socket.socket) -> tuple[socket.socket, dict[str, Any]]:
    """Accept the next client, and read its request.

    Raises:
        OSError: No client has connected within the server's timeout, or the request is malformed.
        NotOurs: The client belongs to another user, or an agent has started it, also inside a sandbox.
    """
    connection, _ = server.accept()
    try:
        connection.settimeout(PATIENCE_S)
        _require_toolbox(connection)
        return connection, _read(connection)
    except BaseException:
        connection.close()
        raise


def _require_toolbox(connection: socket.socket) -> None:
    pid, user, _ = _peer_credentials(connection)
    if user != os.geteuid() or is_marked(pid):
        raise WrongPeer("only toolboxes of the same user may ask")


def answer(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send *message*, and close the connection."""
    with connection:
        _write(connection, message)


def ask(path: Path, pid: int, message: dict[str, Any]) -> dict[str, Any]:
    """Send *message* to the process *pid* of this user, which listens at *path*, and return its answer.

    Raises:
        OSError: The process does not answer.
        NotOurs: Another process or user listens there.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE_S)
        with _short_name(path) as name:
            connection.connect(name)
        if _peer_credentials(connection)[:2] != (pid, os.geteuid()):
            raise WrongPeer("another process or user listens there")
        _write(connection, message)
        return _read(connection)


@contextmanager
def _short_name(path: Path) -> Generator[str]:
    """Yield a name for *path* that is short enough for a socket's address."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _peer_credentials(connection: socket.socket) -> tuple[int, int, int]:
    """Return the process, user and group of the other side at the time when it connected or began to listen."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, group = _CREDENTIALS.unpack(found)
    return pid, user, group


def _write(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _read(connection: socket.socket) -> dict[str, Any]:
    with connection.makefile("rb") as stream:
        line = stream.readline(MAX_MESSAGE_BYTES)
    try:
        message = json.loads(line)
    except ValueError as error:
        raise OSError("the other side's message is no JSON") from error
    if not isinstance(message, dict):
        raise OSError("the other side's message is no object")
    return message
