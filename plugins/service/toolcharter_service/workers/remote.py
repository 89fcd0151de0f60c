"""The runner `remote`: runs programs on the machine of a `toolcharter worker`, in its folder and its sandbox."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from uuid import uuid4

from pydantic import Field, model_validator

from toolcharter import (
    Bus,
    BusUnavailable,
    Denied,
    Ended,
    ExtensionPolicy,
    ExtensionSpec,
    Job,
    ProgramRunner,
    RunnerScope,
    Running,
    TerminalSize,
    ToolError,
    hookimpl,
    open_bus,
)
from toolcharter_service.workers.claim import POLL_S, STOP_S, Claim, JobTarget, RunnerHeartbeat
from toolcharter_service.workers.job import (
    ACK_WAIT_S,
    MAX_DELIVERIES,
    TOPIC,
    WITHDRAWN,
    RemoteJob,
    ResultAssembler,
    queue_name,
    serialize_job,
)
from toolcharter_service.workers.running import RemoteRunning

MAX_ITEM_BYTES = 700_000
Seconds = Annotated[float, Field(gt=0, le=3600)]
_WORD = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"


class RemotePolicy(ExtensionPolicy):
    """Which workers run the programs of a profile."""

    workspace: Annotated[str, Field(pattern=_WORD)]
    """The name that workers have given to their copy of the workspace."""
    tenant: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$")] = ""
    """The tenant of the workers; empty if there is only one tenant."""
    bus: str | None = None
    """The URL of the bus that workers listen to, such as `nats://10.0.0.1:4222`."""
    bus_env: str | None = None
    """The environment variable that holds the URL, for a URL with a password."""
    sandbox: bool = True
    """Whether a worker whose runner is no sandbox refuses these programs."""
    claim_s: Seconds = 30.0
    """How long a job waits for a worker, in seconds."""
    lease_s: Annotated[float, Field(ge=1, le=3600)] = 30.0
    """How long a worker without a heartbeat counts as alive, in seconds. After that it is lost."""

    @model_validator(mode="after")
    def _one_bus(self) -> "RemotePolicy":
        if (self.bus is None) == (self.bus_env is None):
            raise ValueError("write either `bus` or `bus_env`")
        return self


class Remote:
    """The object of the extension."""

    def __init__(self, policy: RemotePolicy) -> None:
        self._policy = policy

    @hookimpl
    def open_runner(self, scope: RunnerScope) -> ProgramRunner:
        """Open a runner with its own connection to the bus.

        Raises:
            Denied: `sandbox_unavailable`, if the environment does not name the bus.
        """
        policy = self._policy
        url = policy.bus or os.environ.get(policy.bus_env or "", "")
        if not url:
            raise Denied("sandbox_unavailable", f"The environment variable {policy.bus_env!r} names no bus.")
        return RemoteRunner(open_bus(url), policy, scope)


class RemoteRunner:
    """Satisfies `ProgramRunner`. Its `close` also closes *bus*."""

    name = "remote"

    def __init__(self, bus: Bus, policy: RemotePolicy, scope: RunnerScope) -> None:
        self.is_sandbox = policy.sandbox
        self._policy, self._scope = policy, scope
        self._target = JobTarget(bus, policy.tenant, policy.workspace, policy.claim_s, policy.lease_s)
        self._heartbeat = RunnerHeartbeat(self._target)
        self._lock = threading.Lock()
        self._waiting: dict[str, threading.Event] = {}
        self._background: set[RemoteRunning] = set()
        self._closed = False
        self._subscription = bus.subscribe(TOPIC, self._on_message)

    def run(self, job: Job, /) -> Ended:
        """Run *job* on a worker.

        Raises:
            Denied: `sandbox_unavailable`: no worker took the job, or the bus is unreachable; nothing was started. Or
                the worker refused the job.
            ToolError: `worker_lost`, or raised by the worker's runner.
        """
        remote = self._to_remote_job(job)
        waiting = self._waiting[remote.job_id] = threading.Event()
        try:
            self._enqueue(remote)
            claim = Claim(self._target, remote.job_id, job.argv[0])
            return _ResultWaiter(claim, job, waiting, lambda: self._closed).wait_for_result()
        finally:
            del self._waiting[remote.job_id]

    def start(self, job: Job, terminal: TerminalSize | None = None, /) -> Running:
        """Start *job* on a worker, and return once it has started. The errors are those of `run`."""
        remote = self._to_remote_job(job)._replace(goes_on=True, terminal=terminal)
        running = RemoteRunning(Claim(self._target, remote.job_id, job.argv[0]), self._background.discard)
        running.begin(lambda: self._enqueue(remote))
        with self._lock:
            if not self._closed:
                self._background.add(running)
                return running
        running.close()
        raise ToolError("The toolbox is closed.")

    def close(self) -> None:
        """End all programs, and close the bus."""
        with self._lock:
            self._closed = True
            going_on = tuple(self._background)
        for waiting in tuple(self._waiting.values()):
            waiting.set()
        enders = [threading.Thread(target=running.close) for running in going_on]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()
        end = time.monotonic() + STOP_S
        while self._waiting and time.monotonic() < end:
            time.sleep(0.02)
        self._heartbeat.end()
        self._subscription.close()
        self._target.bus.close()

    def _to_remote_job(self, job: Job) -> RemoteJob:
        protected = tuple(dict.fromkeys((*self._scope.protected, *job.protected)))
        policy = self._policy
        return RemoteJob(
            uuid4().hex,
            replace(job, protected=protected),
            self._scope.hidden(),
            policy.lease_s,
            policy.sandbox,
            self._heartbeat.name,
        )

    def _enqueue(self, remote: RemoteJob) -> None:
        item = serialize_job(remote)
        if len(item) > MAX_ITEM_BYTES:
            message = f"{remote.job.argv[0]} has more arguments and input than fit into a job: {MAX_ITEM_BYTES} bytes."
            raise ToolError(message, reason="invalid_arguments")
        bus, tenant = self._target.bus, self._target.tenant
        name = queue_name(self._target.workspace, goes_on=remote.goes_on)
        queue = bus.queue(tenant, name, ack_wait_s=ACK_WAIT_S, max_deliveries=MAX_DELIVERIES)
        is_put = False
        try:
            self._heartbeat.begin()
            is_put = True
            queue.put(item, item_id=remote.job_id)
        except BusUnavailable as error:
            # The item may be in the queue nevertheless, but no worker starts a withdrawn job.
            try:
                if not bus.create(tenant, f"claim-{remote.job_id}", WITHDRAWN):
                    return  # A worker was faster.
            except BusUnavailable:
                if is_put and error.may_have_heard:
                    message = f"It is unknown whether a worker runs {remote.job.argv[0]}: {error}"
                    raise ToolError(message, reason="worker_lost") from error
            raise Denied("sandbox_unavailable", f"No worker can be reached: {error}") from error

    def _on_message(self, tenant: str, payload: bytes) -> None:
        waiting = self._waiting.get(payload.decode("ascii", "replace")) if tenant == self._target.tenant else None
        if waiting is not None:
            waiting.set()


class _ResultWaiter:
    """Waits for the result of one job."""

    def __init__(self, claim: Claim, job: Job, waiting: threading.Event, is_closed: Callable[[], bool]) -> None:
        self._claim, self._job, self._waiting, self._is_closed = claim, job, waiting, is_closed
        self._assembler = ResultAssembler(job.max_output_bytes)

    def wait_for_result(self) -> Ended:
        """As `RemoteRunner.run`."""
        while True:
            try:
                ended = self._poll()
            except BusUnavailable as error:
                ended = None
                if time.monotonic() > self._job.expires + STOP_S:
                    raise self._claim.lost_error("the bus is unreachable") from error
            if ended is not None:
                return ended
            self._waiting.wait(POLL_S)
            self._waiting.clear()

    def _poll(self) -> Ended | None:
        claim = self._claim
        if not claim.is_taken():
            if not self._is_wanted():
                in_vain = Ended(exit_code=-9, stdout=b"", stderr=b"", truncated=False, timed_out=True)
                return in_vain if claim.withdraw() else None
            claim.require_in_time()
            return None
        if (ended := self._read_chunks()) is not None:
            return ended
        if not claim.is_worker_alive():
            # It may have ended between the two requests.
            if (ended := self._read_chunks()) is not None:
                return ended
            raise claim.lost_error("its lease has expired")
        if not claim.is_stopped and not self._is_wanted():
            claim.stop()
        claim.require_end_in_time()
        return None

    def _is_wanted(self) -> bool:
        wanted = self._job.is_wanted is None or self._job.is_wanted()
        return wanted and not self._is_closed() and time.monotonic() < self._job.expires

    def _read_chunks(self) -> Ended | None:
        bus, tenant = self._claim.target.bus, self._claim.target.tenant
        while True:
            key = f"out-{self._claim.job_id}-{self._assembler.count}"
            chunk = bus.get(tenant, key)
            if chunk is None:
                return None
            ended = self._assembler.add(chunk)
            with suppress(BusUnavailable):  # It expires then.
                bus.delete(tenant, key)
            if ended is not None:
                return ended


def build(workspace: Path, policy: RemotePolicy) -> Remote:  # noqa: ARG001 - a runner is opened for a scope, which names the workspace
    """Return the object whose hook opens the runner. It does not connect to anything."""
    return Remote(policy)


SPEC = ExtensionSpec("remote", RemotePolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[RemotePolicy]]:
    """Offer the runner `remote`."""
    return [SPEC]
