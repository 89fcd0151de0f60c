"""Many threads, processes and forks use one store at a time: nothing is lost, and everything in order."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from typing import NoReturn

import pytest
from tests.plugins.stores.store_servers import PostgresqlServer, Rows, SqliteFolder, process, row

from toolcharter import EngineTransaction, Scope, StoreConflict, StoreEngine, StoreUnavailable, open_store
from toolcharter_stores.sql import transaction

pytestmark = pytest.mark.slow
WAITING = pytest.mark.parametrize("places", ["sqlite", "postgresql"], indirect=True)
"""For databases whose writers keep others waiting; in Redis a transaction runs again instead."""
COUNT_UP = """
def count_up(each):
    found = each.get("count", ("n",))
    each.put("count", NewRow(("n",), str(int(found.document) + 1), {}, "", ()), expected=found.version)
"""


def count_up(each: EngineTransaction) -> None:
    """Read a number, and write the next one."""
    found = each.get("count", ("n",))
    assert found is not None
    each.put("count", row("n", document=str(int(found.document) + 1)), expected=found.version)


def test_threads_lose_no_update(rows: Rows) -> None:
    """Each reads and writes as if nobody else were there."""
    rows.put("count", row("n", document="0"))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: rows.transact(count_up), range(60)))

    assert rows.document("count", "n") == "60"
    assert rows.engine.last_change(rows.scope, timeout_s=30) == 61


def test_processes_lose_no_update_when_one_is_killed(shared_url: str, rows: Rows) -> None:
    """What a killed one had begun is undone, and nobody waits for it."""
    rows.put("count", row("n", document="0"))
    stuck = """
def work(each):
    put("count", "n", "999")(each)
    print("begun", flush=True)
    time.sleep(600)
transact(work)
"""
    counting = COUNT_UP + "print('ready', flush=True); sys.stdin.readline()\nfor _ in range(20): transact(count_up)\n"
    with ExitStack() as stack:
        killed = stack.enter_context(process(stuck, shared_url, rows.scope))
        others = [stack.enter_context(process(counting, shared_url, rows.scope)) for _ in range(2)]
        for one in (killed, *others):
            assert one.stdout is not None
            assert one.stdout.readline() in {"begun\n", "ready\n"}
        for one in others:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        killed.send_signal(signal.SIGKILL)
        assert [one.wait(60) for one in others] == [0, 0]

    assert rows.document("count", "n") == "40"


def test_two_values_are_never_seen_apart(rows: Rows) -> None:
    """A transaction that only reads sees one moment."""

    def write(number: int) -> None:
        rows.transact(lambda each: [each.put("pair", row(key, document=str(number)), expected=None) for key in "ab"])

    def read(each: EngineTransaction) -> tuple[str, str]:
        first, second = each.get("pair", ("a",)), each.get("pair", ("b",))
        assert first is not None
        assert second is not None
        return first.document, second.document

    write(0)
    with ThreadPoolExecutor(3) as pool:
        writing = [pool.submit(write, number) for number in range(1, 40)]
        seen = [rows.transact(read) for _ in range(40)]
        for each in writing:
            each.result()

    assert [pair for pair in seen if pair[0] != pair[1]] == []


def test_who_follows_the_changes_misses_none(shared_url: str, rows: Rows) -> None:
    """However many write at a time, in threads and processes: numbers are committed in their order."""
    writing = (
        "print('ready', flush=True)\nfor n in range(60): transact(put('p', str(n), n=n))\nprint('done', flush=True)\n"
    )
    followed: list[tuple[int, str, tuple[str, ...], bool]] = []
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(3))
        writer = stack.enter_context(process(writing, shared_url, rows.scope))
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        jobs = [pool.submit(rows.put, f"t{number % 3}", row(str(number))) for number in range(120)]
        jobs += [pool.submit(rows.delete, "t0", str(number)) for number in range(0, 120, 3)]
        while writer.poll() is None or not all(job.done() for job in jobs):
            after = followed[-1][0] if followed else 0
            followed += rows.changes(after, limit=7)
    while found := rows.changes(followed[-1][0], limit=7):
        followed += found

    numbers = [change[0] for change in followed]
    assert numbers == sorted(set(numbers))
    last = {(kind, key): (seq, deleted) for seq, kind, key, deleted in followed}
    assert last == {(kind, key): (seq, deleted) for seq, kind, key, deleted in rows.changes()}
    assert len(last) == 180


def test_deletions_are_forgotten_and_who_asks_for_them_is_told(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those before the kept ones; from 0, all that is there is read anew."""
    for module in (transaction, import_module("toolcharter_redis.engine")):
        monkeypatch.setattr(module, "KEPT_DELETIONS", 10)

    def write(each: EngineTransaction) -> None:
        for number in range(500):
            each.put("tool", row(str(number)), expected=0)
        for number in range(500):
            each.delete("tool", (str(number),), expected=1)

    rows.put("other", row("a"))
    rows.transact(write)
    rows.transact(write)

    told = rows.changes()
    assert (told[0], len(told)) == ((1, "other", ("a",), False), 12)
    assert rows.changes(told[-1][0]) == []
    assert len(rows.changes(1_990)) == 11
    with pytest.raises(StoreConflict, match="read everything again, from 0"):
        rows.changes(1_989)


def test_a_lease_has_one_holder_and_its_numbers_rise(engine: StoreEngine, scope: Scope) -> None:
    """Its holder gets the same again; who takes it later has a higher number."""
    first = engine.lease(scope, "job", "a", 60, timeout_s=30)
    assert first is not None
    assert engine.lease(scope, "job", "b", 60, timeout_s=30) is None
    again = engine.lease(scope, "job", "a", 90, timeout_s=30)
    assert again is not None
    assert (again.fence, again.expires > first.expires) == (first.fence, True)
    renewed = engine.renew(scope, first, 120, timeout_s=30)
    assert (renewed.fence, renewed.expires > again.expires) == (first.fence, True)

    engine.release(scope, first, timeout_s=30)
    second = engine.lease(scope, "job", "b", 60, timeout_s=30)
    assert second is not None
    assert second.fence > first.fence
    engine.release(scope, first, timeout_s=30)
    with pytest.raises(StoreConflict):
        engine.renew(scope, first, 60, timeout_s=30)
    assert engine.lease(scope, "job", "c", 60, timeout_s=30) is None


def test_one_of_many_gets_a_lease(engine: StoreEngine, scope: Scope) -> None:
    """At a time; and each who gets it a number of its own."""

    def take(number: int) -> int:
        lease = None
        while lease is None:
            lease = engine.lease(scope, "job", f"h{number}", 30, timeout_s=30)
        engine.release(scope, lease, timeout_s=30)
        return lease.fence

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(take, range(12))) == list(range(1, 13))


def test_nothing_is_written_under_a_lost_lease(rows: Rows) -> None:
    """Neither by one that had lost it before, nor by one that loses it while it works."""
    engine, scope = rows.engine, rows.scope
    old = engine.lease(scope, "job", "a", 0.2, timeout_s=30)
    assert old is not None

    def work(each: EngineTransaction) -> None:
        each.require_lease(old)
        each.put("tool", row("a"), expected=None)
        # Longer than the lease lasts.
        threading.Event().wait(0.3)

    with pytest.raises(StoreConflict):
        rows.transact(work)
    new = engine.lease(scope, "job", "b", 60, timeout_s=30)
    assert new is not None
    with pytest.raises(StoreConflict):
        rows.transact(work)
    assert rows.keys("tool") == []

    def work_anew(each: EngineTransaction) -> int:
        each.require_lease(new)
        return each.put("tool", row("b"), expected=0)

    assert rows.transact(work_anew) == 1
    assert rows.keys("tool") == [("b",)]


@WAITING
def test_who_waits_for_a_writer_waits_no_longer_than_it_may(rows: Rows) -> None:
    """And reads meanwhile; when the writer is done, all goes on."""
    rows.put("tool", row("a", document='"before"'))
    begun, may_end = threading.Event(), threading.Event()

    def hold(each: EngineTransaction) -> None:
        each.put("tool", row("a", document='"after"'), expected=None)
        begun.set()
        assert may_end.wait(60)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(rows.transact, hold)
        try:
            assert begun.wait(60)
            waiting = Rows(rows.engine, rows.scope, timeout_s=0.3)
            with pytest.raises(StoreUnavailable):
                waiting.put("tool", row("b"))
            assert not holding.done()
            assert rows.document("tool", "a") == '"before"'
        finally:
            may_end.set()
        holding.result()

    assert rows.document("tool", "a") == '"after"'
    assert rows.put("tool", row("b")) == 1


@WAITING
def test_all_connections_in_use_are_told_in_time(rows: Rows) -> None:
    """More threads than connections: the last waits, and is refused when its time is over."""
    may_end = threading.Event()
    waiting = threading.Semaphore(0)

    def hold(each: EngineTransaction) -> None:
        each.get("tool", ("a",))
        waiting.release()
        assert may_end.wait(60)

    with ThreadPoolExecutor(10) as pool:
        jobs = [pool.submit(rows.transact, hold) for _ in range(10)]
        try:
            for _ in range(8):
                assert waiting.acquire(timeout=60)
            # Two of those that hold may have come later than this one.
            hasty = Rows(rows.engine, rows.scope, timeout_s=0.2)
            refused = [_refusal(hasty) for _ in range(3)]
        finally:
            may_end.set()
        for job in jobs:
            job.result()

    assert any("were in use" in message for message in refused)
    assert rows.keys("tool") == []


def _refusal(rows: Rows) -> str:
    try:
        rows.document("tool", "a")
    except StoreUnavailable as error:
        return str(error.message)
    return ""


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_uses_the_engine_of_its_parent(rows: Rows) -> None:
    """With connections of its own: also while another thread of the parent is within a transaction."""
    rows.put("count", row("n", document="0"))
    begun, may_end = threading.Event(), threading.Event()

    def hold(each: EngineTransaction) -> None:
        each.get("count", ("n",))
        begun.set()
        assert may_end.wait(60)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(rows.transact, hold)
        assert begun.wait(60)
        children = [_fork(rows) for _ in range(2)]
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        may_end.set()
        holding.result()

    assert ended == [0, 0]
    rows.transact(count_up)
    assert rows.document("count", "n") == "11"


def _fork(rows: Rows) -> int:
    child = os.fork()
    if not child:
        _count_and_exit(rows)
    return child


def _count_and_exit(rows: Rows) -> NoReturn:
    status = 1
    try:
        for _ in range(5):
            rows.transact(count_up)
        rows.engine.close()
        status = 0
    finally:
        os._exit(status)


@pytest.fixture
def empty_url(places: PostgresqlServer | SqliteFolder) -> str:
    """A store without tables."""
    return places.new(migrated=False)


def test_processes_that_migrate_at_once_wait_for_each_other(empty_url: str, scope: Scope) -> None:
    """One makes the tables, the others find them."""
    with (
        open_store(empty_url, migrates=False) as store,
        pytest.raises(StoreUnavailable, match="toolcharter store migrate"),
    ):
        _ = store.engine
    with ExitStack() as stack:
        running = [
            stack.enter_context(process("transact(put('a', str(os.getpid())))", empty_url, scope)) for _ in range(3)
        ]
        assert [one.wait(60) for one in running] == [0, 0, 0]

    with open_store(empty_url, migrates=False) as store:
        assert len(Rows(store.engine, scope).keys("a")) == 3
