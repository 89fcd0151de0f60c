"""The runner `host`: programs run on this host, with this user's rights, within limits.

It contains nothing: what a program does with the user's rights is for a sandbox to limit. All limits but that of
processes are kept for each process alone; the system counts the processes of a user, and none of root's, so that
`ProcessLimits.processes` stops a fork bomb but is no exact number here. Nothing keeps `Job.read_only`, `Job.protected`
and `Job.network`.

All that a program starts ends with it, whatever it does to hide: see `reaper`.
"""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.runner import ProgramRunner
from toolcharter.guards.process.local import LocalRunner

if TYPE_CHECKING:
    from toolcharter.api.job import Job
    from toolcharter.guards.process import launch, limits, started
    from toolcharter.guards.process.launch import Launch
    from toolcharter.guards.process.marks import Mark
    from toolcharter.guards.process.started import Nursery
else:
    launch = lazy("toolcharter.guards.process.launch")
    limits = lazy("toolcharter.guards.process.limits")
    started = lazy("toolcharter.guards.process.started")


class HostProgramRunner(LocalRunner):
    """Satisfies `ProgramRunner`."""

    name = "host"
    is_sandbox = False
    _nursery: "Nursery | None" = None

    @contextmanager
    def prepared(self, job: "Job", mark: "Mark", *, on_terminal: bool) -> Generator["Launch"]:
        """The program itself, within its limits."""
        program = self.programs.resolve(job.argv[0])
        argv = limits.limited(
            (program, *job.argv[1:]), job.limits, mark, other_processes=limits.threads_of_the_system()
        )
        if on_terminal:
            argv = limits.controlling(argv)
        yield launch.Launch(
            argv=argv,
            cwd=self.folder_of(job),
            env=job.env,
            stdin=job.stdin,
            expires=job.expires,
            is_wanted=job.is_wanted,
            max_output_bytes=job.max_output_bytes,
            name=job.argv[0],
            nursery=self._watch(),
            mark=mark,
        )

    def close(self) -> None:
        """End what is left."""
        super().close()
        if self._nursery is not None:
            self._nursery.close()

    def _watch(self) -> "Nursery | None":
        """What starts programs and inherits what they leave: where the system has subreapers."""
        with self._lock:
            if self._nursery is None and sys.platform == "linux":
                self._nursery = started.Nursery()
            return self._nursery

    def elsewhere(self) -> Callable[[], ProgramRunner]:
        """One for the same workspace."""
        return partial(HostProgramRunner, self.workspace, self.programs.protected)
