"""The program that an agent starts for each hook: it asks the resident gate, or has the call judged by a gate of its own.

It is started as `python -I -S client.py toolcharter guard hook AGENT ...` and loads next to nothing, since agents wait for it.
Whatever is not an answer of the user's own server - none is there, it is of other settings, it is late, it breaks off -
leads to `toolcharter guard hook`, which judges by itself and starts a server for the next call. Source: unix(7).

A variable that has the loader of programs take libraries from where the agent writes denies each call: one of its
libraries could be in this process, and in the gate. That is a notice of a mistake, and no wall: such a library runs first.

It ends with 0 and an answer, or with 2: agents let a call pass whose hook ends in any other way, or too late.
"""

import _socket
import binascii
import os
import select
import sys
import time

TYPE_CHECKING = False  # not from typing, which takes as long to load as all the rest
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

SERVED_VARIABLES = ("ALLOWED_TOOL_PERMS", "CODEX_HOME", "HOME", "LD_LIBRARY_PATH", "PATH", "VIRTUAL_ENV")
"""What a server's judgement may depend on; so may every variable that begins with one of `SERVED_PREFIXES`."""
SERVED_PREFIXES = (
    *("TOOLCHARTER_", "XDG_", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR", "COPILOT_PROJECT_DIR"),
    *("CLAUDE_CONFIG_DIR", "COPILOT_HOME"),
)
LOADER_VARIABLES = {"LD_PRELOAD": " :", "LD_AUDIT": ":", "LD_LIBRARY_PATH": ":;"}
"""From where programs get libraries, and what parts their entries; an empty folder is the present one. Source: ld.so(8)."""
UNWANTED_VARIABLES = (
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "NODE_OPTIONS",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
)
"""What else has a program run code that a project's `.env` names; the gate gets none of them, and none of Python's own."""
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - nothing is put there
LONGEST_SOCKET = 107
"""How many bytes the path of a socket may have, without the NUL at its end."""
TIMEOUT_S = 10.0
DEADLINE_S = 45.0
"""When a call is denied that is not judged yet. The settings of agents give a hook 60 seconds, then the call passes."""
PYTHON_OPTIONS = ("-E", "-P")
"""How the gate is started: neither `PYTHONPATH` and its like nor the current folder, where agents write, say what it imports."""
ANSWER = b"\0toolcharter\0"
"""Ends each answer, so that one that breaks off is none."""
MAX_MESSAGE = 64 * 1024 * 1024


def folder_of(environ: "Mapping[str, str]") -> str:
    """Where the sockets lie: the user's runtime folder, else the state folder; below `/tmp` if that lies too deep for a socket."""
    runtime = environ.get("XDG_RUNTIME_DIR")
    state = environ.get("XDG_STATE_HOME")
    if not state or not os.path.isabs(state):  # a relative one would lie where the agent works
        state = f"{environ.get('HOME') or os.path.expanduser('~')}/.local/state"
    folder = f"{runtime}/toolcharter" if runtime and os.path.isabs(runtime) else f"{state}/toolcharter/run"
    longest = len(os.fsencode(folder)) + len("/guard-01234567-0123456.sock")
    return folder if longest <= LONGEST_SOCKET else f"/tmp/toolcharter-{os.geteuid()}"  # noqa: S108 - `is_private` looks


def loads_from(environ: "Mapping[str, str]", *folders: str) -> "str | None":
    """The variable that has programs load libraries from one of *folders*, or from where any user may write; None if none does."""
    unsafe = tuple(f"{folder.rstrip('/')}/" for folder in (*folders, *SHARED_FOLDERS))
    for name, separators in LOADER_VARIABLES.items():
        entries = environ.get(name, "")
        for separator in separators:
            entries = entries.replace(separator, "\n")
        for entry in entries.split("\n") if entries else ():
            if entry.startswith(("$ORIGIN", "${ORIGIN}")):  # where Python lies
                continue
            is_name = name != "LD_LIBRARY_PATH" and "/" not in entry  # looked for in those folders and in the system's
            if not is_name and (entry[:1] != "/" or f"{os.path.realpath(entry)}/".startswith(unsafe)):
                return name
    return None


def without_unwanted(environ: "Mapping[str, str]") -> "dict[str, str]":
    """The environment of the gate."""
    return {
        name: value
        for name, value in environ.items()
        if name not in UNWANTED_VARIABLES and not name.startswith("PYTHON")
    }


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
    """All that comes until the other side has said it all, at most *limit* bytes.

    Raises:
        TimeoutError: That takes longer than `TIMEOUT_S`, however it is cut into parts.
    """
    parts, size, until = [], 0, time.monotonic() + TIMEOUT_S
    while size <= limit and (part := peer.recv(1 << 16)):
        parts.append(part)
        size += len(part)
        peer.settimeout(max(0.001, until - time.monotonic()))
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
    until = time.monotonic() + DEADLINE_S
    if (name := loads_from(os.environ, os.getcwd(), *_after(words, "--workspace"))) is not None:
        said = (
            f"toolcharter denies the call, because {name} has programs load libraries from where an agent may write: "
        )
        _end(2, f"{said}unset it, or take out such entries, empty ones too, where the agent is started.\n".encode())
    message = None
    folder = folder_of(os.environ)
    if sys.platform == "linux" and is_private(folder):
        wanted = identity(words, os.environ)
        path = socket_of(folder, wanted)
        if os.path.exists(path):
            message = sys.stdin.buffer.read()
            answer = _asked(path, wanted, message)
            if answer is not None:
                _end(*answer)
    if message is not None:  # it has been read: hand it on
        standard_input = os.memfd_create("hook")
        view = memoryview(message)
        while view:
            view = view[os.write(standard_input, view) :]
        os.lseek(standard_input, 0, os.SEEK_SET)
        os.dup2(standard_input, 0)
    _end(*_judged(words, until))


def _after(words: "list[str]", option: str) -> "list[str]":
    """What stands behind *option* in *words*."""
    return [words[at] for at in range(1, len(words)) if words[at - 1] == option]


def _judged(words: "list[str]", until: float) -> "tuple[int, bytes]":
    """The exit status and output of a gate of our own: those that block the call, unless it ends in order and in time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        os.execve(sys.executable, [sys.executable, *PYTHON_OPTIONS, "-m", *words], without_unwanted(os.environ))
    os.close(writing)
    output, ended, status = b"", 0, 0
    while not ended and (left := until - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 1 << 16)
            output += part
            if not part:  # it has said all, and is about to end
                ended, status = os.waitpid(child, os.WNOHANG)
                time.sleep(0 if ended else 0.001)
    if not ended:
        os.kill(child, 9)
        return 2, b"toolcharter denies the call, because it could not be judged in time.\n"
    code = os.waitstatus_to_exitcode(status)
    if code == 0 and output.startswith(b"{") and output.endswith(b"}\n"):
        return 0, output
    return 2, b"" if code == 2 else b"toolcharter denies the call, because its gate has failed.\n"  # noqa: PLR2004 - it has said why


def _end(status: int, said: bytes) -> "NoReturn":
    view = memoryview(said)
    while view:
        view = view[os.write(1 if status == 0 else 2, view) :]
    os._exit(status)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BaseException as error:
        os.write(2, f"toolcharter denies the call, because it failed: {error!r}\n".encode())
        os._exit(2)
