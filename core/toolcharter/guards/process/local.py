"""`LocalRunner`: the base of every runner that starts programs on this machine, with or without a sandbox."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.reasons import Reason
from toolcharter.api.runner import Ended, ProgramRunner, Running, TerminalSize
from toolcharter.errors import ToolError
from toolcharter.guards.process.programs import Programs
from toolcharter.guards.process.turns import Turns

if TYPE_CHECKING:
    from toolcharter.api.job import Job
    from toolcharter.guards.process import keeper, marks, running
    from toolcharter.guards.process import supervise as process_supervise
    from toolcharter.guards.process.keeper import Keeper
    from toolcharter.guards.process.launch import Launch
    from toolcharter.guards.process.marks import Mark
    from toolcharter.guards.process.running import RunningProgram
else:
    keeper = lazy("toolcharter.guards.process.keeper")
    marks = lazy("toolcharter.guards.process.marks")
    running = lazy("toolcharter.guards.process.running")
    process_supervise = lazy("toolcharter.guards.process.supervise")


class LocalRunner(ABC):
    """Satisfies `ProgramRunner`. A subclass implements `prepared`, which says what is started for a job.

    All processes that a program starts are marked. They are killed when the program ends, when the runner closes, and
    by the keeper if this process dies.
    """

    name: str
    is_sandbox: bool

    def __init__(self, workspace: Path, protected: tuple[str, ...] = ()) -> None:
        self.workspace = workspace
        self.programs = Programs(workspace, protected)
        self._lock = threading.Lock()
        self._running: set[RunningProgram] = set()
        self._turns = Turns()
        self._keeper: Keeper | None = None
        self._mark = 0

    @abstractmethod
    def prepared(self, job: "Job", mark: "Mark", *, on_terminal: bool) -> AbstractContextManager["Launch"]:
        """Prepare the start of *job*. The context ends when all its processes have ended, or if it did not start.

        Args:
            job: The job, unchanged.
            mark: The value for `Launch.mark`, and for `limited`, which sets it.
            on_terminal: Whether the command must make the terminal on its input the controlling terminal, as
                `controlling` does.
        """

    def run(self, job: "Job", /) -> Ended:
        """Wait for the turn of *job*, and run it until it ends or its time is up.

        Raises:
            ToolError: `timed_out`, if its time was up before its turn came; `tool_error`, if the system has run out of
                descriptors or of room on the disk.
        """
        try:
            with self._turns.wait_for_turn(job), self.prepared(job, self._new_mark(), on_terminal=False) as launch:
                return process_supervise.supervise(launch)
        except OSError as error:
            raise ToolError(f"{job.argv[0]} could not be run: {error.strerror}.", retryable=True) from error

    def start(self, job: "Job", terminal: TerminalSize | None = None, /) -> Running:
        """Start *job* and return."""
        with ExitStack() as stack:
            launch = stack.enter_context(self.prepared(job, self._new_mark(), on_terminal=terminal is not None))
            program = (
                running.start_on_pipes(launch, drops_errors=job.drops_errors)
                if terminal is None
                else running.start_on_terminal(launch, terminal)
            )
            with self._lock:
                self._running.add(program)
            program.on_end = ExitStack()
            program.on_end.callback(self._running.discard, program)
            program.on_end.push(stack.pop_all())
            return program

    def elsewhere(self) -> Callable[[], ProgramRunner] | None:
        """Return a picklable function that opens such a runner in another process of ours; None if there is none."""
        return None

    def close(self) -> None:
        """End the programs that still run, and the keeper."""
        with self._lock:
            left = list(self._running)
        for program in left:
            program.close()
        if self._keeper is not None:
            self._keeper.close()

    def keeper(self) -> "Keeper":
        """Return the keeper of this runner's programs, started if it does not run yet."""
        with self._lock:
            if self._keeper is None:
                self._mark = marks.new_runner_mark()
                self._keeper = keeper.Keeper(self._mark)
            self._keeper.watch()
            return self._keeper

    def folder_of(self, job: "Job") -> str:
        """Return the absolute path of the folder in which *job* starts.

        Raises:
            ToolError: `invalid_arguments`, for an absolute path or one with `..`.
        """
        folder = PurePosixPath(job.cwd)
        if folder.is_absolute() or ".." in folder.parts:
            message = f"The folder {job.cwd!r} is not relative to the workspace."
            raise ToolError(message, reason=Reason.INVALID_ARGUMENTS)
        return os.path.normpath(self.workspace / folder)

    def _new_mark(self) -> "Mark":
        self.keeper()
        return marks.new_mark(self._mark)
