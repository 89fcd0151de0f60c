"""Usage on disk and in the store: across outages, deaths of processes and full disks."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import orjson
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.waiting import until

from toolcharter import Caller, Store, StoreUnavailable, build_tools
from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.watch import spool
from toolcharter_service.watch.records import RECENT, ToolMetrics, UsageMark
from toolcharter_service.watch.usage import Usage

from .test_records import after, describe

SOON_S = 60.0


def ended(call_id: str) -> bytes:
    """The last event of a call that has just ended: files of other days may be removed."""
    return after(call_id=call_id, ts=datetime.now(UTC).isoformat().replace("+00:00", "Z"))


class Place:
    """A folder and a store that can be away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.handle = StoreHandle(MemoryEngine)
        self.is_away = False
        self.opened: list[Usage] = []

    def store(self, tenant: str) -> Store:
        """The store of *tenant*."""
        if self.is_away:
            raise StoreUnavailable("It is away.")
        return self.handle.bound(tenant, "toolcharter-service")

    def usage(self) -> Usage:
        """As a process that starts has it."""
        usage = Usage(self.folder, self.store, lambda _: describe)
        self.opened.append(usage)
        return usage

    def total(self, tenant: str = "acme") -> int:
        """How many calls are counted."""
        found = self.handle.bound(tenant, "toolcharter-service").get(ToolMetrics, "read_file")
        return found.record.total_calls if found else 0

    def filed(self) -> list[str]:
        """The calls in the files of the days."""
        lines = b"".join(path.read_bytes() for path in sorted((self.folder / "acme").glob("tool_calls_*.log")))
        return [orjson.loads(line.partition(b"] ")[2])["id"] for line in lines.splitlines()]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """One that closes what was opened there."""
    made = Place(tmp_path / "usage")
    yield made
    for usage in made.opened:
        usage.close()


def test_calls_of_a_toolbox_are_recorded(place: Place, tmp_path: Path) -> None:
    """Each once, with what secrets are masked in the events."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a").write_text("hello")
    (tmp_path / "p.yaml").write_text("profile: p\ntools: {read_file: {}}\ndeny: ['read_file(path=secret*)']\n")
    usage = place.usage()
    key = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    with build_tools(
        tmp_path / "p.yaml", workspace=tmp_path / "ws", caller=Caller(agent="ada"), events=[usage.sink("acme")]
    ) as box:
        calls = [box.call("read_file", {"path": path}) for path in ("a", "missing", f"secret-{key}")]
    usage.close()

    store = place.store("acme")
    assert [item["status"] for item in store.items(RECENT)] == ["blocked", "failure", "success"]
    assert [item["id"] for item in store.items("tools:ada:usage_history")] == [call.call_id for call in reversed(calls)]
    found = store.get(ToolMetrics, "read_file")
    assert found is not None
    assert (found.record.total_calls, found.record.success_calls, found.record.blocked_calls) == (3, 1, 1)
    assert place.filed() == [call.call_id for call in calls]
    assert key not in str(store.items(RECENT)) + "".join(
        path.read_text() for path in (place.folder / "acme").glob("*") if path.is_file()
    )
    assert store.page(UsageMark).records == ()
    assert list((place.folder / "acme").glob("*.spool")) == []


def test_the_last_are_kept(place: Place) -> None:
    """100 call records and 200 entries of usage; the counters count all."""
    usage = place.usage()
    sink = usage.sink("acme")
    for number in range(500):
        sink.write(ended(str(number)))
    usage.close()

    store = place.store("acme")
    assert [item["id"] for item in store.items(RECENT, limit=1000)] == [str(number) for number in range(499, 399, -1)]
    assert len(store.items("tools:global:usage_history", limit=1000)) == 200
    assert place.total() == 500


def test_usage_waits_on_disk_while_the_store_is_away(place: Place) -> None:
    """A call notices nothing; `health` names it; all comes once when the store is back, without hands."""
    usage = place.usage()
    sink = usage.sink("acme")
    place.is_away = True
    for number in range(50):
        sink.write(ended(str(number)))
    until(lambda: usage.health() is not None)
    assert "the store is unreachable, and usage waits" in (usage.health() or "")
    until(lambda: len(place.filed()) == 50)
    assert place.total() == 0

    place.is_away = False
    until(lambda: place.total() == 50)
    until(lambda: usage.health() is None)
    usage.close()
    assert (place.total(), len(place.filed())) == (50, 50)


def test_what_was_not_delivered_is_delivered_by_the_next_process(place: Place) -> None:
    """Once, tenant by tenant."""
    place.is_away = True
    first = place.usage()
    first.sink("acme").write(ended("1"))
    first.sink("zoo").write(ended("2"))
    first.close()
    for spooled in first._spools.values():  # As the death of its process would.
        os.close(spooled.segments()[0].descriptor)

    place.is_away = False
    second = place.usage()
    second.sink("acme")
    second.sink("zoo")
    until(lambda: place.total("acme") == place.total("zoo") == 1)
    second.close()
    assert place.filed() == ["1"]


def test_an_answer_of_the_store_that_was_lost_counts_nothing_twice(place: Place) -> None:
    """The mark in the store says what is there."""
    usage = place.usage()
    real = place.store("acme")
    fails = [True]

    class Lossy:
        """Writes, and fails to say so, once."""

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def transact(self, work: Callable[[Any], Any]) -> Any:
            answer = real.transact(work)
            if fails:
                fails.pop()
                raise StoreUnavailable("The answer was lost.")
            return answer

    place.store = lambda _: Lossy()  # type: ignore[method-assign,assignment] # it stands for a store
    usage._store = place.store
    sink = usage.sink("acme")
    sink.write(ended("1"))
    until(lambda: not fails)
    until(lambda: usage.health() is None)
    sink.write(ended("2"))
    usage.close()
    assert place.total() == 2


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nothing(place: Place) -> None:
    """Every call that was answered before is recorded by the next process."""
    program = f"""
        import os, sys
        sys.path.insert(0, {str(Path(__file__).parents[4])!r})
        from pathlib import Path
        from tests.plugins.service.watch.test_usage import Place, ended
        place = Place(Path({str(place.folder)!r}))
        sink = place.usage().sink("acme")
        for number in range(1000):
            sink.write(ended(str(number)))
        os.kill(os.getpid(), 9)
    """
    killed = subprocess.run([sys.executable, "-c", dedent(program)], check=False)
    assert killed.returncode == -9

    usage = place.usage()
    usage.sink("acme")
    until(lambda: place.total() == 1000)
    usage.close()
    assert sorted(place.filed(), key=int) == [str(number) for number in range(1000)]


def test_a_spool_that_is_removed_while_it_is_adopted_counts_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner has delivered all of it, and forgets how far it has come: nobody may begin anew."""
    path = place.folder / "gone.spool"
    path.parent.mkdir()
    path.write_bytes(ended("c1"))
    plain = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        path.unlink()
        plain(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(FileNotFoundError):
        spool.Segment(path, adopted=True)


def test_a_spool_that_is_full_refuses_and_the_rest_is_delivered(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused is a loss that the gate counts and shows."""
    monkeypatch.setattr(spool, "MAX_BYTES", 1000)
    place.is_away = True
    usage = place.usage()
    sink = usage.sink("acme")
    with pytest.raises(OSError, match="bytes of usage wait for the store already"):
        [sink.write(ended(str(number))) for number in range(10)]  # type: ignore[func-returns-value] # the loop is one statement
    place.is_away = False
    until(lambda: place.total() > 0)


def test_files_of_days_are_kept_for_a_week(place: Place) -> None:
    """Older ones go when the process starts, or at midnight."""
    folder = place.folder / "acme"
    folder.mkdir(parents=True, mode=0o700)
    place.folder.chmod(0o700)
    today = datetime.now(UTC).date()
    for age in range(10):
        (folder / f"tool_calls_{today - timedelta(days=age)}.log").touch()
    usage = place.usage()
    usage.sink("acme")
    until(lambda: len(list(folder.glob("*.log"))) == 7)
    assert max(path.name for path in folder.glob("*.log")) == f"tool_calls_{today}.log"


def test_a_line_of_a_day_is_a_time_and_a_record(place: Place) -> None:
    """As HDN writes them."""
    usage = place.usage()
    usage.sink("acme").write(ended("1"))
    usage.close()
    (path,) = (place.folder / "acme").glob("tool_calls_*.log")
    time_of, _, record = path.read_text().partition("] ")
    assert time_of == "[" + orjson.loads(record)["timestamp"]
    assert path.name == f"tool_calls_{time_of[1:11]}.log"


def test_what_no_store_takes_holds_up_nothing(place: Place) -> None:
    """A name that a caller has chosen; those before and after it are counted, and so is the loss."""
    usage = place.usage()
    sink = usage.sink("acme")
    for number, tool in enumerate(["read_file", "read_file", "x" * 600, "a\x00b", "read_file"]):
        sink.write(after(call_id=f"c{number}", tool=tool, reason=None if tool == "read_file" else "unknown_tool"))
    hostile = after(call_id="h", tool="read_file", agent="\x00" * 700)
    sink.write(hostile)
    until = time.monotonic() + SOON_S
    while place.total() < 4 and time.monotonic() < until:
        time.sleep(0.02)

    assert (place.total(), usage.health(), usage.lost) == (4, None, 0)
    found = place.handle.bound("acme", "toolcharter-service").get(ToolMetrics, "unknown_tool")
    assert found is not None
    assert found.record.total_calls == 2


@pytest.mark.slow
def test_a_full_disk_tears_and_doubles_no_row(place: Place) -> None:
    """Rows that did not fit are written when there is room again, each once and whole, whoever appends beside."""
    folder = place.folder / "acme"
    folder.mkdir(parents=True, mode=0o700)
    lines = [ended(f"c{number}") for number in range(40)]
    (folder / f"{'a' * 32}.spool").write_bytes(b"".join(lines))  # A process has died and left it.
    source = f"""
        import resource, sys, time
        sys.path.insert(0, {str(Path(__file__).parents[4])!r})
        from pathlib import Path
        from tests.core.guards.store.memory_engine import MemoryEngine
        from tests.plugins.service.watch.test_records import describe
        from toolcharter.guards.store.handle import StoreHandle
        from toolcharter_service.watch.usage import Usage

        most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
        handle = StoreHandle(MemoryEngine)
        usage = Usage(Path({str(place.folder)!r}), lambda tenant: handle.bound(tenant, "t"), lambda _: describe)
        usage.sink("acme")
        while usage.health() is None:
            time.sleep(0.01)
        print(usage.health(), flush=True)
        sys.stdin.readline()
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        usage.close()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", dedent(source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = process.stdout.readline()
    while_full = b"".join(path.read_bytes() for path in folder.glob("*.log"))
    process.communicate("\n", timeout=60)

    assert told.startswith("usage cannot be written: ")
    assert while_full == b""
    assert sorted(place.filed(), key=lambda name: int(name[1:])) == [f"c{number}" for number in range(40)]
