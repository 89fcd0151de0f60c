"""`Jobs`: the operations of both tools on jobs, only for the caller of the current call."""

from collections.abc import Callable
from typing import NamedTuple
from uuid import uuid4

from toolcharter import Caller, Denied, Store, Stored, StoreTransaction, ToolError, ToolRuntime
from toolcharter_schedule.engine import remove
from toolcharter_schedule.policy import JobsPolicy
from toolcharter_schedule.reasons import ScheduleReason
from toolcharter_schedule.records import Job, Run, owner_of, time_key
from toolcharter_schedule.timing import NEVER, At, milliseconds

MAX_LISTED = 1_000
_CRON_SESSION = ":cron:"


class Pages(NamedTuple):
    """The latest runs, latest first, and how many there are in total."""

    runs: list[Run]
    total: int


class Jobs:
    """The jobs of the current caller: those that the same agent made for the same user."""

    def __init__(self, rt: ToolRuntime, policy: JobsPolicy, clock: Callable[[], float]) -> None:
        self._rt = rt
        self._policy = policy
        self._clock = clock

    @property
    def _store(self) -> Store:
        return self._rt.store

    @property
    def now_ms(self) -> int:
        """The current time in milliseconds."""
        return milliseconds(self._clock())

    @property
    def owner(self) -> str:
        """The owner whose jobs the caller sees."""
        return owner_of(self._rt.caller)

    def require_not_made_by_a_job(self) -> None:
        """Refuse a caller that is itself a run of a job.

        Raises:
            Denied: `made_by_a_job`.
        """
        if is_job_run(self._rt.caller):
            raise Denied(ScheduleReason.MADE_BY_A_JOB, "A job may not make, change or start jobs.")

    def all(self) -> list[Job]:
        """Return the caller's jobs, by due time."""
        found = self._store.page(Job, where={"owner": self.owner}, order="due", limit=MAX_LISTED).records
        return [stored.record for stored in found]

    def own(self, key: str, tx: StoreTransaction | None = None) -> Stored[Job]:
        """Return the caller's job *key*.

        Raises:
            ToolError: `unknown_job`, also for the job of another owner.
        """
        found = (tx or self._store).get(Job, key) if key else None
        if found is None or found.record.owner != self.owner:
            raise ToolError(f"There is no job {key[:60]!r}.", reason=ScheduleReason.UNKNOWN_JOB)
        return found

    def create(self, job: Job) -> Job:
        """Store a new job, and remove the oldest stopped jobs of its owner beyond twice `max_jobs`.

        Raises:
            Denied: `too_many_jobs`.
        """

        def work(tx: StoreTransaction) -> None:
            own = [stored.record for stored in tx.page(Job, where={"owner": job.owner}, limit=MAX_LISTED).records]
            if sum(one.enabled for one in own) >= self._policy.max_jobs:
                what = f"There are {self._policy.max_jobs} jobs already, the maximum; cancel a job first."
                raise Denied(ScheduleReason.TOO_MANY_JOBS, what)
            over = sorted((one for one in own if not one.enabled), key=lambda one: one.created_ms)
            for one in over[: max(0, len(own) - 2 * self._policy.max_jobs)]:
                remove(tx, one.id)
            tx.put(job, expected=0)

        self._store.transact(work)
        return job

    def change(self, key: str, change: Callable[[Job], Job]) -> Job:
        """Replace the caller's job *key* by the result of *change*."""

        def work(tx: StoreTransaction) -> Job:
            found = self.own(key, tx)
            job = change(found.record)
            tx.put(job, expected=found.version)
            return job

        return self._store.transact(work)

    def cancel(self, key: str) -> Job:
        """Stop the caller's job *key*; a run that has started continues."""
        return self.change(key, lambda job: job.model_copy(update={"enabled": False, "due": NEVER}))

    def remove(self, key: str) -> None:
        """Delete the caller's job *key*, and its runs."""

        def work(tx: StoreTransaction) -> None:
            remove(tx, self.own(key, tx).record.id)

        self._store.transact(work)

    def start(self, key: str, *, even_if_not_due: bool) -> bool:
        """Run the caller's job *key* now.

        Args:
            key: The job's identifier.
            even_if_not_due: Whether the job runs even if it is not due.

        Returns:
            Whether the job runs. The scheduler starts a job that is due already.

        Raises:
            ToolError: `is_running`.
        """

        def work(tx: StoreTransaction) -> bool:
            found, now = self.own(key, tx), self.now_ms
            job = found.record
            if job.running:
                raise ToolError(f"The job {key!r} is running.", reason=ScheduleReason.IS_RUNNING)
            if not even_if_not_due:
                return job.enabled and job.due <= now
            run = Run(job=job.id, place=job.place, time=time_key(now, asked=True), due=now, at=now, state="waiting")
            tx.put(run, expected=0)
            # A job that is over runs once more, and stays over.
            tx.put(job.model_copy(update={"running": run.time}), expected=found.version)
            return True

        return self._store.transact(work)

    def runs(self, key: str, limit: int) -> Pages:
        """Return the runs of the caller's job *key*."""
        job = self.own(key).record.id
        found = self._store.page(Run, where={"job": job}, descending=True, limit=limit).records
        return Pages([stored.record for stored in found], self._store.count(Run, where={"job": job}))


def new_id() -> str:
    """Return an identifier that cannot be guessed."""
    return f"job-{uuid4().hex[:20]}"


def is_job_run(caller: Caller) -> bool:
    """Return whether *caller* is a run of a job, by the key of its session."""
    return _CRON_SESSION in (caller.session or "")


def session_of(job: Job) -> str:
    """Return the key of the session for the runs of *job*."""
    return f"agent:{job.agent or job.creator.agent or ''}:cron:{job.id}"


def is_finished(job: Job) -> bool:
    """Return whether *job* will not run again."""
    return not job.enabled or (isinstance(job.timing, At) and job.due == NEVER and not job.running)
