"""The runner `remote`: programs run where a worker is, `toolcharter worker`, in its folder and its sandbox.

Programs that go on while their tool returns are not run there.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
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
from toolcharter_service.workers.job import (
    ACK_WAIT_S,
    MAX_DELIVERIES,
    TOPIC,
    WITHDRAWN,
    Gathered,
    RemoteJob,
    queue_name,
    written,
)

MAX_ITEM_BYTES = 700_000
POLL_S = 0.5
"""How often it is looked what has become of a job, since messages may be lost, in seconds."""
STOP_S = 10.0
"""How long a worker may take to end a program, in seconds."""
_KEPT_S = 3600.0
Seconds = Annotated[float, Field(gt=0, le=3600)]
_WORD = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"


class RemotePolicy(ExtensionPolicy):
    """Which workers run the programs of a profile."""

    workspace: Annotated[str, Field(pattern=_WORD)]
    """The name that workers have given to their copy of the workspace."""
    tenant: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$")] = ""
    """Whose workers; empty where there is one tenant only."""
    bus: str | None = None
    """The URL of the bus that workers listen to, such as `nats://10.0.0.1:4222`."""
    bus_env: str | None = None
    """The environment variable that holds the URL, where it has a password in it."""
    sandbox: bool = True
    """Whether a worker that contains nothing refuses these programs."""
    claim_s: Seconds = 30.0
    """How long a job waits for a worker, in seconds."""
    lease_s: Annotated[float, Field(ge=1, le=3600)] = 30.0
    """After how many seconds without a sign of life a worker counts as lost."""

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
        """A runner with a bus of its own.

        Raises:
            Denied: `sandbox_unavailable`, if the environment does not name the bus.
        """
        policy = self._policy
        url = policy.bus or os.environ.get(policy.bus_env or "", "")
        if not url:
            raise Denied("sandbox_unavailable", f"The environment variable {policy.bus_env!r} names no bus.")
        return RemoteRunner(open_bus(url), policy, scope)


class RemoteRunner:
    """Satisfies `ProgramRunner`; closes *bus* with itself."""

    name = "remote"

    def __init__(self, bus: Bus, policy: RemotePolicy, scope: RunnerScope) -> None:
        self.is_sandbox = policy.sandbox
        self._bus, self._policy, self._scope = bus, policy, scope
        self._waiting: dict[str, threading.Event] = {}
        self._closed = False
        self._subscription = bus.subscribe(TOPIC, self._heard)

    def run(self, job: Job, /) -> Ended:
        """Have a worker run *job*.

        Raises:
            Denied: `sandbox_unavailable`: no worker took it, or the bus is away; nothing was started. Or the worker refused.
            ToolError: `worker_lost`, and whatever the worker's runner raises.
        """
        remote = RemoteJob(
            uuid4().hex,
            self._within_scope(job),
            self._scope.hidden(),
            self._policy.lease_s,
            self._policy.sandbox,
        )
        waiting = self._waiting[remote.job_id] = threading.Event()
        try:
            self._put(remote)
            return _Attendance(self._bus, self._policy, remote.job_id, job, waiting, lambda: self._closed).attend()
        finally:
            del self._waiting[remote.job_id]

    def start(self, job: Job, terminal: TerminalSize | None = None, /) -> Running:
        """Refuse.

        Raises:
            ToolError: `invalid_arguments`: programs that go on belong to another runner.
        """
        del terminal
        message = f"{job.argv[0]} cannot go on by itself on the runner remote, which runs programs to their end."
        raise ToolError(message, reason="invalid_arguments")

    def close(self) -> None:
        """End what is left."""
        self._closed = True
        for waiting in tuple(self._waiting.values()):
            waiting.set()
        end = time.monotonic() + STOP_S
        while self._waiting and time.monotonic() < end:
            time.sleep(0.02)
        self._subscription.close()
        self._bus.close()

    def _within_scope(self, job: Job) -> Job:
        protected = tuple(dict.fromkeys((*self._scope.protected, *job.protected)))
        return Job(
            argv=job.argv,
            cwd=job.cwd,
            env=job.env,
            stdin=job.stdin,
            expires=job.expires,
            max_output_bytes=job.max_output_bytes,
            limits=job.limits,
            read_only=job.read_only,
            protected=protected,
            network=job.network,
        )

    def _put(self, remote: RemoteJob) -> None:
        item = written(remote)
        if len(item) > MAX_ITEM_BYTES:
            message = f"{remote.job.argv[0]} has more arguments and input than fit into a job: {MAX_ITEM_BYTES} bytes."
            raise ToolError(message, reason="invalid_arguments")
        tenant = self._policy.tenant
        queue = self._bus.queue(
            tenant, queue_name(self._policy.workspace), ack_wait_s=ACK_WAIT_S, max_deliveries=MAX_DELIVERIES
        )
        try:
            queue.put(item, item_id=remote.job_id)
        except BusUnavailable as error:
            # It may have been put all the same: nobody starts what is withdrawn, or is waited for by nobody.
            with suppress(BusUnavailable):
                self._bus.create(tenant, f"claim-{remote.job_id}", WITHDRAWN)
            raise Denied("sandbox_unavailable", f"No worker can be reached: {error}") from error

    def _heard(self, tenant: str, payload: bytes) -> None:
        waiting = self._waiting.get(payload.decode("ascii", "replace")) if tenant == self._policy.tenant else None
        if waiting is not None:
            waiting.set()


class _Attendance:
    """Waits for what becomes of one job."""

    def __init__(
        self,
        bus: Bus,
        policy: RemotePolicy,
        job_id: str,
        job: Job,
        waiting: threading.Event,
        is_closed: Callable[[], bool],
    ) -> None:
        self._bus, self._policy, self._job_id, self._job = bus, policy, job_id, job
        self._waiting, self._is_closed = waiting, is_closed
        self._gathered = Gathered()
        self._is_claimed = False
        self._stopped: float | None = None
        """When it was asked for the program's end."""
        self._claim_by = time.monotonic() + policy.claim_s

    def attend(self) -> Ended:
        """As `RemoteRunner.run`."""
        while True:
            try:
                ended = self._look()
            except BusUnavailable as error:
                ended = None
                if time.monotonic() > self._job.expires + STOP_S:
                    raise self._lost("the bus is away") from error
            if ended is not None:
                return ended
            self._waiting.wait(POLL_S)
            self._waiting.clear()

    def _look(self) -> Ended | None:
        if not self._is_claimed:
            claim = self._bus.get(self._policy.tenant, f"claim-{self._job_id}")
            if claim is None:
                return self._give_up_if_in_vain()
            self._is_claimed = True
        if (ended := self._gather()) is not None:
            return ended
        if self._bus.holder(self._policy.tenant, f"job-{self._job_id}") is None:
            # It may have ended between the two questions.
            if (ended := self._gather()) is not None:
                return ended
            raise self._lost("it has given no sign of life")
        if self._stopped is None and not self._is_wanted():
            self._stopped = time.monotonic()
            self._bus.create(self._policy.tenant, f"stop-{self._job_id}", ttl_s=_KEPT_S)
            self._bus.publish(self._policy.tenant, TOPIC, self._job_id.encode())
        if self._stopped is not None and time.monotonic() > self._stopped + STOP_S:
            raise self._lost("it does not end the program")
        return None

    def _is_wanted(self) -> bool:
        wanted = self._job.is_wanted is None or self._job.is_wanted()
        return wanted and not self._is_closed() and time.monotonic() < self._job.expires

    def _give_up_if_in_vain(self) -> Ended | None:
        is_wanted = self._is_wanted()
        if is_wanted and time.monotonic() < self._claim_by:
            return None
        if not self._bus.create(self._policy.tenant, f"claim-{self._job_id}", WITHDRAWN):
            return None  # A worker was faster.
        if not is_wanted:
            return Ended(exit_code=-9, stdout=b"", stderr=b"", truncated=False, timed_out=True)
        message = (
            f"No worker for the workspace {self._policy.workspace!r} took the program in {self._policy.claim_s:g} s."
        )
        raise Denied("sandbox_unavailable", message, hint="Start `toolcharter worker` with this workspace.")

    def _gather(self) -> Ended | None:
        while True:
            key = f"out-{self._job_id}-{self._gathered.count}"
            chunk = self._bus.get(self._policy.tenant, key)
            if chunk is None:
                return None
            ended = self._gathered.add(chunk)
            with suppress(BusUnavailable):  # Then it goes when its time is up.
                self._bus.delete(self._policy.tenant, key)
            if ended is not None:
                return ended

    def _lost(self, why: str) -> ToolError:
        return ToolError(f"The worker that ran {self._job.argv[0]} is lost: {why}.", reason="worker_lost")


def build(workspace: Path, policy: RemotePolicy) -> Remote:  # noqa: ARG001 - a runner is opened for a scope, which names the workspace
    """The object whose hook opens the runner; it connects to nothing."""
    return Remote(policy)


SPEC = ExtensionSpec("remote", RemotePolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[RemotePolicy]]:
    """The runner."""
    return [SPEC]
