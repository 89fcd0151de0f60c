"""Polls for due jobs among few and among many waiting ones: what tomorrow's jobs cost each second of a session."""

import atexit
import os
import tempfile
from collections.abc import Callable
from time import time
from typing import Any

from toolcharter import Caller, Store, StoreTransaction, open_store
from toolcharter_schedule.engine import Engine
from toolcharter_schedule.records import Creator, Job, owner_of
from toolcharter_schedule.timing import Every, milliseconds

_FOLDER = tempfile.TemporaryDirectory(prefix="tc")
_HANDLE = open_store(f"sqlite:///{_FOLDER.name}/store.sqlite3")
atexit.register(_HANDLE.close)
_ADA = Caller(agent="ada", user="kim")
_DAY_S, _AT_ONCE = 86_400, 500


def _job(number: int, now_ms: int) -> Job:
    timing = Every(every_ms=_DAY_S * 1000, anchor_ms=now_ms - number)
    return Job(
        id=f"job-{number:08}",
        owner=owner_of(_ADA),
        creator=Creator.of(_ADA),
        made_by="schedule",
        name="",
        timing=timing,
        work="message",
        text="Stretch.",
        profile="idling",
        grace_ms=1000,
        created_ms=now_ms,
        due=timing.anchor_ms + timing.every_ms,
    )


def _idle(tenant: str, jobs: int) -> Callable[[], Any]:
    """Return an operation that polls for due jobs among *jobs* jobs of tomorrow."""
    store: Store = _HANDLE.bound(tenant, "toolcharter-schedule")
    now_ms = milliseconds(time())
    for start in range(0, jobs, _AT_ONCE):
        made = [_job(number, now_ms) for number in range(start, min(start + _AT_ONCE, jobs))]

        def put(tx: StoreTransaction, made: list[Job] = made) -> None:
            for job in made:
                tx.put(job, expected=0)

        store.transact(put)
    engine = Engine(store, clock=time, worker=tenant, lasts_s=60)

    def look() -> None:
        engine.renew()
        if engine.tick(4):
            raise SystemExit("A job that is due tomorrow has begun.")

    look()
    return look


OPERATIONS: dict[str, Callable[[], Any]] = {
    "few": _idle("few", 10),
    "many": _idle("many", int(os.environ.get("BENCH_JOBS", "10000"))),
}
