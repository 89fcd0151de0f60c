"""The extension `scheduler`: runs the jobs of `schedule` and `cron`, and HEARTBEAT.md, as long as a session lasts.

It polls the store for due jobs, in its own thread. Any number of processes may poll one store: only one of them runs
each due time of a job.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import time
from uuid import uuid4

from toolcharter import (
    Caller,
    Denied,
    Discovery,
    DiscoveryRuntime,
    ExtensionSpec,
    ProfileView,
    StoreConflict,
    ToolcharterError,
    hookimpl,
)
from toolcharter_schedule.engine import ClaimedRun, Engine
from toolcharter_schedule.heartbeat import Heartbeats
from toolcharter_schedule.job_runner import JobRunner
from toolcharter_schedule.new_jobs import SCHEDULER
from toolcharter_schedule.policy import SchedulerPolicy
from toolcharter_schedule.records import AllowanceRecord, place_of

LASTS_S = 60.0
"""How long the claim of a run lasts without a renewal, in seconds; then its process counts as dead."""
_ENDS_S = 5.0
"""How long the end of the session waits for runs that have started, in seconds."""


class Scheduler:
    """Runs the jobs of one toolbox.

    Args:
        policy: How often it polls, and the limits of a task.
        clock: Returns Unix time in seconds.
    """

    def __init__(self, policy: SchedulerPolicy, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._clock = clock
        self._stopping = threading.Event()
        self._rt: DiscoveryRuntime | None = None
        self._place = ""
        self._poll_thread: threading.Thread | None = None
        self._running: set[threading.Thread] = set()
        self._engine: Engine | None = None

    @hookimpl
    def discover_tools(self, profile: ProfileView, workspace: Path | None, rt: DiscoveryRuntime | None) -> Discovery:
        """Start polling for due jobs, if the toolbox belongs to a session. It finds no tools."""
        if rt is not None and workspace is not None and self._rt is None:
            self._rt, self._place = rt, place_of(profile.name, workspace)
            if rt.is_live:
                self._poll_thread = threading.Thread(
                    target=self._poll_repeatedly, name="toolcharter-scheduler", daemon=True
                )
                self._poll_thread.start()
        return Discovery()

    def permitted(self, caller: Caller) -> AllowanceRecord | None:
        """Return what the profile permits *caller* now; None if that is not known yet."""
        return None if self._rt is None else AllowanceRecord.of(self._rt.allowance_for(caller))

    def close(self) -> None:
        """Stop polling, and wait a while for started runs; the toolbox has ended their calls already."""
        self._stopping.set()
        for thread in (self._poll_thread, *tuple(self._running)):
            if thread is not None and thread is not threading.current_thread():
                thread.join(_ENDS_S)

    def _poll_repeatedly(self) -> None:
        # A command that makes one call ends before the first poll, so it starts no job that it could not finish.
        while not self._stopping.wait(self._policy.look_s):
            with suppress(ToolcharterError, StoreConflict):  # the next poll tries again
                self.poll(self._start)

    def poll(self, begin: Callable[[JobRunner, Engine, ClaimedRun], object]) -> None:
        """Poll once: call *begin* with each run that this process has claimed and has to start now.

        Raises:
            StoreUnavailable: The store cannot be reached.
        """
        rt = self._rt
        if rt is None or not _is_there(rt):
            return
        if self._engine is None:
            heartbeats = Heartbeats(rt, self._policy, self._place, self._clock)
            heartbeats.synchronise()
            self._engine = Engine(rt.store, clock=self._clock, worker=uuid4().hex, lasts_s=LASTS_S, place=self._place)
        engine, runner = self._engine, JobRunner(rt, self._policy)
        engine.renew()
        for claimed in engine.tick(self._policy.concurrent - len(self._running)):
            begin(runner, engine, claimed)

    def _start(self, runner: JobRunner, engine: Engine, claimed: ClaimedRun) -> None:
        def run() -> None:
            try:
                run_and_record(runner, engine, claimed)
            finally:
                self._running.discard(threading.current_thread())

        thread = threading.Thread(target=run, name="toolcharter-job", daemon=True)
        self._running.add(thread)
        thread.start()


def run_and_record(runner: JobRunner, engine: Engine, claimed: ClaimedRun) -> None:
    """Run *claimed*, and record its outcome. If that fails, the run counts as that of a dead process."""
    outcome = runner.run(claimed)
    with suppress(ToolcharterError):
        engine.finish(claimed, outcome)


def _is_there(rt: DiscoveryRuntime) -> bool:
    """Return whether the toolbox has been built."""
    try:
        rt.tools_for(rt.caller)
    except Denied:
        return False
    return True


def build(workspace: Path, policy: SchedulerPolicy) -> Scheduler:  # noqa: ARG001 - `discover_tools` gets it
    """Make the extension that runs the jobs of one toolbox."""
    return Scheduler(policy, time)


SPEC = ExtensionSpec(SCHEDULER, SchedulerPolicy, build)
