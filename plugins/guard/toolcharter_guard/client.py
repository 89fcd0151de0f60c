"""The program that an agent starts for each hook: it asks the resident gate, or has the call judged by a gate of its own.

It is started as `python -I -S client.py toolcharter guard hook AGENT ...` and loads next to nothing, since agents wait for it.
Whatever is not an answer of the user's own server - none is there, it is of other settings, it is late, it breaks off -
leads to `toolcharter guard hook`, which judges by itself and starts a server for the next call. Source: unix(7).
"""

import _socket
import binascii
import os
import sys

TYPE_CHECKING = False  # not from typing, which takes as long to load as all the rest
if TYPE_CHECKING:
    from collections.abc import Mapping

SERVED_VARIABLES = ("ALLOWED_TOOL_PERMS", "HOME", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "VIRTUAL_ENV")
"""What a server's judgement may depend on; so may every variable that begins with one of `SERVED_PREFIXES`."""
SERVED_PREFIXES = ("TOOLCHARTER_", "XDG_", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_CONFIG_DIR")
TIMEOUT_S = 10.0
ANSWER = b"\0toolcharter\0"
"""Ends each answer, so that one that breaks off is none."""
MAX_MESSAGE = 64 * 1024 * 1024


def folder_of(environ: "Mapping[str, str]") -> str:
    """Where the sockets lie: the user's runtime folder, else the state folder."""
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime):
        return f"{runtime}/toolcharter"
    home = environ.get("HOME") or os.path.expanduser("~")
    return f"{environ.get('XDG_STATE_HOME') or f'{home}/.local/state'}/toolcharter/run"


def identity(words: "list[str]", environ: "Mapping[str, str]") -> bytes:
    """All that a judgement depends on besides the message: the Python, the options, the folder and parts of the environment."""
    parts = [sys.executable, os.getcwd(), *words]
    for name in sorted(environ):
        if name in SERVED_VARIABLES or name.startswith(SERVED_PREFIXES):
            parts += (name, environ[name])
    return "\0".join(parts).encode("utf-8", "surrogateescape")


def socket_of(folder: str, wanted: bytes) -> str:
    """The socket of the server for the identity *wanted*. Should two share a name, the server compares all of it."""
    return f"{folder}/guard-{binascii.crc32(wanted):08x}-{len(wanted)}.sock"


def is_private(folder: str) -> bool:
    """Whether nobody but this user can put anything into *folder*."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    is_closed_folder = found.st_mode & 0o170077 == 0o040000  # noqa: PLR2004 - of its kind and of others' rights: a folder
    return is_closed_folder and found.st_uid == os.geteuid()


def peer_is_user(peer: "_socket.socket") -> bool:
    """Whether the process on the other side runs as this user."""
    credentials = peer.getsockopt(_socket.SOL_SOCKET, 17, 12)  # SO_PEERCRED: pid, uid, gid
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.geteuid()


def receive(peer: "_socket.socket", limit: int) -> bytes:
    """All that comes until the other side has said it all, at most *limit* bytes."""
    parts, size = [], 0
    while size <= limit and (part := peer.recv(1 << 16)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _asked(path: str, wanted: bytes, message: bytes) -> "tuple[int, bytes] | None":
    """The server's exit status and output for *message*; None if there is none that counts."""
    with_server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    with_server.settimeout(TIMEOUT_S)
    try:
        with_server.connect(path)
        if not peer_is_user(with_server):
            return None
        with_server.sendall(len(wanted).to_bytes(4, "big") + wanted + message)
        with_server.shutdown(_socket.SHUT_WR)
        said = receive(with_server, MAX_MESSAGE)
    except OSError:
        return None
    finally:
        with_server.close()
    if not said.endswith(ANSWER) or said[:1] not in (b"0", b"2"):
        return None
    return int(said[:1]), said[1 : -len(ANSWER)]


def main(words: "list[str]") -> None:
    """Answer one hook; *words* are `toolcharter guard hook AGENT ...`."""
    message = None
    folder = folder_of(os.environ)
    if sys.platform == "linux" and is_private(folder):
        wanted = identity(words, os.environ)
        path = socket_of(folder, wanted)
        if os.path.exists(path):
            message = sys.stdin.buffer.read()
            answer = _asked(path, wanted, message)
            if answer is not None:
                os.write(1 if answer[0] == 0 else 2, answer[1])
                os._exit(answer[0])
    if message is not None:  # it has been read: hand it on
        standard_input = os.memfd_create("hook")
        view = memoryview(message)
        while view:
            view = view[os.write(standard_input, view) :]
        os.lseek(standard_input, 0, os.SEEK_SET)
        os.dup2(standard_input, 0)
    os.execv(sys.executable, [sys.executable, "-P", "-m", *words])


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BaseException as error:
        os.write(2, f"toolcharter denies the call, because it failed: {error!r}\n".encode())
        os._exit(2)
