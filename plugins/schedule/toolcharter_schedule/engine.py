"""`Engine`: finds due jobs, claims their runs, and records the outcomes. It has no threads; the clock is an argument.

Each step is one transaction on records that it has just read, so that only one of many processes takes the step:

- a job is due: its run is written as `waiting`, and the job gets its next due time;
- a run waits: a process claims it with a lease, which it renews while the run lasts;
- a run has ended: its outcome is written, or the time of the next attempt.

If a process dies between two steps, another process continues from the records.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import random
from typing import NamedTuple

from toolcharter import Store, StoreConflict, Stored, StoreTransaction
from toolcharter_schedule.records import OPEN, Job, Run, State, time_key
from toolcharter_schedule.run_history import next_due, to_run, with_time
from toolcharter_schedule.timing import NEVER, SECOND, At, milliseconds

PAGE = 50
"""How many jobs or runs a step reads at a time."""
MAX_PAGES = 20
MAX_TEXT = 4_000
"""How much text of a run's outcome is kept, in characters."""
SET_BACK_MS = SECOND
"""How far a clock has to be set back before jobs are planned again, in milliseconds."""


class Outcome(NamedTuple):
    """The outcome of one attempt."""

    state: State
    """`ok`, `error`, `denied`, `lost`, or `ended` if the job is over."""
    text: str = ""
    error: str = ""
    again: bool = False
    """Whether another attempt may succeed."""


class ClaimedRun(NamedTuple):
    """A run that this process has claimed: it must start the run, and end it by `Engine.finish`."""

    job: Job
    run: Run


class _IdlePeriod(NamedTuple):
    """There is no work before *until_ms*, unless the store has a later change than *change*."""

    until_ms: int
    change: int


class Engine:
    """The jobs of one profile and workspace in a store.

    Args:
        store: The store with the jobs.
        clock: Returns Unix time in seconds.
        worker: A name that no other process has.
        lasts_s: How long a claim lasts without `renew`, in seconds; then the process of the run counts as dead.
        place: The profile and the workspace whose jobs these are, as `place_of` makes it.
        keep_runs: How many ended runs of a job are kept.
        chance: Returns a number of at least 0 and below 1, for the jitter of retries.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float],
        worker: str,
        lasts_s: float,
        place: str = "",
        keep_runs: int = 50,
        chance: Callable[[], float] = random,
    ) -> None:
        self._store = store
        self._clock = clock
        self._worker = worker
        self._lasts_ms = milliseconds(lasts_s)
        self._keep_runs = keep_runs
        self._chance = chance
        self._here = {"place": place}
        self._seen_ms: int | None = None
        self._quiet: _IdlePeriod | None = None
        self._own: dict[tuple[str, str], int] = {}
        """The runs that this process has claimed, and until when each claim lasts."""

    def now_ms(self) -> int:
        """Return the current time in milliseconds."""
        return milliseconds(self._clock())

    def tick(self, room: int) -> list[ClaimedRun]:
        """Write runs for the jobs that are due, and claim up to *room* runs, which the caller must start.

        Raises:
            StoreUnavailable: The store cannot be reached.
        """
        now = self.now_ms()
        # Due times that were planned while the clock was ahead, also by an earlier process, would be too late.
        if self._seen_ms is None or now < self._seen_ms - SET_BACK_MS:
            self._plan_anew(now)
            self._quiet = None
        self._seen_ms = now
        change, quiet = self._store.last_change(), self._quiet
        if quiet is not None and now < quiet.until_ms and change == quiet.change:
            return []
        self._write_due_runs(now)
        claimed = self._claim_all(now, room)
        self._quiet = _IdlePeriod(self._next_ms(), change)
        return claimed

    def renew(self) -> None:
        """Renew the claims of this process; to be called several times in `lasts_s`.

        Raises:
            StoreUnavailable: The store cannot be reached.
        """
        now = self.now_ms()
        for key, until in tuple(self._own.items()):
            if not self._lasts_ms // 2 <= until - now <= self._lasts_ms:
                with suppress(StoreConflict):
                    is_ours = self._store.transact(partial(self._renew, key=key, until=now + self._lasts_ms))
                    if key in self._own and is_ours:
                        self._own[key] = now + self._lasts_ms

    def _renew(self, tx: StoreTransaction, key: tuple[str, str], until: int) -> bool:
        stored = tx.get(Run, *key)
        if stored is None or stored.record.state != "running" or stored.record.worker != self._worker:
            return False
        tx.put(stored.record.model_copy(update={"at": until}), expected=stored.version)
        return True

    def _write_due_runs(self, now: int) -> None:
        """Write the runs of all jobs that are due."""
        for _ in range(MAX_PAGES):
            due = self._due(now)
            for job in due:
                with suppress(StoreConflict):  # another process was faster
                    self._store.transact(partial(self._write_run, key=job.id, now=now))
            if len(due) < PAGE:
                break

    def _claim_all(self, now: int, room: int) -> list[ClaimedRun]:
        claimed: list[ClaimedRun] = []
        for run in self._open_until(now):
            if len(claimed) == room:
                break
            with suppress(StoreConflict):
                one = self._store.transact(partial(self._claim, seen=run, now=now))
                if one is not None:
                    claimed.append(one)
                    self._own[one.run.job, one.run.time] = one.run.at
        return claimed

    def _next_ms(self) -> int:
        """Return when the next job or run is due."""
        jobs = self._store.page(Job, where=self._here, order="due", limit=1).records
        runs = self._store.page(Run, where=self._here, order="at", limit=1).records
        return min([stored.record.due for stored in jobs] + [stored.record.at for stored in runs], default=NEVER)

    def _due(self, now: int) -> list[Job]:
        found = self._store.page(Job, where=self._here, order="due", limit=PAGE).records
        return [stored.record for stored in found if stored.record.due <= now]

    def _open_until(self, now: int) -> list[Run]:
        found = self._store.page(Run, where=self._here, order="at", limit=PAGE).records
        return [stored.record for stored in found if stored.record.at <= now]

    def _plan_anew(self, now: int) -> None:
        """Bring forward jobs and open runs that were planned while the clock was ahead."""
        after = ""
        while True:
            page = self._store.page(Job, where=self._here, after=after, limit=PAGE)
            for stored in page.records:
                job = stored.record
                due = next_due(job.timing, job.fired, now) if job.enabled else NEVER
                if due < job.due:
                    with suppress(StoreConflict):
                        self._store.put(job.model_copy(update={"due": due}), expected=stored.version)
            after = page.after
            if not after:
                break
        for stored_run in self._store.page(Run, where=self._here, order="at", limit=1_000).records:
            run = stored_run.record
            latest = now if run.state == "waiting" else now + self._lasts_ms
            if run.state in OPEN and run.at > latest:
                with suppress(StoreConflict):
                    self._store.put(run.model_copy(update={"at": latest}), expected=stored_run.version)

    def _write_run(self, tx: StoreTransaction, key: str, now: int) -> None:
        """Write the run of a job that is due, and the job's next due time."""
        stored = tx.get(Job, key)
        if stored is None or stored.record.due > now:
            return
        job = stored.record
        time = to_run(job.timing, job.fired, job.due, now, job.grace_ms)
        error = (
            "No process ran it in time." if time is None else "The previous run had not ended." if job.running else ""
        )
        due = job.due if time is None else time
        known = tx.get(Run, job.id, time_key(due))
        changes: dict[str, object] = {}
        if known is None or known.record.state == "missed":
            run = Run(job=job.id, place=job.place, time=time_key(due), due=due, at=now, state="waiting")
            if error:
                run = run.model_copy(update={"state": "missed", "at": NEVER, "ended_ms": now, "error": error})
                changes |= {"last_state": "missed", "last_error": error}
                self._forget(tx, job.id)
            else:
                changes |= {"running": run.time, "fired": with_time(job.fired, job.timing, due)}
            tx.put(run, expected=0 if known is None else known.version)
        job = job.model_copy(update=changes)
        job = job.model_copy(update={"due": next_due(job.timing, job.fired, max(now, due))})
        if isinstance(job.timing, At) and not job.running:
            job = job.model_copy(update={"enabled": False})
        tx.put(job, expected=stored.version)

    def _claim(self, tx: StoreTransaction, seen: Run, now: int) -> ClaimedRun | None:
        """Claim a waiting run, or give up a run whose process is gone."""
        stored, of = tx.get(Run, seen.job, seen.time), tx.get(Job, seen.job)
        if stored is None or stored.record.at > now or stored.record.state not in OPEN:
            return None
        run = stored.record
        # A run that a caller requested runs even if its job is over.
        if of is None or not (of.record.enabled or run.is_asked):
            tx.put(_ended(run, now, "ended", "The job was cancelled."), expected=stored.version)
            return None
        if run.state == "running":
            if (run.job, run.time) in self._own:  # the clock was set forward during the run
                tx.put(run.model_copy(update={"at": now + self._lasts_ms}), expected=stored.version)
                return None
            # It may have acted. Only a run without an effect the second time is started again.
            if of.record.work == "task" or of.record.deliver:
                lost = _ended(run, now, "lost", "The process that ran it is gone; it may have acted.")
                tx.put(lost, expected=stored.version)
                self._record_end(tx, of, lost)
                return None
        begun = run.model_copy(
            update={
                "state": "running",
                "at": now + self._lasts_ms,
                "attempt": run.attempt + (run.state == "waiting"),
                "worker": self._worker,
                "began_ms": run.began_ms or now,
            }
        )
        tx.put(begun, expected=stored.version)
        return ClaimedRun(of.record, begun)

    def finish(self, claimed: ClaimedRun, outcome: Outcome) -> None:
        """Record the outcome of a run.

        Raises:
            StoreUnavailable: The store cannot be reached; the run counts as lost when its claim expires.
        """
        self._store.transact(lambda tx: self._finish(tx, claimed, outcome))
        self._own.pop((claimed.run.job, claimed.run.time), None)

    def _finish(self, tx: StoreTransaction, claimed: ClaimedRun, outcome: Outcome) -> None:
        stored, of = tx.get(Run, claimed.run.job, claimed.run.time), tx.get(Job, claimed.job.id)
        if stored is None:
            return  # the job was removed
        run, now = stored.record, self.now_ms()
        if run.worker != self._worker or run.state not in {"running", "lost"}:
            return  # another process has started it again
        tries_left = of is not None and (of.record.enabled or run.is_asked) and run.attempt <= of.record.retry.times
        if of is not None and outcome.again and tries_left and run.state == "running":
            wait = of.record.retry.wait_ms(run.attempt, self._chance())
            update = {"state": "waiting", "at": now + wait, "error": outcome.error[:MAX_TEXT]}
            tx.put(run.model_copy(update=update), expected=stored.version)
            return
        ended = _ended(run, now, outcome.state, outcome.error, outcome.text)
        tx.put(ended, expected=stored.version)
        if of is not None:
            self._record_end(tx, of, ended)

    def _record_end(self, tx: StoreTransaction, of: Stored[Job], run: Run) -> None:
        """Record in the job that *run* has ended."""
        job = of.record
        over = run.state == "ended" or (isinstance(job.timing, At) and job.due == NEVER)
        if over and job.delete_after_run and run.state == "ok":
            remove(tx, job.id)
            return
        update: dict[str, object] = {"last_state": run.state, "last_error": run.error}
        if job.running == run.time:
            update["running"] = ""
        if over:
            update |= {"enabled": False, "due": NEVER}
        tx.put(job.model_copy(update=update), expected=of.version)
        self._forget(tx, job.id)

    def _forget(self, tx: StoreTransaction, job: str) -> None:
        """Delete the oldest ended runs of a job, beyond `keep_runs`."""
        surplus = tx.count(Run, where={"job": job}) - self._keep_runs
        if surplus > 0:
            for stored in tx.page(Run, where={"job": job}, limit=surplus).records:
                if stored.record.state not in OPEN:
                    tx.delete(Run, job, stored.record.time)


def remove(tx: StoreTransaction, job: str) -> None:
    """Delete a job and its runs."""
    tx.delete(Job, job)
    for stored in tx.page(Run, where={"job": job}, limit=1_000).records:
        tx.delete(Run, job, stored.record.time)


def _ended(run: Run, now: int, state: State, error: str = "", text: str = "") -> Run:
    update = {"state": state, "at": NEVER, "ended_ms": now, "error": error[:MAX_TEXT], "text": text[:MAX_TEXT]}
    return run.model_copy(update=update)
