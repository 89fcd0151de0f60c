"""The resident gate: a process that keeps a profile's toolbox and answers the hooks of one user, for one project.

It serves one identity (`client.identity`): the same Python, options, folder and environment. A hook of another one is
turned away, and judges by itself. It ends when nobody has asked for a while, and as soon as a file changes that a new
start would read: then the next hook judges by itself and starts another.
"""

import fcntl
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from toolcharter.hosts import Host, open_host
from toolcharter_guard.agents import Agent, Unreadable
from toolcharter_guard.client import ANSWER, MAX_MESSAGE, folder_of, identity, is_private, peer_is_user, socket_of
from toolcharter_guard.judge import judge, refusal
from toolcharter_guard.settings import believed

IDLE_S = 900.0
"""After how many seconds without a question a server ends."""
MAX_AGE_S = 6 * 3600.0
"""After how many seconds a server ends in any case."""
MODULES_EVERY_S = 2.0
"""How often the files of loaded modules are looked at; all else is looked at for each question."""
BACKLOG = 256
TIMEOUT_S = 30.0
"""How long a hook may take to say its message, and to take its answer."""
BLOCK = 2

Sign = tuple[int, int, int] | None


class Resident:
    """Answers hooks of one identity with one toolbox.

    Args:
        agent: Whose hooks.
        profile: A profile's name or path.
        root: The workspace.
        events: Where events go.
        wanted: The identity that it serves.
    """

    def __init__(self, agent: Agent, profile: str, root: Path, events: str, wanted: bytes) -> None:
        self._agent = agent
        self._root = root
        self._wanted = wanted
        # Before the toolbox is built: what changes meanwhile may have been read or not, and so counts as changed.
        self._read = {file: _sign(file) for file in _could_be_read(root, os.environ)}
        began = time.time_ns()
        self._host = open_host(profile, workspace=root, events=events, believed=believed(root))
        signs = {str(file): _sign(str(file)) for file in self._host.files}
        self._read |= {file: sign if sign and sign[1] < began else None for file, sign in signs.items()}
        self._modules = {file: _sign(file) for file in _loaded()}
        self._looked_at = time.monotonic()
        self._asked_at = time.monotonic()
        self._busy = 0
        self._lock = threading.Lock()
        self._ends = threading.Event()

    @property
    def host(self) -> Host:
        """The toolbox's host."""
        return self._host

    def serve(self, path: str, *, idle_s: float = IDLE_S) -> None:
        """Answer at the socket *path* until there is a reason to end."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            with suppress(FileNotFoundError):
                os.unlink(path)
            before = os.umask(0o177)
            try:
                listener.bind(path)
            finally:
                os.umask(before)
            listener.listen(BACKLOG)
            listener.settimeout(min(1.0, idle_s / 4))
            born, own = time.monotonic(), os.lstat(path).st_ino
            while not self._ends.is_set():
                with suppress(TimeoutError):
                    peer, _ = listener.accept()
                    with self._lock:
                        self._busy += 1
                    threading.Thread(target=self._answer, args=(peer,), daemon=True).start()
                idle = time.monotonic() - self._asked_at
                if (not self._busy and idle > idle_s) or time.monotonic() - born > MAX_AGE_S:
                    break
            # No new hook finds it; those that have connected are answered.
            with suppress(OSError):
                if os.lstat(path).st_ino == own:
                    os.unlink(path)
            listener.settimeout(0.05)
            with suppress(TimeoutError):
                while True:
                    peer, _ = listener.accept()
                    peer.close()  # its hook judges by itself
        deadline = time.monotonic() + TIMEOUT_S
        while self._busy and time.monotonic() < deadline:
            time.sleep(0.01)
        self._host.close()

    def _answer(self, peer: socket.socket) -> None:
        try:
            with peer:
                peer.settimeout(TIMEOUT_S)
                if not peer_is_user(peer):
                    return
                said = self._said(_received(peer))
                if said is not None:
                    peer.sendall(said + ANSWER)
        except OSError:
            pass  # the hook has gone, or is late; it denies, or judges by itself
        finally:
            with self._lock:
                self._busy -= 1
                self._asked_at = time.monotonic()

    def _said(self, question: bytes) -> bytes | None:
        """The exit status and the output of the hook; None for a question that is not for this server."""
        size = int.from_bytes(question[:4], "big")
        wanted, message = question[4 : 4 + size], question[4 + size :]
        if wanted != self._wanted or self.has_changed():
            return None
        try:
            return b"0" + json.dumps(judge(self._agent, self._host, self._root, message)).encode() + b"\n"
        except Unreadable as error:
            return f"2{refusal(error)}\n".encode()
        except Exception as error:  # noqa: BLE001 - any fault of ours denies
            return f"2toolcharter denies the call, because it failed: {type(error).__name__}: {error}\n".encode()

    def has_changed(self) -> bool:
        """Whether a new start would read something else; the server then ends."""
        now = time.monotonic()
        changed = any(_sign(file) != sign for file, sign in self._read.items())
        if not changed and now - self._looked_at > MODULES_EVERY_S:
            self._looked_at = now
            changed = any(_sign(file) != sign for file, sign in self._modules.items())
        if changed:
            self._ends.set()
        return changed


def serve(agent: Agent, words: Sequence[str], profile: str, root: Path, events: str, *, idle_s: float = IDLE_S) -> bool:
    """Serve the hooks that are started with *words*, until nobody asks; whether this process was the one to do so.

    Raises:
        ConfigurationError: The profile or the installation has faults.
        OSError: The folder of the sockets cannot be made, or is open to others.
    """
    folder = folder_of(os.environ)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if not is_private(folder):
        raise PermissionError(f"{folder} is a link, or open to other users; remove it, or close it with `chmod 700`.")
    if Path(os.path.realpath(folder)).is_relative_to(root) and "XDG_RUNTIME_DIR" in os.environ:
        raise PermissionError(f"{folder} lies in the workspace, where the agent could replace the socket.")
    wanted = identity(list(words), os.environ)
    path = socket_of(folder, wanted)
    with open(f"{path}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        Resident(agent, profile, root, events, wanted).serve(path, idle_s=idle_s)
    return True


def start(words: Sequence[str]) -> None:
    """Start a server for the hooks of *words*, unless there is one, and leave it alone; nothing is waited for."""
    folder = folder_of(os.environ)
    if sys.platform != "linux" or os.path.exists(socket_of(folder, identity(list(words), os.environ))):
        return
    with suppress(OSError):
        subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-P", "-m", "toolcharter", "guard", "serve", "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _received(peer: socket.socket) -> bytes:
    parts, size = list[bytes](), 0
    while size <= MAX_MESSAGE and (part := peer.recv(1 << 16)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _sign(file: str) -> Sign:
    """What changes when the file at this path is another; None if there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    size = 0 if stat.S_ISDIR(found.st_mode) else found.st_size
    return found.st_ino, found.st_mtime_ns, size


def _could_be_read(root: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Files and folders that a new start would look at, whether they are there or not."""
    yield str(root / ".toolcharter" / "policy.yaml")
    if administrator := environ.get("TOOLCHARTER_ADMIN_POLICY"):
        yield administrator
    for folder in (Path.cwd(), *Path.cwd().parents):
        yield str(folder / "profiles")
    yield from (entry for entry in sys.path if os.path.isdir(entry))


def _loaded() -> Iterator[str]:
    """The files of all modules of ours and of plugins that this process has loaded."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name.partition(".")[0].startswith("toolcharter"):
            yield file
