"""Where programs run: the contract between the gate and a runner such as `host`, `bwrap` or `docker`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from toolcharter.api.job import Job
    from toolcharter.errors import ToolError


class TerminalSize(NamedTuple):
    """Of a terminal, in characters."""

    rows: int = 24
    columns: int = 80


class HiddenPath(NamedTuple):
    """A file or folder that no program may see."""

    path: str
    """Relative to the workspace."""
    is_folder: bool


def _nothing_hidden() -> tuple[HiddenPath, ...]:
    return ()


class RunnerScope(NamedTuple):
    """What a runner is opened for: the harness chooses it, never the model."""

    workspace: Path
    """Real path of the one folder that programs may write to."""
    protected: tuple[str, ...] = ()
    """Paths, relative to the workspace, that no program may write to, rename or create even where they do not exist
    yet: `.toolcharter`, profiles, event files, site directories."""
    hidden: Callable[[], tuple[HiddenPath, ...]] = _nothing_hidden
    """What no program may see, asked before each start: files get an empty one over them, folders an empty folder."""


class Ended(NamedTuple):
    """How a program ended."""

    exit_code: int
    """Negative: ended by that signal."""
    stdout: bytes
    stderr: bytes
    truncated: bool
    """A stream was longer than the limit; its rest was read and dropped."""
    timed_out: bool


class Running(Protocol):
    """A program that goes on while its tool returns. Used by one thread at a time."""

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: ended by that signal."""
        ...

    @property
    def lost(self) -> "ToolError | None":
        """Why nobody can tell how it ended: what ran it is gone, `worker_lost`. It counts as ended, by KILL, then."""
        ...

    def fileno(self) -> int:
        """What becomes readable when there is output: a descriptor for `select`."""
        ...

    def read(self, max_bytes: int) -> bytes:
        """Output that is there, without waiting; empty if there is none or no more. Both streams are one."""
        ...

    def write(self, data: bytes) -> int:
        """Write to its input what fits, without waiting; the number of bytes."""
        ...

    def resize(self, size: TerminalSize) -> None:
        """Tell a program on a terminal its new size; nothing without a terminal."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal to all of it."""
        ...

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; None if the time is up first."""
        ...

    def close(self) -> None:
        """End it and all that it started (TERM, a grace, KILL) and release what it holds. May be called twice."""
        ...


class ProgramRunner(Protocol):
    """What `open_runner` returns. Safe from many threads.

    One that can start programs from another process of ours, too, has a method `elsewhere` beside these: see `LocalRunner`.

    Every method raises `Denied` with `sandbox_unavailable` where what contains programs is missing; nothing falls back
    to the host. `ToolError` with `program_not_found`, `invalid_arguments` or `tool_error` for the rest.
    """

    name: str
    """`host`, `bwrap`, `docker`."""
    is_sandbox: bool
    """Whether programs are contained."""

    def run(self, job: "Job", /) -> Ended:
        """Run *job* to its end, or to the end of its time. Nothing of it is left then, whatever happened."""
        ...

    def start(self, job: "Job", terminal: TerminalSize | None = None, /) -> Running:
        """Start *job* and return; on a terminal of its own if *terminal* says so, else on pipes, with input open.

        `expires` and `max_output_bytes` do not count: the caller watches.
        """
        ...

    def close(self) -> None:
        """End what is left and release everything; called once, with the toolbox."""
        ...


class Detached(NamedTuple):
    """A program for another process of ours to start and to see to its end. It can be pickled, for that process alone."""

    opener: Callable[[], ProgramRunner]
    """Opens a runner like the one that the profile names."""
    job: "Job"
    terminal: TerminalSize | None = None

    def start(self) -> tuple[ProgramRunner, Running]:
        """Open a runner here and start the program; closing the runner ends it. Errors as of `ToolRuntime.spawn`."""
        runner = self.opener()
        try:
            return runner, runner.start(self.job, self.terminal)
        except BaseException:
            runner.close()
            raise
