"""The resident gate: a process that keeps a profile's toolbox and answers the hooks of one user, for one project.

It serves one identity (`client.identity`): the same Python, options, folder and environment. A hook with another
identity gets no answer, and judges its call itself. The gate ends after some time without a hook, and as soon as a file
changes that a new gate would read. The next hook then judges its call itself and starts a new gate. A permitted call
stays open until the agent reports its end by a second hook. Its closing event therefore has the output and the time of
the agent's work.
"""

import asyncio
import fcntl
import gc
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from toolcharter.hosts import open_host
from toolcharter_guard.agents import Agent, UnreadableMessage
from toolcharter_guard.client import (
    ANSWER,
    MAX_MESSAGE,
    PYTHON_OPTIONS,
    clean_environment,
    identity,
    is_private,
    peer_is_user,
    socket_folder,
    socket_path,
)
from toolcharter_guard.judge import Judge, refusal_text
from toolcharter_guard.settings import guard_files

IDLE_S = 900.0
"""A server ends after this many seconds without a hook."""
OPEN_CALL_IDLE_S = 3600.0
"""The same limit while a call is open whose end the agent has not reported."""
MAX_AGE_S = 6 * 3600.0
"""A server ends after this many seconds in any case."""
MODULE_CHECK_INTERVAL_S = 2.0
"""The seconds between two checks of the files of loaded modules. All other files are checked for each hook."""
BACKLOG = 256
TIMEOUT_S = 30.0
"""How long a hook may take to send its message and to read its answer, in seconds."""
BLOCK_STATUS = 2

Fingerprint = tuple[int, int, int] | None


class HookServer:
    """Answers hooks of one identity with one toolbox.

    Args:
        agent: The agent that runs the hooks.
        profile: A profile's name or path.
        root: The workspace.
        events: The URL of the event sink.
        wanted: The identity that the server answers.
    """

    def __init__(self, agent: Agent, profile: str, root: Path, events: str, wanted: bytes) -> None:
        self._identity = wanted
        # Taken before the toolbox is built: a file that changes during the build counts as changed, read or not.
        self._fingerprints = {file: _file_fingerprint(file) for file in _watched_paths(root, os.environ)}
        began = time.time_ns()
        self._host = open_host(profile, workspace=root, events=events, believed=guard_files(root))
        fingerprints = {str(file): _file_fingerprint(str(file)) for file in self._host.files}
        self._fingerprints |= {
            file: fingerprint if fingerprint and fingerprint[1] < began else None
            for file, fingerprint in fingerprints.items()
        }
        self._module_fingerprints = {file: _file_fingerprint(file) for file in _loaded_files()}
        self._modules_checked_at = time.monotonic()
        self._last_hook_at = time.monotonic()
        self._judge = Judge(agent, self._host, root, keeps_open=True)
        self._hooks = set[_Hook]()
        self._no_hooks, self._stop = asyncio.Event(), asyncio.Event()
        self._no_hooks.set()

    async def serve(self, path: str, *, idle_s: float = IDLE_S) -> None:
        """Answer hooks at the socket *path* until there is a reason to end."""
        loop = asyncio.get_running_loop()
        with suppress(FileNotFoundError):
            os.unlink(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        born, own = time.monotonic(), os.lstat(path).st_ino
        server = await loop.create_unix_server(lambda: _Hook(self), sock=listener, backlog=BACKLOG)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop.set)
        gc.collect()
        gc.freeze()  # the toolbox stays until the end; searching it for garbage would only delay answers
        while not self._stop.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(min(1.0, idle_s / 4)):
                    await self._stop.wait()
            now = time.monotonic()
            patience = max(idle_s, OPEN_CALL_IDLE_S) if self._judge.is_waiting else idle_s
            if (not self._hooks and now - self._last_hook_at > patience) or now - born > MAX_AGE_S:
                break
        # New hooks no longer find the socket; connected hooks still get an answer, or judge their calls themselves.
        with suppress(OSError):
            if os.lstat(path).st_ino == own:
                os.unlink(path)
        server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(TIMEOUT_S):
                await self._no_hooks.wait()
        await self._judge.end()
        self._host.close()

    async def answer(self, question: bytes) -> bytes | None:
        """Return the hook's exit status and output; None if the identity is another or a file has changed."""
        size = int.from_bytes(question[:4], "big")
        wanted, message = question[4 : 4 + size], question[4 + size :]
        if wanted != self._identity or self.has_changed():
            return None
        self._last_hook_at = time.monotonic()
        try:
            return b"0" + json.dumps(await self._judge.answer(message)).encode() + b"\n"
        except UnreadableMessage as error:
            return f"2{refusal_text(error)}\n".encode()
        except Exception as error:  # noqa: BLE001 - any error of the guard denies
            return f"2toolcharter denies the call, because it failed: {type(error).__name__}: {error}\n".encode()

    def add_hook(self, hook: "_Hook") -> None:
        """Register a connected hook: the server waits for its answer before it ends."""
        self._hooks.add(hook)
        self._no_hooks.clear()

    def remove_hook(self, hook: "_Hook") -> None:
        """Remove a hook that has got its answer or has disconnected."""
        self._hooks.discard(hook)
        if not self._hooks:
            self._no_hooks.set()

    def has_changed(self) -> bool:
        """Return whether a file that a new gate would read has changed; the server then ends."""
        now = time.monotonic()
        changed = any(_file_fingerprint(file) != fingerprint for file, fingerprint in self._fingerprints.items())
        if not changed and now - self._modules_checked_at > MODULE_CHECK_INTERVAL_S:
            self._modules_checked_at = now
            changed = any(
                _file_fingerprint(file) != fingerprint for file, fingerprint in self._module_fingerprints.items()
            )
        if changed:
            self._stop.set()
        return changed


class _Hook(asyncio.Protocol):
    """One connection: it reads the whole question, then writes the answer."""

    def __init__(self, server: HookServer) -> None:
        self._server = server
        self._parts = list[bytes]()
        self._size = 0
        self._transport: asyncio.Transport
        self._timeout: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if not peer_is_user(transport.get_extra_info("socket")):
            self._transport.abort()
            return
        self._server.add_hook(self)
        self._timeout = asyncio.get_running_loop().call_later(TIMEOUT_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size > MAX_MESSAGE:
            self._transport.abort()

    def eof_received(self) -> bool:
        self._task = asyncio.get_running_loop().create_task(self._answer())
        return True  # keep the transport open for the answer

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the base's name
        if self._timeout is not None:
            self._timeout.cancel()
        self._server.remove_hook(self)

    async def _answer(self) -> None:
        answer = await self._server.answer(b"".join(self._parts))
        if answer is not None:
            self._transport.write(answer + ANSWER)
        self._transport.close()


def serve(agent: Agent, words: Sequence[str], profile: str, root: Path, events: str, *, idle_s: float = IDLE_S) -> bool:
    """Serve the hooks that are started with *words* until none has asked for *idle_s* seconds.

    Returns:
        False if another process serves them already.

    Raises:
        ConfigurationError: The profile or the installation has faults.
        OSError: The folder of the sockets cannot be made, is open to other users, or lies in the workspace.
    """
    folder = socket_folder(os.environ)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if not is_private(folder):
        raise PermissionError(f"{folder} is a link, or open to other users; remove it, or close it with `chmod 700`.")
    is_of_state = folder.endswith("/toolcharter/run")  # the state folder, which no tool can change wherever it lies
    if Path(os.path.realpath(folder)).is_relative_to(root) and not is_of_state:
        raise PermissionError(f"{folder} lies in the workspace, where the agent could replace the socket.")
    wanted = identity(list(words), os.environ)
    path = socket_path(folder, wanted)
    with open(f"{path}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        server = HookServer(agent, profile, root, events, wanted)
        asyncio.run(server.serve(path, idle_s=idle_s))
    return True


def start_server(words: Sequence[str]) -> None:
    """Start a detached server for the hooks of *words*, unless there is one. Does not wait for it."""
    folder = socket_folder(os.environ)
    if sys.platform != "linux" or os.path.exists(socket_path(folder, identity(list(words), os.environ))):
        return
    with suppress(OSError):
        subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, *PYTHON_OPTIONS, "-m", "toolcharter", "guard", "serve", "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=clean_environment(os.environ),
        )


def _file_fingerprint(file: str) -> Fingerprint:
    """A fingerprint of the file at this path: inode, time of change and size; None if there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    size = 0 if stat.S_ISDIR(found.st_mode) else found.st_size
    return found.st_ino, found.st_mtime_ns, size


def _watched_paths(root: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the files and folders that a new gate would look at, existing or not."""
    yield str(root / ".toolcharter" / "policy.yaml")
    if administrator := environ.get("TOOLCHARTER_ADMIN_POLICY"):
        yield administrator
    for folder in (Path.cwd(), *Path.cwd().parents):
        yield str(folder / "profiles")
    yield from (entry for entry in sys.path if os.path.isdir(entry))


def _loaded_files() -> Iterator[str]:
    """Yield the files of all loaded modules of toolcharter and its plugins."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name.partition(".")[0].startswith("toolcharter"):
            yield file
