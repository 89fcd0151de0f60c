"""Each time of a job runs once: over several processes, after downtime, when a process dies, when the clock is set."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.plugins.schedule.conftest import HOUR_MS, Clock, make_job

from toolcharter import Store
from toolcharter_schedule.engine import PAGE, Engine, Outcome
from toolcharter_schedule.records import Job, Run
from toolcharter_schedule.timing import NEVER, At, Cron, Every

OK = Outcome("ok", "done")
FAILED = Outcome("error", error="The line is busy.", again=True)
Make = Callable[..., Engine]


def hourly(clock: Clock) -> Every:
    return Every(every_ms=HOUR_MS, anchor_ms=clock.now_ms)


def runs(store: Store, job: str = "job") -> list[tuple[str, int]]:
    """State and attempts of each run, the oldest first."""
    return [(one.record.state, one.record.attempt) for one in store.page(Run, where={"job": job}).records]


def job_of(store: Store, key: str = "job") -> Job:
    found = store.get(Job, key)
    assert found is not None
    return found.record


def test_one_of_several_processes_runs_a_time(store: Store, clock: Clock, engine: Make) -> None:
    """Whoever looks first takes it; the others find nothing, before it has ended and after."""
    store.put(make_job(clock, hourly(clock)))
    one, two = engine("one"), engine("two")

    assert (one.tick(5), two.tick(5)) == ([], [])
    clock.advance(3600)
    taken = two.tick(5)
    assert ([each.run.due for each in taken], one.tick(5)) == ([clock.now_ms], [])
    two.finish(taken[0], OK)

    assert (one.tick(5), two.tick(5), runs(store)) == ([], [], [("ok", 1)])
    assert job_of(store).due == clock.now_ms + HOUR_MS


def test_once_is_over(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, At(at_ms=clock.now_ms + 5_000)))
    one = engine()
    clock.advance(5)

    one.finish(one.tick(5)[0], OK)

    clock.advance(10**6)
    assert (one.tick(5), runs(store)) == ([], [("ok", 1)])
    job = job_of(store)
    assert (job.enabled, job.due, job.last_state, job.running) == (False, NEVER, "ok", "")


def test_a_job_may_be_deleted_when_it_has_run(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, At(at_ms=clock.now_ms + 5_000), delete_after_run=True))
    one = engine()
    clock.advance(5)

    one.finish(one.tick(5)[0], OK)

    assert (store.get(Job, "job"), runs(store)) == (None, [])


def test_after_a_downtime_it_runs_once_for_the_last_time(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, hourly(clock)))
    begin = clock.now_ms
    clock.advance(5.5 * 3600)
    one = engine()

    taken = one.tick(5)

    assert [each.run.due - begin for each in taken] == [5 * HOUR_MS]
    one.finish(taken[0], OK)
    assert (job_of(store).due - begin, runs(store)) == (6 * HOUR_MS, [("ok", 1)])


def test_beyond_its_grace_it_is_missed(store: Store, clock: Clock, engine: Make) -> None:
    """It is told, and goes on with its next time; what is due once is over."""
    store.put(make_job(clock, hourly(clock), grace_ms=60_000))
    store.put(make_job(clock, At(at_ms=clock.now_ms + 1_000), "once", grace_ms=60_000))
    clock.advance(2.5 * 3600)

    assert engine().tick(5) == []

    assert (runs(store), runs(store, "once")) == ([("missed", 0)], [("missed", 0)])
    assert (job_of(store).due, job_of(store).enabled) == (clock.now_ms + HOUR_MS // 2, True)
    assert (job_of(store, "once").enabled, job_of(store, "once").last_state) == (False, "missed")


def test_a_run_that_has_not_ended_makes_the_next_one_missed(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, hourly(clock)))
    one = engine(lasts_s=2 * 3600)
    clock.advance(3600)
    taken = one.tick(5)
    clock.advance(3600)

    assert (one.tick(5), runs(store)) == ([], [("running", 1), ("missed", 0)])
    one.finish(taken[0], OK)
    clock.advance(3600)
    assert len(one.tick(5)) == 1


def test_what_failed_is_tried_again(store: Store, clock: Clock, engine: Make) -> None:
    """After 1 and 2 seconds, and no oftener than the job says."""
    store.put(make_job(clock, At(at_ms=clock.now_ms + 1_000)))
    one = engine()
    clock.advance(1)
    waits = []
    for _ in range(3):
        one.finish(one.tick(5)[0], FAILED)
        (run,) = store.page(Run, where={"job": "job"}).records
        waits.append((run.record.at - clock.now_ms) if run.record.at < NEVER else None)
        clock.advance((waits[-1] or 0) / 1000)

    assert (waits, runs(store)) == ([1000, 2000, None], [("error", 3)])
    assert job_of(store).last_error == "The line is busy."


def test_what_is_denied_is_not_tried_again(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, At(at_ms=clock.now_ms + 1_000)))
    one = engine()
    clock.advance(1)

    one.finish(one.tick(5)[0], Outcome("denied", error="not_available"))

    assert runs(store) == [("denied", 1)]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        pytest.param({"work": "message"}, "running", id="has no effect the second time"),
        pytest.param({"work": "task"}, "lost", id="may have acted"),
        pytest.param({"deliver": True}, "lost", id="may have been delivered"),
    ],
)
def test_a_process_that_dies_leaves_a_run_that_another_one_ends(
    store: Store, clock: Clock, engine: Make, changes: dict[str, Any], state: str
) -> None:
    """When its time is over: a message to the session is delivered all the same, for what may have acted nothing is done."""
    store.put(make_job(clock, hourly(clock), **changes))
    clock.advance(3600)
    dead = engine("dead").tick(5)
    two = engine("two")
    clock.advance(599)
    assert (len(dead), two.tick(5)) == (1, [])
    clock.advance(1)

    taken = two.tick(5)

    assert ([each.run.due for each in taken], runs(store)) == (
        [dead[0].run.due] if state == "running" else [],
        [(state, 1)],
    )
    for each in taken:
        two.finish(each, OK)
    assert job_of(store).running == ""


def test_what_ends_after_all_is_written_though_it_was_given_up(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, hourly(clock), work="task"))
    clock.advance(3600)
    slow = engine("slow")
    taken = slow.tick(5)
    clock.advance(600)
    engine("two").tick(5)
    assert runs(store) == [("lost", 1)]

    slow.finish(taken[0], OK)

    assert runs(store) == [("ok", 1)]


def test_a_clock_set_forward_takes_no_run_from_the_process_that_has_it(
    store: Store, clock: Clock, engine: Make
) -> None:
    store.put(make_job(clock, At(at_ms=clock.now_ms + 1_000), work="task"))
    one = engine()
    clock.advance(1)
    taken = one.tick(5)
    clock.advance(10**5)

    assert (one.tick(5), runs(store)) == ([], [("running", 1)])
    one.finish(taken[0], OK)
    assert runs(store) == [("ok", 1)]


def test_a_clock_set_back_fires_nothing_again(store: Store, clock: Clock, engine: Make) -> None:
    """And what has not been yet comes when the clock says so, in this process and in one that starts then."""
    store.put(make_job(clock, hourly(clock)))
    begin, one = clock.now_ms, engine("one")
    for _ in range(3):
        clock.advance(3600)
        one.finish(one.tick(5)[0], OK)
    clock.advance(-2.5 * 3600)

    for process in (one, engine("two")):
        assert process.tick(5) == []
        assert job_of(store).due - begin == 4 * HOUR_MS
    due = []
    for _ in range(8):
        clock.advance(1800)
        for each in one.tick(5):
            due.append((each.run.due - begin) // HOUR_MS)
            one.finish(each, OK)

    assert due == [4]


def test_a_clock_that_was_far_ahead_keeps_no_job_waiting(store: Store, clock: Clock, engine: Make) -> None:
    """What ran for a time to come does not run for it again; those before it are due as ever."""
    store.put(make_job(clock, hourly(clock)))
    begin, one = clock.now_ms, engine()
    clock.advance(1000 * 3600)
    one.finish(one.tick(5)[0], OK)
    clock.advance(-999.5 * 3600)

    one.tick(5)

    assert job_of(store).due - begin == HOUR_MS
    assert job_of(store).fired == ((begin + 1000 * HOUR_MS, begin + 1000 * HOUR_MS),)


def test_a_time_that_was_missed_by_a_clock_set_wrongly_is_due_again(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, hourly(clock), grace_ms=60_000))
    begin, one = clock.now_ms, engine()
    clock.advance(90 * 60)
    assert (one.tick(5), runs(store)) == ([], [("missed", 0)])
    clock.advance(-60 * 60)
    one.tick(5)
    clock.advance(30 * 60)

    taken = one.tick(5)

    assert ([each.run.due - begin for each in taken], runs(store)) == ([HOUR_MS], [("running", 1)])


def test_a_retry_does_not_wait_for_a_clock_that_was_set_back(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, At(at_ms=clock.now_ms + 1_000)))
    one = engine()
    clock.advance(1)
    one.finish(one.tick(5)[0], FAILED)
    clock.advance(-7200)

    assert [each.run.attempt for each in one.tick(5)] == [2]


def test_what_is_cancelled_runs_no_more(store: Store, clock: Clock, engine: Make) -> None:
    """Neither at its next time nor again after it has failed."""
    store.put(make_job(clock, hourly(clock)))
    one = engine()
    clock.advance(3600)
    one.finish(one.tick(5)[0], FAILED)
    store.put(job_of(store).model_copy(update={"enabled": False, "due": NEVER}))
    clock.advance(7200)

    assert (one.tick(5), runs(store)) == ([], [("ended", 1)])


def test_a_job_whose_process_is_gone_is_over(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, hourly(clock)))
    one = engine()
    clock.advance(3600)

    one.finish(one.tick(5)[0], Outcome("ended", error="Its process has ended."))

    clock.advance(7200)
    assert (one.tick(5), runs(store), job_of(store).enabled) == ([], [("ended", 1)], False)


def test_room_is_kept(store: Store, clock: Clock, engine: Make) -> None:
    """Many that are due at once are all written down, and begun as there is room."""
    for number in range(PAGE + 3):
        store.put(make_job(clock, hourly(clock), f"job{number:03}"))
    one = engine()
    clock.advance(3600)

    taken = one.tick(5)

    assert (len(taken), store.count(Run)) == (5, PAGE + 3)
    assert len(one.tick(2)) == 2


def test_old_runs_are_forgotten(store: Store, clock: Clock, engine: Make) -> None:
    store.put(make_job(clock, hourly(clock)))
    one = engine(keep_runs=3)
    for _ in range(6):
        clock.advance(3600)
        one.finish(one.tick(5)[0], OK)

    assert [run.record.due for run in store.page(Run).records] == [
        clock.now_ms - hours * HOUR_MS for hours in (2, 1, 0)
    ]


def test_summer_time_runs_a_job_once_a_day(store: Store, clock: Clock, engine: Make) -> None:
    """At 02:30 in Berlin, looked at every ten minutes over both changes of a year."""
    for day in ("2026-03-28", "2026-10-24"):
        clock.now_s = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=ZoneInfo("Europe/Berlin")).timestamp()
        key = f"job{day}"
        store.put(make_job(clock, Cron(expression="30 2 * * *", zone="Europe/Berlin"), key))
        one = engine()
        for _ in range(2 * 24 * 6):
            clock.advance(600)
            for taken in one.tick(5):
                one.finish(taken, OK)
        assert runs(store, key) == [("ok", 1)] * 2
