"""The runner `host`: programs run on this host, with this user's rights, within limits.

It is no sandbox: a program may do everything that the user may. All limits apply to each process by itself, except
`ProcessLimits.processes`: the system counts all processes of a user, and none of root's, so this limit stops a fork
bomb but is not exact here. `Job.read_only`, `Job.protected` and `Job.network` are not enforced.

All processes that a program starts end with it, even if they try to hide: see `reaper`.
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
    from toolcharter.guards.process import launch, limits, start
    from toolcharter.guards.process.launch import Launch
    from toolcharter.guards.process.marks import Mark
    from toolcharter.guards.process.start import Nursery
else:
    launch = lazy("toolcharter.guards.process.launch")
    limits = lazy("toolcharter.guards.process.limits")
    start = lazy("toolcharter.guards.process.start")


class HostProgramRunner(LocalRunner):
    """Satisfies `ProgramRunner`."""

    name = "host"
    is_sandbox = False
    _nursery: "Nursery | None" = None

    @contextmanager
    def prepared(self, job: "Job", mark: "Mark", *, on_terminal: bool) -> Generator["Launch"]:
        """Prepare to start the program itself, within its limits."""
        program = self.programs.resolve(job.argv[0])
        argv = limits.limited((program, *job.argv[1:]), job.limits, mark, other_processes=limits.count_system_threads())
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
            nursery=self._get_nursery(),
            mark=mark,
        )

    def close(self) -> None:
        """End the programs that still run, and the nursery."""
        super().close()
        if self._nursery is not None:
            self._nursery.close()

    def _get_nursery(self) -> "Nursery | None":
        """The process that starts programs and inherits their orphans; None where the system has no subreapers."""
        with self._lock:
            if self._nursery is None and sys.platform == "linux":
                self._nursery = start.Nursery()
            return self._nursery

    def elsewhere(self) -> Callable[[], ProgramRunner]:
        """Return a function that opens a runner for the same workspace."""
        return partial(HostProgramRunner, self.workspace, self.programs.protected)
