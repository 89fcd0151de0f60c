"""`Claim`: one job of the runner `remote`, seen from the runner. `RunnerHeartbeat`: the runner's own heartbeat."""

import threading
import time
from contextlib import suppress
from typing import NamedTuple
from uuid import uuid4

from toolcharter import Bus, BusUnavailable, Denied, ToolError
from toolcharter_service.workers.job import TOPIC, WITHDRAWN, caller_lease

POLL_S = 0.5
"""The polling interval for the state of a job, in seconds: messages may be lost."""
STOP_S = 10.0
"""How long a worker may take to end a program, in seconds."""
_KEPT_S = 3600.0


class JobTarget(NamedTuple):
    """The tenant and workspace whose workers run a job, and its time limits."""

    bus: Bus
    tenant: str
    workspace: str
    claim_s: float
    lease_s: float


class Claim:
    """The state of the job *job_id*, which runs *program*. Its methods raise `BusUnavailable`."""

    def __init__(self, target: JobTarget, job_id: str, program: str) -> None:
        self.target, self.job_id, self.program = target, job_id, program
        self._claim_by = time.monotonic() + target.claim_s
        self._is_taken = False
        self._stopped: float | None = None
        self.is_stopped = False
        """Whether the worker has been asked to end the program."""

    def is_taken(self) -> bool:
        """Whether a worker has taken the job."""
        if not self._is_taken:
            self._is_taken = self.target.bus.get(self.target.tenant, f"claim-{self.job_id}") is not None
        return self._is_taken

    def withdraw(self) -> bool:
        """Withdraw the job. Return False if a worker has already taken it."""
        return self.target.bus.create(self.target.tenant, f"claim-{self.job_id}", WITHDRAWN)

    def require_in_time(self) -> None:
        """Withdraw the job if it has waited for a worker for `claim_s`.

        Raises:
            Denied: The job is withdrawn, so no worker will start it.
        """
        if time.monotonic() < self._claim_by or not self.withdraw():
            return
        target = self.target
        what = f"No worker for the workspace {target.workspace!r} took the program in {target.claim_s:g} s."
        raise Denied("sandbox_unavailable", what, hint="Start `toolcharter worker` with this workspace.")

    def is_worker_alive(self) -> bool:
        """Whether the worker that has taken the job still renews its lease."""
        return self.target.bus.holder(self.target.tenant, f"job-{self.job_id}") is not None

    def stop(self) -> None:
        """Ask the worker to end the program."""
        self._stopped = self._stopped or time.monotonic()
        self.target.bus.create(self.target.tenant, f"stop-{self.job_id}", ttl_s=_KEPT_S)
        self.target.bus.publish(self.target.tenant, TOPIC, self.job_id.encode())
        self.is_stopped = True

    def require_end_in_time(self) -> None:
        """Raise `ToolError` with `worker_lost` if the worker was asked to end the program, and took too long."""
        if self._stopped is not None and time.monotonic() > self._stopped + STOP_S:
            raise self.lost_error("it does not end the program")

    def lost_error(self, why: str) -> ToolError:
        """Return the exception for a lost worker."""
        return ToolError(f"The worker that ran {self.program} is lost: {why}.", reason="worker_lost")


class RunnerHeartbeat:
    """The heartbeat of a runner on the bus, from `begin` to `end`. If it stops, workers end the runner's programs."""

    def __init__(self, target: JobTarget) -> None:
        self.name = uuid4().hex
        self._target = target
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the heartbeat.

        Raises:
            BusUnavailable: The bus does not answer.
        """
        with self._lock:
            if self._thread is None:
                self._renew_lease()
                self._thread = threading.Thread(target=self._renew_until_over, name="toolcharter-caller", daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Stop the heartbeat."""
        with self._lock:
            self._is_over.set()
            if self._thread is not None:
                self._thread.join()

    def _renew_lease(self) -> None:
        target = self._target
        self._lease = target.bus.lease(target.tenant, caller_lease(self.name), holder=self.name, ttl_s=target.lease_s)

    def _renew_until_over(self) -> None:
        while not self._is_over.wait(self._target.lease_s / 4):
            with suppress(BusUnavailable):
                self._renew_lease()
        if self._lease is not None:
            with suppress(BusUnavailable):
                self._target.bus.release(self._lease)
