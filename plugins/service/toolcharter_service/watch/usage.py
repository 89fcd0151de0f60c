"""`Usage`: records every call in the store and in a file per day, from the events of calls.

A call appends its after-event to a spool on disk. A thread converts the events to call records, and writes them to the
day file and, in batches, to the store. Each batch in the store includes a mark with the spool's offset, so records that
are delivered again after a crash or an outage count once. While the store is unreachable, the spool grows.
"""

import fcntl
import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import orjson

from toolcharter import Denied, StateFolder, Store, StoreConflict, StoreTransaction, ToolError
from toolcharter_service.watch.records import (
    RECENT,
    RECENT_MAX,
    USAGE_MAX,
    Describe,
    EndedCall,
    ToolMetrics,
    UsageMark,
    ended_calls,
    usage_lists,
)
from toolcharter_service.watch.spool import Segment, Spool

KEPT_DAYS = 7
"""How many day files are kept, including today's."""
BATCH_S = 0.25
"""How long the thread waits for more events before it writes, in seconds. A batch costs as much as a dozen calls."""
BUSY_S = 1.0
"""How long it waits if many calls end, in seconds. However large a batch is, the lists only take its last calls."""
BUSY_BYTES = 64 * 1024
"""The size of the waiting events after `BATCH_S` that counts as many calls: about a hundred."""
RETRY_S = 1.0
CLOSE_S = 5.0
_DAY_FILE = re.compile(r"tool_calls_(\d{4}-\d{2}-\d{2})\.log")
_AFTER = b'"hook.tool.after"'
_TAIL_BYTES = 4 * 1024 * 1024


class Usage:
    """The usage of all tenants.

    Args:
        folder: The folder of spools and day files. It is created, private to its owner.
        store: Returns the store of a tenant.
        describe: Returns, for a tenant, the function that describes its tools.
    """

    def __init__(self, folder: Path, store: Callable[[str], Store], describe: Callable[[str], Describe]) -> None:
        self._folder = folder
        self._store = store
        self._describe = describe
        self._spools: dict[str, Spool] = {}
        self._has_events = threading.Event()
        self._closed = threading.Event()
        self._problem: str | None = None
        self.lost = 0
        """The number of calls whose records the store refuses. The day files have them."""
        self._last_cleaned: date | None = None
        self._last_batch: _Batch | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def sink(self, tenant: str) -> "UsageSink":
        """Return the sink for the events of *tenant*.

        Raises:
            OSError: The folder cannot be created.
            UnsafeState: Another user could write to the folder.
        """
        with self._lock:
            spool = self._spools.get(tenant)
            if spool is None:
                with StateFolder(self._folder, tenant or "_", workspace=None).made():
                    spool = self._spools[tenant] = Spool(self._folder / (tenant or "_"))
                spool.adopt()
                self._has_events.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._deliver, name="toolcharter-usage", daemon=True)
                self._thread.start()
        return UsageSink(spool, self._has_events)

    def health(self) -> str | None:
        """Return why usage waits on disk; None if it is delivered."""
        return self._problem

    def close(self) -> None:
        """Deliver what the store accepts within `CLOSE_S`. The rest waits for the next start."""
        self._closed.set()
        self._has_events.set()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _deliver(self) -> None:
        while True:
            self._has_events.wait(None if self._problem is None else RETRY_S)
            try:
                self._wait_for_batch()
                self._has_events.clear()
                self._delete_old_files()
                problems = [self._deliver_all(tenant, spool) for tenant, spool in tuple(self._spools.items())]
            except OSError as error:
                problems = [f"usage cannot be written: {error.strerror or error}"]
            except Exception as error:  # noqa: BLE001 - the thread has to survive it, and /readyz shows it
                problems = [f"usage cannot be delivered: {type(error).__name__}"]
            self._problem = next(filter(None, problems), None)
            if self._closed.is_set():
                return

    def _wait_for_batch(self) -> None:
        """Wait for more events, to write larger batches."""
        if self._problem is not None:
            self._closed.wait(RETRY_S)
        elif not self._closed.wait(BATCH_S) and self._is_busy():
            self._closed.wait(BUSY_S - BATCH_S)

    def _is_busy(self) -> bool:
        waiting = (one.size() - one.filed for spool in tuple(self._spools.values()) for one in spool.segments())
        return any(size > BUSY_BYTES for size in waiting)

    def _deliver_all(self, tenant: str, spool: Spool) -> str | None:
        for segment in spool.segments():
            # Later events wait for the next batch. Otherwise each transaction would have only a call or two.
            until = segment.size()
            self._write_day_files(tenant, spool, segment, until)
            try:
                while self._store_batch(tenant, segment, until):
                    pass
            except (Denied, StoreConflict) as error:
                return f"the store is unreachable, and usage waits: {error}"
            if segment.filed == segment.stored and spool.retire(
                segment, offset=segment.filed, even_small=self._closed.is_set()
            ):
                with suppress(Denied, StoreConflict):  # An unused mark is left then.
                    self._store(tenant).delete(UsageMark, segment.name)
        return None

    def _write_day_files(self, tenant: str, spool: Spool, segment: Segment, until: int) -> None:
        """Write the new records before *until* to the day files."""
        while (batch := self._read_batch(tenant, segment, segment.filed, until)).end > segment.filed:
            by_day: dict[str, list[EndedCall]] = {}
            for call in batch.calls:
                by_day.setdefault(call.record["timestamp"][:10], []).append(call)
            for day, calls in by_day.items():
                path = spool.folder / f"tool_calls_{day}.log"
                # The process may have died, or the disk been full, between writing the file and storing its offset.
                written = _recent_call_ids(path) if segment.may_be_filed else frozenset[str]()
                segment.may_be_filed = True
                _append_calls(path, [call for call in calls if call.record["id"] not in written])
            segment.save_filed(batch.end)
            segment.may_be_filed = False

    def _read_batch(self, tenant: str, segment: Segment, begin: int, until: int) -> "_Batch":
        """Read the records between *begin* and *until*, or the first of them. If there are none, `end` is *begin*."""
        known = self._last_batch
        if known is not None and (known.segment, known.begin) == (segment.name, begin):
            return known  # It was written to the file, and is now for the store.
        lines = segment.read_lines(begin, until)
        if not lines:
            return _Batch(segment.name, begin, begin, [])
        self._last_batch = _Batch(segment.name, begin, begin + len(lines), ended_calls(lines, self._describe(tenant)))
        return self._last_batch

    def _store_batch(self, tenant: str, segment: Segment, until: int) -> bool:
        """Write a batch of the new records before *until* to the store. Return False if there are none."""
        store = self._store(tenant)
        if segment.stored is None:
            found = store.get(UsageMark, segment.name) if segment.adopted else None
            segment.stored = found.record.offset if found else 0
        begin = segment.stored
        _, _, end, calls = self._read_batch(tenant, segment, begin, until)
        if end == begin:
            return False

        def write(transaction: StoreTransaction) -> int:
            mark = transaction.get(UsageMark, segment.name)
            if mark is not None and mark.record.offset > begin:  # An earlier write succeeded, but its answer was lost.
                return mark.record.offset
            transaction.put(UsageMark(spool=segment.name, offset=end))
            _store_calls(transaction, calls)
            return end

        try:
            segment.stored = store.transact(write)
        except StoreConflict:
            raise
        except ToolError:  # The store refuses one of the records: leave it out and write the others.
            calls = [call for call in calls if self._is_storable(store, call)]
            segment.stored = store.transact(write)
        self._last_batch = None
        return True

    def _is_storable(self, store: Store, call: EndedCall) -> bool:
        """Whether the store accepts the records of one call."""

        def attempt(transaction: StoreTransaction) -> None:
            _store_calls(transaction, [call])
            raise _Rollback

        try:
            store.transact(attempt)
        except _Rollback:
            return True
        except StoreConflict:
            raise
        except ToolError:
            self.lost += 1
        return False

    def _delete_old_files(self) -> None:
        """Delete old day files, once a day."""
        today = datetime.now(UTC).date()
        if self._last_cleaned == today:
            return
        for spool in tuple(self._spools.values()):
            for path in spool.folder.glob("tool_calls_*.log"):
                found = _DAY_FILE.fullmatch(path.name)
                if found and date.fromisoformat(found[1]) <= today - timedelta(days=KEPT_DAYS):
                    path.unlink(missing_ok=True)
        self._last_cleaned = today


class _Batch(NamedTuple):
    """A part of a spool, and its calls."""

    segment: str
    begin: int
    end: int
    calls: list[EndedCall]


class _Rollback(Exception):
    """Rolls back a transaction that was only a test."""


class UsageSink:
    """Takes the events of one tenant's toolboxes."""

    def __init__(self, spool: Spool, has_events: threading.Event) -> None:
        self._spool = spool
        self._has_events = has_events

    def write(self, lines: bytes) -> None:
        """Append the after-event of a call to the spool. Other events are ignored.

        Raises:
            OSError: The disk is full, or too many events wait.
        """
        if _AFTER in lines:
            self._spool.append(lines)
            if not self._has_events.is_set():
                self._has_events.set()

    def close(self) -> None:
        """Do nothing: the service closes the `Usage` of all toolboxes."""


def _store_calls(transaction: StoreTransaction, calls: list[EndedCall]) -> None:
    by_tool: dict[str, list[EndedCall]] = {}
    for call in calls:
        by_tool.setdefault(call.record["tool_id"], []).append(call)
    for tool, its in by_tool.items():
        found = transaction.get(ToolMetrics, tool)
        first = its[0].record
        metrics = (
            ToolMetrics(
                tool_id=tool,
                tool_name=first["tool_name"],
                last_called=first["timestamp"],
                created_at=first["timestamp"],
            )
            if found is None
            else found.record
        )
        transaction.put(metrics.with_calls(its))
    transaction.push(RECENT, *(dict(call.record) for call in calls[-RECENT_MAX:]), cap=RECENT_MAX)
    for name, entries in usage_lists(calls).items():
        transaction.push(name, *entries, cap=USAGE_MAX)


def _append_calls(path: Path, calls: list[EndedCall]) -> None:
    """Append complete lines, all or none. Other processes of the service append to the same file.

    Raises:
        OSError: The file cannot be written. It is unchanged.
    """
    if not calls:
        return
    lines = b"".join(
        b"[" + call.record["timestamp"].encode() + b"] " + orjson.dumps(call.record) + b"\n" for call in calls
    )
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":  # A process died while writing.
            lines = b"\n" + lines
        try:
            while lines:
                lines = lines[os.write(descriptor, lines) :]
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def _recent_call_ids(path: Path) -> frozenset[str]:
    """Return the ids of the calls in complete lines at the end of a day file."""
    found = set[str]()
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            for line in file.read().split(b"\n"):
                with suppress(orjson.JSONDecodeError):
                    found.add(orjson.loads(line.partition(b"] ")[2])["id"])
    except FileNotFoundError:
        pass
    return frozenset(found)
