"""Runs each program in a container of its own and leaves nothing of it."""

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
from toolcharter_docker.container import Container, attend
from toolcharter_docker.daemon import DEFAULT_HOST, Daemon, Image, connect, image_of
from toolcharter_docker.neighbours import Neighbour, Neighbours
from toolcharter_docker.placeholders import Hold, Unprotectable, changed, hold
from toolcharter_docker.plan import Ground, check_ground, plan
from toolcharter_docker.policy import DockerPolicy
from toolcharter_docker.running import DockerRunning

_UNAVAILABLE = "sandbox_unavailable"


class Docker:
    """The extension of one toolbox."""

    def __init__(self, policy: DockerPolicy) -> None:
        self._policy = policy

    @hookimpl
    def open_runner(self, scope: RunnerScope) -> ProgramRunner:
        """A runner for *scope*; it connects with its first program."""
        return DockerRunner(self._policy, scope, os.environ.get("DOCKER_HOST") or DEFAULT_HOST)


class DockerRunner:
    """What `open_runner` returns; safe from many threads.

    Args:
        policy: What the profile says.
        scope: The workspace and what is protected in it.
        default_host: The daemon's address where the policy names none.
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
        self._neighbours = Neighbours()
        self._is_closed = False
        # Two toolboxes of one process do not remove each other's containers.
        self._owner = f"{leftovers.owner()}:{id(self):x}"

    def run(self, job: Job, /) -> Ended:
        """Run *job* to its end, or to the end of its time, in a container that is gone afterwards.

        Raises:
            Denied: `sandbox_unavailable`; `path_outside_workspace`, for a working folder that is no folder below the
                workspace.
            ToolError: `program_not_found`, `invalid_arguments`, `timed_out` if its time was up before its turn came,
                `tool_error`.
        """
        with self._turn(job.expires):
            container, _ = self._started(job, is_brief=True, is_open=bool(job.stdin), is_terminal=False)
            try:
                return attend(container, job)
            finally:
                self._release(container)

    def start(self, job: Job, terminal: TerminalSize | None = None, /) -> Running:
        """Start *job* in a container and return.

        Raises:
            Denied: As for `run`.
            ToolError: As for `run`.
        """
        container, neighbour = self._started(job, is_brief=False, is_open=True, is_terminal=terminal is not None)
        running = DockerRunning(
            container,
            self._release,
            lambda: self._neighbours.leave(neighbour),
            is_terminal=terminal is not None,
            drops_errors=job.drops_errors,
        )
        if terminal is not None:
            running.resize(terminal)
        return running

    def close(self) -> None:
        """Remove all containers of this runner, and release everything."""
        with self._lock:
            self._is_closed = True
            held = list(self._held)
        for container in held:
            self._release(container)
        if self._daemon is not None and self._watchdog is not None:
            self._watchdog.end(orderly=self._swept(self._daemon) and not self._held)
            self._daemon.client.close()

    def _swept(self, daemon: Daemon) -> bool:
        """Whether nothing is left. One whose making was answered too late for us is found by its label."""
        with suppress(OSError):
            leftovers.remove_containers(daemon.socket_path, f"{leftovers.LABEL}={self._owner}", lambda _: True)
            return True
        return False

    @contextmanager
    def _turn(self, expires: float) -> Generator[None]:
        left = expires - time.monotonic()
        if left <= 0 or not self._turns.acquire(timeout=min(left, threading.TIMEOUT_MAX)):
            raise ToolError("There was no time left to start a program.", reason="timed_out")
        try:
            yield
        finally:
            self._turns.release()

    def _started(
        self, job: Job, *, is_brief: bool, is_open: bool, is_terminal: bool
    ) -> tuple[Container, Neighbour | None]:
        daemon, watchdog = self._connected()
        self._check_folder(job.cwd)
        with ExitStack() as stack:
            hidden = (*self._scope.hidden(), *self._sockets())
            held = self._hold(job, hidden, watchdog, stack)
            neighbour = self._enter(job, held, stack, is_brief=is_brief)
            ground = Ground(self._policy, self._scope, self._image(daemon, job.image), self._owner)
            container = Container(daemon, plan(ground, job, held, hidden, is_open=is_open, is_terminal=is_terminal))
            with self._lock:
                self._held[container] = stack.pop_all()
        try:
            self._start(container, held)
            self._neighbours.mounted(neighbour)
        except BaseException:
            self._release(container)
            raise
        return container, neighbour

    def _image(self, daemon: Daemon, name: str) -> Image:
        """The image that a job is for.

        Raises:
            Denied: `sandbox_unavailable`: the policy does not name it, or the daemon does not have it.
        """
        if name in {"", self._policy.image}:
            return daemon.image
        if name not in self._policy.images:
            raise Denied(
                _UNAVAILABLE,
                f"The profile lets no tool run the image {name!r}.",
                hint=f"Add it to `images` of the extension 'docker': [{name!r}].",
            )
        return image_of(daemon.client, name)

    def _sockets(self) -> Iterator[HiddenPath]:
        """Sockets of this machine where programs could see them: a mount that is read-only keeps nobody from connecting."""
        for place in sockets_below((self._scope.workspace, *self._policy.read_roots)):
            path = Path(place)
            inside = path.is_relative_to(self._scope.workspace)
            yield HiddenPath(str(path.relative_to(self._scope.workspace)) if inside else place, is_folder=False)

    def _start(self, container: Container, held: list[Hold]) -> None:
        if self._is_closed:
            raise Denied(_UNAVAILABLE, "The runner is closed.")
        container.start()
        # The daemon followed the paths by itself. What another program swapped meanwhile would now be mounted.
        if path := changed(self._scope.workspace, held):
            raise Denied("protected_path", f"{path!r} was replaced while the container started.")

    def _hold(self, job: Job, hidden: Iterable[HiddenPath], watchdog: "_Watchdog", stack: ExitStack) -> list[Hold]:
        if job.read_only:
            return []
        try:
            protected = (*self._scope.protected, *job.protected)
            ways = (place.path for place in hidden if not place.path.startswith("/"))
            held = hold(self._scope.workspace, protected, stack, ways)
        except Unprotectable as error:
            raise Denied("protected_path", f"A protected path cannot be protected in a container: {error}.") from error
        watchdog.note(self._scope.workspace / part.path for part in held if not part.writable)
        return held

    def _enter(self, job: Job, held: list[Hold], stack: ExitStack, *, is_brief: bool) -> Neighbour | None:
        if job.read_only:
            return None  # it replaces nothing, and nothing is mounted for it that could be replaced
        entered = self._neighbours.enter(held, job.expires, job.is_wanted, is_brief=is_brief)
        if isinstance(entered, str):
            message = (
                f"{entered!r} could be replaced by a program that runs already and began before it had to be kept. "
            )
            raise Denied("protected_path", message + "Wait until that program has ended, or end it, and try again.")
        stack.callback(self._neighbours.leave, entered)
        return entered

    def _check_folder(self, cwd: str) -> None:
        workspace = self._scope.workspace
        folder = workspace / cwd
        if Path(os.path.realpath(folder)) != folder or not folder.is_relative_to(workspace) or not folder.is_dir():
            raise Denied("path_outside_workspace", f"{cwd!r} is no folder below the workspace to work in.")

    def _connected(self) -> tuple[Daemon, "_Watchdog"]:
        with self._lock:
            if self._is_closed:
                raise Denied(_UNAVAILABLE, "The runner is closed.")
            if self._daemon is None or self._watchdog is None:
                socket_path = self._host.removeprefix("unix://")
                check_ground(self._policy, self._scope, socket_path)
                self._daemon = connect(self._host, self._policy.image)
                with suppress(OSError):
                    leftovers.remove_containers(socket_path, leftovers.LABEL, leftovers.is_orphan)
                self._watchdog = _Watchdog(socket_path, self._owner)
            return self._daemon, self._watchdog

    def _release(self, container: Container) -> None:
        """Remove a container, and only then what protected paths lie on."""
        if container.remove():
            with self._lock:
                stack = self._held.pop(container, None)
            if stack is not None:
                stack.close()


class _Watchdog:
    """A process that outlives this one just to clean up behind it.

    Raises:
        Denied: `sandbox_unavailable`: it cannot be started, so that containers might outlive us.
    """

    def __init__(self, socket_path: str, owner: str) -> None:
        argv = [sys.executable, "-I", "-S", leftovers.__file__, socket_path, owner]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own file, by our own Python
                argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
                env={}, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Denied(_UNAVAILABLE, f"The watchdog of the containers cannot be started: {error}.") from error
        self._noted: set[Path] = set()
        self._lock = threading.Lock()

    @property
    def _pipe(self) -> IO[bytes]:
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        return self._process.stdin

    def note(self, paths: Iterator[Path]) -> None:
        """Tell it what may be a placeholder; what is none it leaves alone."""
        with self._lock, suppress(OSError):
            for path in paths:
                if path not in self._noted and "\n" not in str(path):
                    self._noted.add(path)
                    self._pipe.write(os.fsencode(path) + b"\n")
            self._pipe.flush()

    def end(self, *, orderly: bool) -> None:
        """Let it go; unless all went well it tries for a while to clean up."""
        with self._lock, suppress(OSError, ValueError):  # the latter if it was let go already
            if orderly:
                self._pipe.write(b".\n")
            self._pipe.close()
        if orderly:
            self._process.wait()
