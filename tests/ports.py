"""Ports of loopback for servers that are told theirs: nobody else gets one between its choice and its use, or a restart."""

import socket

_HELD: list[socket.socket] = []


def own_port(wanted: int = 0) -> int:
    """A port that is this process's until it ends, whether or not a server listens there.

    The socket that holds it never listens, and has SO_REUSEADDR from when it is bound, as servers have: they may listen
    beside it. The kernel gives the port neither to who asks for any port nor to a connection that goes out, and another
    holder, who binds without that option, is refused.

    Raises:
        OSError: Somebody has the *wanted* one.
    """
    holding = socket.socket()
    try:
        holding.bind(("127.0.0.1", wanted))
    except OSError:
        holding.close()
        raise
    holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _HELD.append(holding)
    port: int = holding.getsockname()[1]
    return port
