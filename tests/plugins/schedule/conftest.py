"""A store of SQLite for jobs, and a clock that a test sets."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Caller, Store, open_store
from toolcharter_schedule.engine import Engine
from toolcharter_schedule.records import Creator, Job, Retry, owner_of
from toolcharter_schedule.run_history import next_due
from toolcharter_schedule.timing import At, Cron, Every

START_S = 1_800_000_000.0
HOUR_MS = 3_600_000


class Clock:
    """Unix time as a test wants it."""

    def __init__(self, now_s: float = START_S) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s

    @property
    def now_ms(self) -> int:
        return int(self.now_s * 1000)

    def advance(self, seconds: float) -> None:
        self.now_s += seconds


def make_job(clock: Clock, timing: At | Every | Cron, key: str = "job", **changes: Any) -> Job:
    """A job that delivers a message, and is tried again at once if that fails."""
    caller = Caller(agent="ada", user="uma")
    fields: dict[str, Any] = {
        "id": key,
        "owner": owner_of(caller),
        "creator": Creator.of(caller),
        "made_by": "schedule",
        "name": "",
        "timing": timing,
        "work": "message",
        "text": "Time to go.",
        "profile": "test",
        "retry": Retry(times=2, jitter=0.0),
        "grace_ms": HOUR_MS,
        "created_ms": clock.now_ms,
        "due": next_due(timing, (), clock.now_ms),
    }
    return Job(**{**fields, **changes})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Store]]:
    """Makes stores of tenants, each a new one, in one file."""
    handle = open_store(f"sqlite:///{tmp_path_factory.mktemp('schedule')}/store.db")
    made: list[str] = []

    def new() -> Store:
        made.append(f"tenant{len(made)}")
        return handle.bound(made[-1], "toolcharter-schedule")

    yield new
    handle.close()


@pytest.fixture
def store(stores: Callable[[], Store]) -> Store:
    return stores()


@pytest.fixture
def engine(store: Store, clock: Clock) -> Callable[..., Engine]:
    """Makes processes that look for what is due."""

    def make(worker: str = "one", **changes: Any) -> Engine:
        settings: dict[str, Any] = {"lasts_s": 600.0, "chance": lambda: 0.5}
        return Engine(store, clock=clock, worker=worker, **{**settings, **changes})

    return make


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder
