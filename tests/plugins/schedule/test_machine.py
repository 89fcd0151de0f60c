"""Jobs under clocks that jump and processes that die, against a model: no time runs twice, none is forgotten."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.plugins.schedule.conftest import HOUR_MS, Clock, make_job

from toolcharter import Store
from toolcharter_schedule.engine import ClaimedRun, Engine, Outcome
from toolcharter_schedule.records import OPEN, Job, Run
from toolcharter_schedule.timing import NEVER, At, Cron, Every

LASTS_S = 600.0
OUTCOMES = {"ok": Outcome("ok"), "failed": Outcome("error", again=True), "denied": Outcome("denied")}


class Jobs(RuleBasedStateMachine):
    """Two processes over one store; each may die, and another one takes its place."""

    new_store: Callable[[], Store]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.store = self.new_store()
        self.jobs: dict[str, Job] = {}
        self.workers = [self._worker(0), self._worker(1)]
        self.began = 2
        self.under_way: list[tuple[int, ClaimedRun]] = []
        self.ended: dict[tuple[str, str], str] = {}
        """What ended, and how: it must not begin again."""
        self.begun: dict[tuple[str, str], set[int]] = {}
        """The attempts of each run, by which it may have acted."""

    def _worker(self, number: int) -> Engine:
        return Engine(self.store, clock=self.clock, worker=f"worker{number}", lasts_s=LASTS_S, keep_runs=1_000)

    @initialize(work=st.sampled_from(["message", "task"]))
    def add_first(self, work: str) -> None:
        self._add(Every(every_ms=HOUR_MS, anchor_ms=self.clock.now_ms), work)

    @precondition(lambda self: len(self.jobs) < 4)
    @rule(
        kind=st.sampled_from(["at", "every", "cron"]),
        work=st.sampled_from(["message", "task"]),
        minutes=st.integers(1, 90),
    )
    def add(self, kind: str, work: str, minutes: int) -> None:
        timing = {
            "at": At(at_ms=self.clock.now_ms + minutes * 60_000),
            "every": Every(every_ms=minutes * 60_000, anchor_ms=self.clock.now_ms),
            "cron": Cron(expression=f"*/{min(minutes, 59)} * * * *", zone="Europe/Berlin"),
        }[kind]
        self._add(timing, work)

    def _add(self, timing: Any, work: str) -> None:
        key = f"job{len(self.jobs)}"
        self.jobs[key] = make_job(self.clock, timing, key, work=work)
        self.store.put(self.jobs[key])

    @rule(minutes=st.sampled_from([1, 5, 15, 59, 61, 180]))
    def time_passes(self, minutes: int) -> None:
        self.clock.advance(minutes * 60)

    @rule(minutes=st.sampled_from([-600, -61, -30, -1, 24 * 60]))
    def the_clock_is_set(self, minutes: int) -> None:
        self.clock.advance(minutes * 60)

    @rule(which=st.integers(0, 1))
    def look(self, which: int) -> None:
        for taken in self.workers[which].tick(3):
            key = (taken.run.job, taken.run.time)
            assert key not in self.ended, f"{key} ended as {self.ended[key]} and began again"
            assert key in self.begun or taken.run.due <= self.clock.now_ms, "it began too early"
            attempts = self.begun.setdefault(key, set())
            if taken.job.work == "task":
                assert taken.run.attempt not in attempts, "one attempt was begun twice, and may have acted twice"
            attempts.add(taken.run.attempt)
            self.under_way.append((which, taken))

    @rule(which=st.integers(0, 1))
    def renew(self, which: int) -> None:
        """What is renewed is nobody else's for as long as a run lasts."""
        self.workers[which].renew()

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), outcome=st.sampled_from([*OUTCOMES, "ok"]))
    def end(self, data: st.DataObject, outcome: str) -> None:
        which, taken = self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))
        self._end(which, taken, outcome)

    def _end(self, which: int, taken: ClaimedRun, outcome: str) -> None:
        self.workers[which].finish(taken, OUTCOMES[outcome])
        found = self.store.get(Run, taken.run.job, taken.run.time)
        if found is not None and found.record.state not in OPEN:
            self.ended[taken.run.job, taken.run.time] = found.record.state

    @rule(which=st.integers(0, 1))
    def die(self, which: int) -> None:
        self.under_way = [one for one in self.under_way if one[0] != which]
        self.began += 1
        self.workers[which] = self._worker(self.began)

    @rule(number=st.integers(1, 3))
    def cancel(self, number: int) -> None:
        found = self.store.get(Job, f"job{number}")
        if found is not None:
            self.store.put(found.record.model_copy(update={"enabled": False, "due": NEVER}))

    @invariant()
    def what_has_ended_stays_so(self) -> None:
        for stored in self.store.page(Run).records:
            run = stored.record
            known = self.ended.get((run.job, run.time))
            assert known is None or run.state == known
            assert (run.at == NEVER) == (run.state not in OPEN)

    def teardown(self) -> None:
        """With one process alive and the clock going on, a job that goes on runs within its interval."""
        if "job0" not in self.jobs:
            return
        self.under_way.clear()
        alive, ran = self._worker(10_000), 0
        self.workers = [alive, alive]
        for _ in range(6):
            for taken in alive.tick(50):
                ran += taken.run.job == "job0"
                self._end(0, taken, "ok")
            self.clock.advance(HOUR_MS / 1000)
        found = self.store.get(Job, "job0")
        assert found is not None
        assert ran >= 3, f"a job of every hour ran {ran} times in six: {found.record}"


@pytest.mark.slow
def test_jobs_under_clock_jumps_and_kills(stores: Callable[[], Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """No time runs twice, nothing begins early, what has ended stays so, and what is due comes."""
    monkeypatch.setattr(Jobs, "new_store", staticmethod(stores), raising=False)
    run_state_machine_as_test(Jobs, settings=settings(max_examples=25, stateful_step_count=30, deadline=None))
