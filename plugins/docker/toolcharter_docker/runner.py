"""`DockerRunner`: run each program in a new container, and remove it afterwards."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from toolcharter import (
    Denied,
    Ended,
    HiddenPath,
    Job,
    ProgramRunner,
    RunnerScope,
    Running,
    TerminalSize,
    ToolError,
    hookimpl,
    sockets_below,
)
from toolcharter_docker import leftovers
from toolcharter_docker.container import Container, serve_container
from toolcharter_docker.daemon import DEFAULT_HOST, Daemon, Image, connect, find_image
from toolcharter_docker.placeholders import HeldPath, Unprotectable, first_replaced, hold_paths
from toolcharter_docker.plan import RunnerFacts, check_workspace, plan_container
from toolcharter_docker.policy import DockerPolicy
from toolcharter_docker.running import DockerRunning
from toolcharter_docker.workspace_writers import WorkspaceWriter, WorkspaceWriters

_UNAVAILABLE = "sandbox_unavailable"


class Docker:
    """The extension of one toolbox."""

    def __init__(self, policy: DockerPolicy) -> None:
        self._policy = policy

    @hookimpl
    def open_runner(self, scope: RunnerScope) -> ProgramRunner:
        """Open a runner for *scope*. It connects to the daemon with its first program."""
        return DockerRunner(self._policy, scope, os.environ.get("DOCKER_HOST") or DEFAULT_HOST)


class DockerRunner:
    """A `ProgramRunner` with a container for each program. Thread-safe.

    Args:
        policy: The profile's policy.
        scope: The workspace and its protected paths.
        default_host: The daemon's address if the policy names none.
    """

    name = "docker"
    is_sandbox = True
    takes_images = True

    def __init__(self, policy: DockerPolicy, scope: RunnerScope, default_host: str = DEFAULT_HOST) -> None:
        self._policy = policy
        self._scope = scope
        self._host = policy.host or default_host
        self._turns = threading.BoundedSemaphore(policy.containers)
        self._lock = threading.Lock()
        self._daemon: Daemon | None = None
        self._watchdog: _Watchdog | None = None
        self._held: dict[Container, ExitStack] = {}
        self._writers = WorkspaceWriters()
        self._is_closed = False
        # With the object's id, so that two toolboxes of one process do not remove each other's containers.
        self._owner = f"{leftovers.process_name()}:{id(self):x}"

    def run(self, job: Job, /) -> Ended:
        """Run *job* in a new container until it ends or its time is up; then remove the container.

        Raises:
            Denied: `sandbox_unavailable`; `protected_path`; `path_outside_workspace`, if the job's folder is not a
                folder below the workspace.
            ToolError: `program_not_found`, `invalid_arguments`, `tool_error`; `timed_out`, if the job's time is up
                before its turn comes.
        """
        with self._wait_turn(job.expires):
            container, _ = self._start_container(job, is_brief=True, is_open=bool(job.stdin), is_terminal=False)
            try:
                return serve_container(container, job)
            finally:
                self._release(container)

    def start(self, job: Job, terminal: TerminalSize | None = None, /) -> Running:
        """Start *job* in a container and return.

        Raises:
            Denied: As for `run`.
            ToolError: As for `run`.
        """
        container, writer = self._start_container(job, is_brief=False, is_open=True, is_terminal=terminal is not None)
        running = DockerRunning(
            container,
            self._release,
            lambda: self._writers.leave(writer),
            is_terminal=terminal is not None,
            drops_errors=job.drops_errors,
        )
        if terminal is not None:
            running.resize(terminal)
        return running

    def close(self) -> None:
        """Remove all containers of this runner, and release its resources."""
        with self._lock:
            self._is_closed = True
            held = list(self._held)
        for container in held:
            self._release(container)
        if self._daemon is not None and self._watchdog is not None:
            self._watchdog.end(orderly=self._sweep(self._daemon) and not self._held)
            self._daemon.client.close()

    def _sweep(self, daemon: Daemon) -> bool:
        """Remove remaining containers by their label, also those whose creation was answered too late.

        Returns false if the daemon fails.
        """
        with suppress(OSError):
            leftovers.remove_containers(daemon.socket_path, f"{leftovers.LABEL}={self._owner}", lambda _: True)
            return True
        return False

    @contextmanager
    def _wait_turn(self, expires: float) -> Generator[None]:
        left = expires - time.monotonic()
        if left <= 0 or not self._turns.acquire(timeout=min(left, threading.TIMEOUT_MAX)):
            raise ToolError("There was no time left to start a program.", reason="timed_out")
        try:
            yield
        finally:
            self._turns.release()

    def _start_container(
        self, job: Job, *, is_brief: bool, is_open: bool, is_terminal: bool
    ) -> tuple[Container, WorkspaceWriter | None]:
        daemon, watchdog = self._connect()
        self._check_folder(job.cwd)
        with ExitStack() as stack:
            hidden = (*self._scope.hidden(), *self._hidden_sockets())
            held = self._hold_paths(job, hidden, watchdog, stack)
            writer = self._register_writer(job, held, stack, is_brief=is_brief)
            facts = RunnerFacts(self._policy, self._scope, self._image_of(daemon, job.image), self._owner)
            container = Container(
                daemon, plan_container(facts, job, held, hidden, is_open=is_open, is_terminal=is_terminal)
            )
            with self._lock:
                self._held[container] = stack.pop_all()
        try:
            self._start_checked(container, held)
            self._writers.mark_mounted(writer)
        except BaseException:
            self._release(container)
            raise
        return container, writer

    def _image_of(self, daemon: Daemon, name: str) -> Image:
        """The image of a job.

        Raises:
            Denied: `sandbox_unavailable`: the policy does not list the image, or the daemon does not have it.
        """
        if name in {"", self._policy.image}:
            return daemon.image
        if name not in self._policy.images:
            raise Denied(
                _UNAVAILABLE,
                f"The profile does not allow the image {name!r}.",
                hint=f"Add it to `images` of the extension 'docker': [{name!r}].",
            )
        return find_image(daemon.client, name)

    def _hidden_sockets(self) -> Iterator[HiddenPath]:
        """This machine's sockets in folders that programs see: a read-only mount does not prevent a connection."""
        for place in sockets_below((self._scope.workspace, *self._policy.read_roots)):
            path = Path(place)
            inside = path.is_relative_to(self._scope.workspace)
            yield HiddenPath(str(path.relative_to(self._scope.workspace)) if inside else place, is_folder=False)

    def _start_checked(self, container: Container, held: list[HeldPath]) -> None:
        if self._is_closed:
            raise Denied(_UNAVAILABLE, "The runner is closed.")
        container.start()
        # The daemon has resolved the paths itself. If another program has swapped a folder, the wrong one is mounted
        # now.
        if path := first_replaced(self._scope.workspace, held):
            raise Denied("protected_path", f"{path!r} was replaced while the container started.")

    def _hold_paths(
        self, job: Job, hidden: Iterable[HiddenPath], watchdog: "_Watchdog", stack: ExitStack
    ) -> list[HeldPath]:
        if job.read_only:
            return []
        try:
            protected = (*self._scope.protected, *job.protected)
            ways = (place.path for place in hidden if not place.path.startswith("/"))
            held = hold_paths(self._scope.workspace, protected, stack, ways)
        except Unprotectable as error:
            raise Denied("protected_path", f"A protected path cannot be protected in a container: {error}.") from error
        watchdog.note(self._scope.workspace / part.path for part in held if not part.writable)
        return held

    def _register_writer(
        self, job: Job, held: list[HeldPath], stack: ExitStack, *, is_brief: bool
    ) -> WorkspaceWriter | None:
        if job.read_only:
            return None  # it cannot replace anything, and has no mounts that another program could replace
        entered = self._writers.enter(held, job.expires, job.is_wanted, is_brief=is_brief)
        if isinstance(entered, str):
            message = (
                f"{entered!r} could be replaced by a program that was started before this path had to be protected. "
            )
            raise Denied("protected_path", message + "Wait until that program has ended, or end it, and try again.")
        stack.callback(self._writers.leave, entered)
        return entered

    def _check_folder(self, cwd: str) -> None:
        workspace = self._scope.workspace
        folder = workspace / cwd
        if Path(os.path.realpath(folder)) != folder or not folder.is_relative_to(workspace) or not folder.is_dir():
            raise Denied("path_outside_workspace", f"{cwd!r} is not a folder below the workspace.")

    def _connect(self) -> tuple[Daemon, "_Watchdog"]:
        with self._lock:
            if self._is_closed:
                raise Denied(_UNAVAILABLE, "The runner is closed.")
            if self._daemon is None or self._watchdog is None:
                socket_path = self._host.removeprefix("unix://")
                check_workspace(self._policy, self._scope, socket_path)
                self._daemon = connect(self._host, self._policy.image)
                with suppress(OSError):
                    leftovers.remove_containers(socket_path, leftovers.LABEL, leftovers.is_orphan)
                self._watchdog = _Watchdog(socket_path, self._owner)
            return self._daemon, self._watchdog

    def _release(self, container: Container) -> None:
        """Remove a container, and only then release its placeholders."""
        if container.remove():
            with self._lock:
                stack = self._held.pop(container, None)
            if stack is not None:
                stack.close()


class _Watchdog:
    """A process that outlives this one to clean up after it.

    Raises:
        Denied: `sandbox_unavailable`: the watchdog cannot be started. Without it, containers could outlive this
            process.
    """

    def __init__(self, socket_path: str, owner: str) -> None:
        argv = [sys.executable, "-I", "-S", leftovers.__file__, socket_path, owner]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this plugin's own file, run by this Python
                argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
                env={}, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Denied(_UNAVAILABLE, f"The watchdog of the containers cannot be started: {error}.") from error
        self._noted: set[Path] = set()
        self._lock = threading.Lock()

    @property
    def _pipe(self) -> IO[bytes]:
        assert self._process.stdin is not None  # noqa: S101 - `PIPE` above
        return self._process.stdin

    def note(self, paths: Iterator[Path]) -> None:
        """Send the watchdog paths that may be placeholders; it leaves other files alone."""
        with self._lock, suppress(OSError):
            for path in paths:
                if path not in self._noted and "\n" not in str(path):
                    self._noted.add(path)
                    self._pipe.write(os.fsencode(path) + b"\n")
            self._pipe.flush()

    def end(self, *, orderly: bool) -> None:
        """Close the pipe; unless the end is *orderly*, the watchdog then tries for some time to clean up."""
        with self._lock, suppress(OSError, ValueError):  # ValueError if the pipe is closed already
            if orderly:
                self._pipe.write(b".\n")
            self._pipe.close()
        if orderly:
            self._process.wait()
