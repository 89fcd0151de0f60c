"""Runners, which run programs: the contract between the gate and a runner such as `host`, `bwrap` or `docker`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from toolcharter.api.job import Job
    from toolcharter.errors import ToolError


class TerminalSize(NamedTuple):
    """The size of a terminal, in characters."""

    rows: int = 24
    columns: int = 80


class HiddenPath(NamedTuple):
    """A file or folder that no program may see."""

    path: str
    """Relative to the workspace."""
    is_folder: bool


def _no_hidden_paths() -> tuple[HiddenPath, ...]:
    return ()


class RunnerScope(NamedTuple):
    """The workspace that a runner is opened for. The harness chooses it, never the model."""

    workspace: Path
    """Real path of the one folder that programs may write to."""
    protected: tuple[str, ...] = ()
    """Paths, relative to the workspace, that no program may write to, rename or create, whether they exist or not:
    `.toolcharter`, profiles, event files, site directories."""
    hidden: Callable[[], tuple[HiddenPath, ...]] = _no_hidden_paths
    """Returns the paths that no program may see; called before each start. A sandbox covers such a file by an empty
    file and such a folder by an empty folder."""


class Ended(NamedTuple):
    """How a program ended."""

    exit_code: int
    """Negative: ended by that signal."""
    stdout: bytes
    stderr: bytes
    truncated: bool
    """Whether a stream was longer than the limit; the rest was read and dropped."""
    timed_out: bool


class Running(Protocol):
    """A program that may run on after its tool has returned. One thread at a time may use it."""

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: ended by that signal."""
        ...

    @property
    def lost(self) -> "ToolError | None":
        """The error `worker_lost` if the worker that ran the program is gone, so that its end is unknown; else None.

        A lost program counts as ended by KILL.
        """
        ...

    def fileno(self) -> int:
        """Return a descriptor for `select` that becomes readable when there is output."""
        ...

    def read(self, max_bytes: int) -> bytes:
        """Return available output without waiting; empty if there is none yet or no more. Both streams are merged."""
        ...

    def write(self, data: bytes) -> int:
        """Write as much of *data* to its input as fits without waiting; returns the number of bytes written."""
        ...

    def resize(self, size: TerminalSize) -> None:
        """Notify a program on a terminal of the terminal's new size; does nothing without a terminal."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal to the program and its descendants."""
        ...

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; None if the time is up first."""
        ...

    def close(self) -> None:
        """End the program and its descendants (TERM, a grace period, KILL) and release resources. Idempotent."""
        ...


class ProgramRunner(Protocol):
    """A runner, as `open_runner` returns it. Thread-safe.

    A runner whose programs another process of toolcharter can start has an additional method `elsewhere`: see
    `LocalRunner`.

    Every method raises `Denied` with `sandbox_unavailable` if the sandbox is missing; a runner never falls back to the
    host. Other failures raise `ToolError` with `program_not_found`, `invalid_arguments` or `tool_error`.
    """

    name: str
    """`host`, `bwrap`, `docker`."""
    is_sandbox: bool
    """Whether programs are contained."""

    def run(self, job: "Job", /) -> Ended:
        """Run *job* to its end, or until its time is up. None of its processes is left then, in any case."""
        ...

    def start(self, job: "Job", terminal: TerminalSize | None = None, /) -> Running:
        """Start *job* and return. It gets a terminal of the size *terminal*, or else pipes, with its input open.

        `expires` and `max_output_bytes` are ignored: the caller enforces them.
        """
        ...

    def close(self) -> None:
        """End all programs that still run and release everything; called once, when the toolbox closes."""
        ...


class Detached(NamedTuple):
    """A program for another process of toolcharter to start and to end. It can be pickled for that process."""

    opener: Callable[[], ProgramRunner]
    """Opens a runner like the one that the profile names."""
    job: "Job"
    terminal: TerminalSize | None = None

    def start(self) -> tuple[ProgramRunner, Running]:
        """Open a runner in this process and start the program; closing the runner ends it.

        Raises the errors of `ToolRuntime.spawn`.
        """
        runner = self.opener()
        try:
            return runner, runner.start(self.job, self.terminal)
        except BaseException:
            runner.close()
            raise
