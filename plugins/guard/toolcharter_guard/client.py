"""The program that an agent starts for each hook: it asks the resident gate, or starts a gate of its own for the call.

It is started as `python -I -S client.py toolcharter guard hook AGENT ...` and imports almost nothing, since agents wait
for it. If the user's server gives no answer - there is none, it has other settings, it is late or breaks off - the
program starts `toolcharter guard hook`, which judges the call itself and starts a server for the next call.
Source: unix(7).

Each call is denied if a variable makes the dynamic loader take libraries from a folder in which the agent can write:
such a library could be in this process and in the gate. The check finds mistakes; it does not stop an attack, because
such a library runs first.

The exit status is 0 with an answer, or 2. With any other status, and if the hook is late, agents let the call pass.
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
"""Variables that a server's decision may depend on, together with those that begin with one of `SERVED_PREFIXES`."""
SERVED_PREFIXES = (
    *("TOOLCHARTER_", "XDG_", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR", "COPILOT_PROJECT_DIR"),
    *("CLAUDE_CONFIG_DIR", "COPILOT_HOME"),
)
LOADER_VARIABLES = {"LD_PRELOAD": " :", "LD_AUDIT": ":", "LD_LIBRARY_PATH": ":;"}
"""Variables that name libraries or their folders, with the separators of their entries. An empty entry is the current
folder. Source: ld.so(8)."""
UNWANTED_VARIABLES = (
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "NODE_OPTIONS",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
)
"""Other variables that make a program run code, which a project's `.env` could set. The gate does not get them, nor
those that begin with `PYTHON`."""
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - nothing is put there
MAX_SOCKET_PATH = 107
"""The longest path of a socket, in bytes, without the NUL at its end."""
TIMEOUT_S = 10.0
DEADLINE_S = 45.0
"""After this time a call without a decision is denied. Agents give a hook 60 seconds, and then let the call pass."""
PYTHON_OPTIONS = ("-E", "-P")
"""Python's options for the gate: it imports nothing from `PYTHONPATH` or the current folder, where agents write."""
ANSWER = b"\0toolcharter\0"
"""The end of each answer, by which a truncated answer is recognised."""
MAX_MESSAGE = 64 * 1024 * 1024


def socket_folder(environ: "Mapping[str, str]") -> str:
    """Return the folder of the sockets: in the user's runtime folder, else in the state folder.

    If that path is too long for a socket, the folder is below `/tmp`.
    """
    runtime = environ.get("XDG_RUNTIME_DIR")
    state = environ.get("XDG_STATE_HOME")
    if not state or not os.path.isabs(state):  # a relative path would lead into the agent's folder
        state = f"{environ.get('HOME') or os.path.expanduser('~')}/.local/state"
    folder = f"{runtime}/toolcharter" if runtime and os.path.isabs(runtime) else f"{state}/toolcharter/run"
    size = len(os.fsencode(folder)) + len("/guard-01234567-0123456.sock")
    return folder if size <= MAX_SOCKET_PATH else f"/tmp/toolcharter-{os.geteuid()}"  # noqa: S108 - `is_private` looks


def find_loader_variable(environ: "Mapping[str, str]", *folders: str) -> "str | None":
    """Return a variable that makes programs load libraries from *folders* or a shared folder; None if none does."""
    unsafe = tuple(f"{folder.rstrip('/')}/" for folder in (*folders, *SHARED_FOLDERS))
    for name, separators in LOADER_VARIABLES.items():
        entries = environ.get(name, "")
        for separator in separators:
            entries = entries.replace(separator, "\n")
        for entry in entries.split("\n") if entries else ():
            if entry.startswith(("$ORIGIN", "${ORIGIN}")):  # the folder of Python's executable
                continue
            # The loader searches for a plain name in the folders of LD_LIBRARY_PATH and of the system.
            is_name = name != "LD_LIBRARY_PATH" and "/" not in entry
            if not is_name and (entry[:1] != "/" or f"{os.path.realpath(entry)}/".startswith(unsafe)):
                return name
    return None


def clean_environment(environ: "Mapping[str, str]") -> "dict[str, str]":
    """Return the gate's environment: *environ* without `UNWANTED_VARIABLES` and those that begin with `PYTHON`."""
    return {
        name: value
        for name, value in environ.items()
        if name not in UNWANTED_VARIABLES and not name.startswith("PYTHON")
    }


def identity(words: "list[str]", environ: "Mapping[str, str]") -> bytes:
    """Return everything that a decision depends on, except the message: Python, options, folder, parts of *environ*."""
    parts = [sys.executable, os.getcwd(), *words]
    for name in sorted(environ):
        if name in SERVED_VARIABLES or name.startswith(SERVED_PREFIXES):
            parts += (name, environ[name])
    return "\0".join(parts).encode("utf-8", "surrogateescape")


def socket_path(folder: str, wanted: bytes) -> str:
    """Return the socket of the server for the identity *wanted*.

    Two identities may share a name, so the server compares the whole identity.
    """
    return f"{folder}/guard-{binascii.crc32(wanted):08x}-{len(wanted)}.sock"


def is_private(folder: str) -> bool:
    """Return whether *folder* belongs to this user and has no permissions for other users."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    is_closed_folder = found.st_mode & 0o170077 == 0o040000  # noqa: PLR2004 - a folder without rights for others
    return is_closed_folder and found.st_uid == os.geteuid()


def peer_is_user(peer: "_socket.socket") -> bool:
    """Return whether the process at the other end of the socket runs as this user."""
    credentials = peer.getsockopt(_socket.SOL_SOCKET, 17, 12)  # SO_PEERCRED: pid, uid, gid
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.geteuid()


def receive(peer: "_socket.socket", limit: int) -> bytes:
    """Read until the peer ends its message, at most little more than *limit* bytes.

    Raises:
        TimeoutError: The whole message takes longer than `TIMEOUT_S`.
    """
    parts, size, until = [], 0, time.monotonic() + TIMEOUT_S
    while size <= limit and (part := peer.recv(1 << 16)):
        parts.append(part)
        size += len(part)
        peer.settimeout(max(0.001, until - time.monotonic()))
    return b"".join(parts)


def _ask_server(path: str, wanted: bytes, message: bytes) -> "tuple[int, bytes] | None":
    """The server's exit status and output for *message*; None if there is no complete answer of this user's server."""
    with_server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    with_server.settimeout(TIMEOUT_S)
    try:
        with_server.connect(path)
        if not peer_is_user(with_server):
            return None
        with_server.sendall(len(wanted).to_bytes(4, "big") + wanted + message)
        with_server.shutdown(_socket.SHUT_WR)
        answer = receive(with_server, MAX_MESSAGE)
    except OSError:
        return None
    finally:
        with_server.close()
    if not answer.endswith(ANSWER) or answer[:1] not in (b"0", b"2"):
        return None
    return int(answer[:1]), answer[1 : -len(ANSWER)]


def main(words: "list[str]") -> None:
    """Answer one hook; *words* are `toolcharter guard hook AGENT ...`."""
    until = time.monotonic() + DEADLINE_S
    if (name := find_loader_variable(os.environ, os.getcwd(), *_option_values(words, "--workspace"))) is not None:
        text = (
            f"toolcharter denies the call, because {name} makes programs load libraries from a folder in which an agent"
            " may write: "
        )
        _write_and_exit(
            2, f"{text}unset it, or remove such entries and empty entries, before you start the agent.\n".encode()
        )
    message = None
    folder = socket_folder(os.environ)
    if sys.platform == "linux" and is_private(folder):
        wanted = identity(words, os.environ)
        path = socket_path(folder, wanted)
        if os.path.exists(path):
            message = sys.stdin.buffer.read()
            answer = _ask_server(path, wanted, message)
            if answer is not None:
                _write_and_exit(*answer)
    if message is not None:  # standard input has been read: pass the message on
        standard_input = os.memfd_create("hook")
        view = memoryview(message)
        while view:
            view = view[os.write(standard_input, view) :]
        os.lseek(standard_input, 0, os.SEEK_SET)
        os.dup2(standard_input, 0)
    _write_and_exit(*_run_gate(words, until))


def _option_values(words: "list[str]", option: str) -> "list[str]":
    """The values of *option* in *words*."""
    return [words[at] for at in range(1, len(words)) if words[at - 1] == option]


def _run_gate(words: "list[str]", until: float) -> "tuple[int, bytes]":
    """The exit status and output of a new gate; those that block the call if the gate fails or is late."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        os.execve(sys.executable, [sys.executable, *PYTHON_OPTIONS, "-m", *words], clean_environment(os.environ))
    os.close(writing)
    output, ended, status = b"", 0, 0
    while not ended and (left := until - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 1 << 16)
            output += part
            if not part:  # the gate has closed its output and is about to end
                ended, status = os.waitpid(child, os.WNOHANG)
                time.sleep(0 if ended else 0.001)
    if not ended:
        os.kill(child, 9)
        return 2, b"toolcharter denies the call, because it could not be judged in time.\n"
    code = os.waitstatus_to_exitcode(status)
    if code == 0 and output.startswith(b"{") and output.endswith(b"}\n"):
        return 0, output
    return 2, b"" if code == 2 else b"toolcharter denies the call, because its gate has failed.\n"  # noqa: PLR2004 - it said why


def _write_and_exit(status: int, output: bytes) -> "NoReturn":
    view = memoryview(output)
    while view:
        view = view[os.write(1 if status == 0 else 2, view) :]
    os._exit(status)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BaseException as error:
        os.write(2, f"toolcharter denies the call, because it failed: {error!r}\n".encode())
        os._exit(2)
