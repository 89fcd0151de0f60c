"""`Worker`: pulls jobs of the runner `remote`, and runs each in its workspace, with its own runner and limits."""

import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import TypeVar
from uuid import uuid4

from toolcharter import (
    Bus,
    BusLease,
    BusUnavailable,
    Delivery,
    Denied,
    Ended,
    Job,
    ProcessLimits,
    ProgramRunner,
    Queue,
    RunnerScope,
    ToolError,
)
from toolcharter_service.workers.job import (
    ACK_WAIT_S,
    MAX_DELIVERIES,
    TOPIC,
    RemoteJob,
    caller_lease,
    parse_job,
    queue_name,
    result_chunks,
)
from toolcharter_service.workers.pieces import WORKER, StreamEndpoint, Waker
from toolcharter_service.workers.presence import HEARTBEAT_S, WorkerHeartbeat
from toolcharter_service.workers.presence import TOPIC as PRESENCE
from toolcharter_service.workers.program import BackgroundProgram
from toolcharter_service.workers.settings import OpenWorkspace, WorkerConfig, WorkerLimits

PULL_S = 2.0
"""How long one request for a job waits, in seconds."""
POLL_S = 1.0
"""The polling interval for whether a program is still wanted, in seconds: messages may be lost."""
_KEPT_S = 3600.0
_SEND_S = 60.0
"""How long the worker tries to send a program's result while the bus is unreachable, in seconds."""
T = TypeVar("T")


class Worker:
    """A worker. `run` works until `stop` is called."""

    def __init__(self, config: WorkerConfig, workspaces: Sequence[OpenWorkspace], bus: Bus) -> None:
        self.name = config.name or f"{socket.gethostname().partition('.')[0]}-{os.getpid()}"
        self._config, self._workspaces, self._bus = config, workspaces, bus
        self._stopping = threading.Event()
        self._running: dict[str, _LeasedJob] = {}

    def run(self) -> None:
        """Pull and run jobs until `stop` is called. Then wait up to `stop_s` for running jobs, and end the rest."""
        subscription = self._bus.subscribe(TOPIC, self._on_message)
        threads = [
            threading.Thread(target=self._run_jobs, args=(workspace,), name=f"toolcharter-{workspace.settings.name}")
            for workspace in self._workspaces
            for _ in range(self._config.slots)
        ]
        threads += [
            threading.Thread(
                target=self._run_background_jobs, args=(workspace,), name=f"toolcharter-{workspace.settings.name}-on"
            )
            for workspace in self._workspaces
            if self._config.going_on
        ]
        for thread in threads:
            thread.start()
        own_id = uuid4().hex
        while not self._stopping.is_set():
            self._send_heartbeats(own_id)
            self._stopping.wait(HEARTBEAT_S)
        until = time.monotonic() + self._config.stop_s
        while self._running and time.monotonic() < until:
            time.sleep(0.02)
        for running in tuple(self._running.values()):
            running.end()
        for thread in threads:
            thread.join()
        subscription.close()

    def _send_heartbeats(self, own_id: str) -> None:
        jobs = Counter(running.tenant for running in tuple(self._running.values()))
        for tenant in dict.fromkeys(workspace.settings.tenant for workspace in self._workspaces):
            heartbeat = WorkerHeartbeat(id=own_id, name=self.name[:200], jobs=jobs[tenant])
            self._bus.publish(tenant, PRESENCE, heartbeat.model_dump_json().encode())

    def stop(self) -> None:
        """Stop pulling jobs."""
        self._stopping.set()

    def _on_message(self, _: str, payload: bytes) -> None:
        running = self._running.get(payload.decode("ascii", "replace"))
        if running is not None:
            running.check_now.set()

    def _run_jobs(self, workspace: OpenWorkspace) -> None:
        queue = self._open_queue(workspace, goes_on=False)
        while not self._stopping.is_set():
            try:
                delivery = queue.pull(PULL_S)
                if delivery is not None:
                    self._run_delivery(workspace, delivery)
            except BusUnavailable:
                self._stopping.wait(POLL_S)

    def _run_background_jobs(self, workspace: OpenWorkspace) -> None:
        """Pull background programs, and attend each in its own thread."""
        queue = self._open_queue(workspace, goes_on=True)
        free_slots = threading.Semaphore(self._config.going_on)
        threads: list[threading.Thread] = []

        def run_one(delivery: Delivery) -> None:
            try:
                with suppress(BusUnavailable):
                    self._run_delivery(workspace, delivery)
            finally:
                free_slots.release()

        while not self._stopping.is_set():
            if not free_slots.acquire(timeout=PULL_S):
                continue
            delivery = None
            try:
                delivery = queue.pull(PULL_S)
            except BusUnavailable:
                self._stopping.wait(POLL_S)
            if delivery is None:
                free_slots.release()
                continue
            threads = [thread for thread in threads if thread.is_alive()]
            threads.append(threading.Thread(target=run_one, args=(delivery,), name="toolcharter-program"))
            threads[-1].start()
        for thread in threads:
            thread.join()

    def _open_queue(self, workspace: OpenWorkspace, *, goes_on: bool) -> Queue:
        name = queue_name(workspace.settings.name, goes_on=goes_on)
        return self._bus.queue(workspace.settings.tenant, name, ack_wait_s=ACK_WAIT_S, max_deliveries=MAX_DELIVERIES)

    def _run_delivery(self, workspace: OpenWorkspace, delivery: Delivery) -> None:
        try:
            remote = parse_job(delivery.item)
        except ValueError:
            remote = None
        if (
            remote is None or delivery.exhausted
        ):  # No runner waits for an invalid job, or for one that was delivered so often.
            delivery.ack()
            return
        holder = f"{self.name}-{uuid4().hex[:12]}"
        lease_name, tenant = f"job-{remote.job_id}", workspace.settings.tenant
        # The lease comes first: the runner that sees the claim checks the lease to see whether the worker lives.
        lease = self._bus.lease(tenant, lease_name, holder=holder, ttl_s=remote.lease_s)
        if lease is None:
            return  # Another worker runs it. If that worker dies, the job is delivered again.
        claim = f"claim-{remote.job_id}"
        is_ours = self._bus.create(tenant, claim, holder.encode()) or self._bus.get(tenant, claim) == holder.encode()
        with suppress(BusUnavailable):  # It is delivered again, and its claim is taken then.
            delivery.ack()
        if not is_ours:
            self._bus.release(lease)
            return
        _LeasedJob(self._bus, workspace, remote, lease, self._running).run()


class _LeasedJob:
    """One program that runs on this worker."""

    def __init__(
        self,
        bus: Bus,
        workspace: OpenWorkspace,
        remote: RemoteJob,
        lease: BusLease,
        running: dict[str, "_LeasedJob"],
    ) -> None:
        self._bus, self._workspace, self._remote, self._lease, self._all = bus, workspace, remote, lease, running
        self.tenant = lease.tenant
        self.is_wanted = True
        self.check_now = threading.Event()
        self._waker: Waker | None = None
        self._renewed_at = time.monotonic()
        self._has_ended = threading.Event()

    def run(self) -> None:
        """Run the program, and send its result, as long as this worker has the lease."""
        self._all[self._remote.job_id] = self
        beating = threading.Thread(target=self._keep_lease, name="toolcharter-beat", daemon=True)
        beating.start()
        try:
            job = self._limit_job(self._remote.job)
            if self._remote.goes_on:
                self._run_background(job)
            else:
                self._send_result(self._on_runner(lambda runner: runner.run(job)))
        finally:
            self._has_ended.set()
            self.check_now.set()
            beating.join()
            del self._all[self._remote.job_id]
            with suppress(BusUnavailable):
                self._bus.release(self._lease)
                self._bus.publish(self._lease.tenant, TOPIC, self._remote.job_id.encode())

    def end(self) -> None:
        """Mark the program as no longer wanted, which ends it."""
        self.is_wanted = False
        if self._waker is not None:
            self._waker.wake()

    def _run_background(self, job: Job) -> None:
        with (
            closing(Waker()) as waker,
            closing(StreamEndpoint(self._bus, self.tenant, self._remote.job_id, WORKER, waker)) as endpoint,
        ):
            self._waker = waker
            program = BackgroundProgram(endpoint, waker)

            def supervise(runner: ProgramRunner) -> int | None:
                running = runner.start(job, self._remote.terminal)
                return program.supervise(running, lambda: self.is_wanted, job.expires)

            program.end(self._on_runner(supervise), lambda: not self._is_lease_expired())
            self._waker = None
            with suppress(BusUnavailable):
                if self._bus.holder(self.tenant, caller_lease(self._remote.caller)) is None:
                    endpoint.writer("out").drop()

    def _on_runner(self, work: Callable[[ProgramRunner], T]) -> T | Denied | ToolError:
        """Return the result of *work* with the workspace's runner, or the error."""
        settings, remote = self._workspace.settings, self._remote
        scope = RunnerScope(self._workspace.folder, settings.protected, lambda: remote.hidden)
        try:
            with closing(self._workspace.open_runner(scope)) as runner:
                if remote.needs_sandbox and not runner.is_sandbox:
                    what = f"The worker's runner {runner.name!r} is no sandbox, and the profile requires one."
                    return Denied("sandbox_unavailable", what)
                return work(runner)
        except (Denied, ToolError) as error:
            return error
        except Exception as error:  # noqa: BLE001 - the waiting runner gets the error
            return ToolError(f"The worker could not run the program: {type(error).__name__}.")

    def _limit_job(self, job: Job) -> Job:
        settings = self._workspace.settings
        limits = settings.limits
        latest = float("inf") if limits.timeout_s is None else time.monotonic() + limits.timeout_s
        return Job(
            argv=job.argv,
            cwd=job.cwd,
            env=job.env,
            stdin=job.stdin,
            expires=min(job.expires, latest),
            max_output_bytes=min(job.max_output_bytes, limits.max_output_bytes),
            limits=_strictest_limits(job.limits, limits),
            read_only=job.read_only or settings.read_only,
            protected=job.protected,
            network=job.network and settings.network,
            drops_errors=job.drops_errors,
            is_wanted=lambda: self.is_wanted,
        )

    def _send_result(self, outcome: Ended | Denied | ToolError) -> None:
        for number, chunk in enumerate(result_chunks(outcome)):
            until = time.monotonic() + _SEND_S
            while True:
                try:
                    self._bus.create(self._lease.tenant, f"out-{self._remote.job_id}-{number}", chunk, ttl_s=_KEPT_S)
                    break
                except BusUnavailable:
                    if time.monotonic() > until:
                        return
                    self._has_ended.wait(0.2)
            self._bus.publish(self._lease.tenant, TOPIC, self._remote.job_id.encode())

    def _keep_lease(self) -> None:
        """Renew the lease. End the program when it is not wanted, or when the lease has expired."""
        ttl_s = self._remote.lease_s
        while not self._has_ended.is_set():
            self.check_now.wait(min(POLL_S, ttl_s / 4))
            self.check_now.clear()
            with suppress(BusUnavailable):
                if not self._is_still_wanted() or (
                    time.monotonic() - self._renewed_at > ttl_s / 3 and not self._renew_lease()
                ):
                    self.end()
            if self._is_lease_expired():
                self.end()

    def _is_lease_expired(self) -> bool:
        return time.monotonic() - self._renewed_at > self._remote.lease_s

    def _is_still_wanted(self) -> bool:
        """Whether the runner has not stopped the job, and still renews its heartbeat."""
        stopped = self._bus.get(self.tenant, f"stop-{self._remote.job_id}") is not None
        return not stopped and self._bus.holder(self.tenant, caller_lease(self._remote.caller)) is not None

    def _renew_lease(self) -> bool:
        asked = time.monotonic()
        if self._bus.renew(self._lease, ttl_s=self._remote.lease_s) is None:
            return False
        self._renewed_at = asked
        return True


def _strictest_limits(job: ProcessLimits, own: WorkerLimits) -> ProcessLimits:
    def strictest(name: str) -> int | None:
        values = [value for value in (getattr(job, name), getattr(own, name)) if value is not None]
        return min(values) if values else None

    return ProcessLimits(
        memory_bytes=strictest("memory_bytes"),
        processes=strictest("processes"),
        open_files=strictest("open_files"),
        file_bytes=strictest("file_bytes"),
        cpu_s=strictest("cpu_s"),
    )
