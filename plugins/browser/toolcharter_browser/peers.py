"""Whose a connection on this machine is: the proxy serves this user's programs and nobody else's."""

import os
import struct
from pathlib import Path

TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _USER = 1, 2, 7


def is_ours(client_port: int, server_port: int, table: Path = TABLE) -> bool:
    """Whether the loopback connection between these ports was opened by this user.

    What cannot be found is nobody's. Source: proc_net_tcp.rst of the kernel.
    """
    wanted = (_end(client_port), _end(server_port))
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return False
    rows = map(str.split, lines)
    return any((row[_LOCAL], row[_REMOTE]) == wanted and row[_USER] == str(os.geteuid()) for row in rows)


def _end(port: int) -> str:
    """`127.0.0.1` and a port as the table writes them: the address as the machine orders its bytes."""
    (address,) = struct.unpack("=I", bytes((127, 0, 0, 1)))
    return f"{address:08X}:{port:04X}"
