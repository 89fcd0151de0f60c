"""`Usage`: who called what, in the store and in a file for each day, from the events of calls.

A call appends its last event to a spool on disk. A thread turns what lies there into call records, writes them into the file of
the day, and in batches into the store, together with a mark that says how far it has come: what is delivered again after a
crash or an outage is known by its mark, and counts once. While the store is away the spool grows.
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
"""How many days' files are kept, today's among them."""
BATCH_S = 0.25
"""How long the thread waits for more before it writes, in seconds: a batch costs what a dozen calls of it do."""
BUSY_S = 1.0
"""How long it waits while many calls end: however many are in a batch, the lists take the last of them alone."""
BUSY_BYTES = 64 * 1024
"""What lies there then when `BATCH_S` is over: about a hundred calls."""
RETRY_S = 1.0
CLOSE_S = 5.0
_DAY_FILE = re.compile(r"tool_calls_(\d{4}-\d{2}-\d{2})\.log")
_AFTER = b'"hook.tool.after"'
_TAIL_BYTES = 4 * 1024 * 1024


class Usage:
    """The usage of all tenants.

    Args:
        folder: Where spools and files lie; it is made, for its owner alone.
        store: Gives the store of a tenant.
        describe: Gives, for a tenant, what is known of its tools.
    """

    def __init__(self, folder: Path, store: Callable[[str], Store], describe: Callable[[str], Describe]) -> None:
        self._folder = folder
        self._store = store
        self._describe = describe
        self._spools: dict[str, Spool] = {}
        self._dirty = threading.Event()
        self._closed = threading.Event()
        self._why: str | None = None
        self.lost = 0
        """Calls whose records no store takes; the files have them."""
        self._cleaned: date | None = None
        self._last: _Batch | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def sink(self, tenant: str) -> "UsageSink":
        """The sink for the events of *tenant*.

        Raises:
            OSError: The folder cannot be made.
            UnsafeState: Somebody else could write there.
        """
        with self._lock:
            spool = self._spools.get(tenant)
            if spool is None:
                with StateFolder(self._folder, tenant or "_", workspace=None).made():
                    spool = self._spools[tenant] = Spool(self._folder / (tenant or "_"))
                spool.adopt()
                self._dirty.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="toolcharter-usage", daemon=True)
                self._thread.start()
        return UsageSink(spool, self._dirty)

    def health(self) -> str | None:
        """Why usage waits on disk, or None."""
        return self._why

    def close(self) -> None:
        """Deliver what can be delivered; the rest waits for the next start."""
        self._closed.set()
        self._dirty.set()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _work(self) -> None:
        while True:
            self._dirty.wait(None if self._why is None else RETRY_S)
            try:
                self._gather()
                self._dirty.clear()
                self._clean()
                why = [self._deliver_all(tenant, spool) for tenant, spool in tuple(self._spools.items())]
            except OSError as error:
                why = [f"usage cannot be written: {error.strerror or error}"]
            except Exception as error:  # noqa: BLE001 - the thread has to outlive it, and /readyz shows it
                why = [f"usage cannot be delivered: {type(error).__name__}"]
            self._why = next(filter(None, why), None)
            if self._closed.is_set():
                return

    def _gather(self) -> None:
        """Wait for more."""
        if self._why is not None:
            self._closed.wait(RETRY_S)
        elif not self._closed.wait(BATCH_S) and self._is_busy():
            self._closed.wait(BUSY_S - BATCH_S)

    def _is_busy(self) -> bool:
        waiting = (one.size() - one.filed for spool in tuple(self._spools.values()) for one in spool.segments())
        return any(size > BUSY_BYTES for size in waiting)

    def _deliver_all(self, tenant: str, spool: Spool) -> str | None:
        for segment in spool.segments():
            # What comes meanwhile waits for the next batch: else each transaction would hold but a call or two.
            until = segment.size()
            self._file(tenant, spool, segment, until)
            try:
                while self._store_some(tenant, segment, until):
                    pass
            except (Denied, StoreConflict) as error:
                return f"the store is away, and usage waits: {error}"
            if segment.filed == segment.stored and spool.retire(
                segment, offset=segment.filed, even_small=self._closed.is_set()
            ):
                with suppress(Denied, StoreConflict):  # Then a mark is left that nothing refers to.
                    self._store(tenant).delete(UsageMark, segment.name)
        return None

    def _file(self, tenant: str, spool: Spool, segment: Segment, until: int) -> None:
        """Write what is new before *until* into the files of the days."""
        while (batch := self._batch(tenant, segment, segment.filed, until)).end > segment.filed:
            by_day: dict[str, list[EndedCall]] = {}
            for call in batch.calls:
                by_day.setdefault(call.record["timestamp"][:10], []).append(call)
            for day, calls in by_day.items():
                path = spool.folder / f"tool_calls_{day}.log"
                # The process may have died, or the disk been full, between the file and what is remembered of it.
                written = _last_ids(path) if segment.may_be_filed else frozenset[str]()
                segment.may_be_filed = True
                _append(path, [call for call in calls if call.record["id"] not in written])
            segment.set_filed(batch.end)
            segment.may_be_filed = False

    def _batch(self, tenant: str, segment: Segment, begin: int, until: int) -> "_Batch":
        """What lies between *begin* and *until*, or the first part of it; `end` is *begin* if there is nothing."""
        known = self._last
        if known is not None and (known.segment, known.begin) == (segment.name, begin):
            return known  # The file has it, and now the store is to have it.
        lines = segment.whole_lines(begin, until)
        if not lines:
            return _Batch(segment.name, begin, begin, [])
        self._last = _Batch(segment.name, begin, begin + len(lines), ended_calls(lines, self._describe(tenant)))
        return self._last

    def _store_some(self, tenant: str, segment: Segment, until: int) -> bool:
        """Write a batch of what is new before *until* into the store; false if there was none."""
        store = self._store(tenant)
        if segment.stored is None:
            found = store.get(UsageMark, segment.name) if segment.adopted else None
            segment.stored = found.record.offset if found else 0
        begin = segment.stored
        _, _, end, calls = self._batch(tenant, segment, begin, until)
        if end == begin:
            return False

        def write(transaction: StoreTransaction) -> int:
            mark = transaction.get(UsageMark, segment.name)
            if mark is not None and mark.record.offset > begin:  # It was written, and its answer was lost.
                return mark.record.offset
            transaction.put(UsageMark(spool=segment.name, offset=end))
            _count(transaction, calls)
            return end

        try:
            segment.stored = store.transact(write)
        except StoreConflict:
            raise
        except ToolError:  # One of them cannot be kept; the others are, and those that come later.
            calls = [call for call in calls if self._can_keep(store, call)]
            segment.stored = store.transact(write)
        self._last = None
        return True

    def _can_keep(self, store: Store, call: EndedCall) -> bool:
        """Whether a store takes what is counted of one call."""

        def attempt(transaction: StoreTransaction) -> None:
            _count(transaction, [call])
            raise _Undone

        try:
            store.transact(attempt)
        except _Undone:
            return True
        except StoreConflict:
            raise
        except ToolError:
            self.lost += 1
        return False

    def _clean(self) -> None:
        """Remove files that are too old, once a day."""
        today = datetime.now(UTC).date()
        if self._cleaned == today:
            return
        for spool in tuple(self._spools.values()):
            for path in spool.folder.glob("tool_calls_*.log"):
                found = _DAY_FILE.fullmatch(path.name)
                if found and date.fromisoformat(found[1]) <= today - timedelta(days=KEPT_DAYS):
                    path.unlink(missing_ok=True)
        self._cleaned = today


class _Batch(NamedTuple):
    """What was read of a spool."""

    segment: str
    begin: int
    end: int
    calls: list[EndedCall]


class _Undone(Exception):
    """Undoes a transaction that was only tried."""


class UsageSink:
    """Takes the events of one tenant's toolboxes."""

    def __init__(self, spool: Spool, dirty: threading.Event) -> None:
        self._spool = spool
        self._dirty = dirty

    def write(self, lines: bytes) -> None:
        """Keep the half of a call that says how it ended.

        Raises:
            OSError: There is no room.
        """
        if _AFTER in lines:
            self._spool.append(lines)
            if not self._dirty.is_set():
                self._dirty.set()

    def close(self) -> None:
        """The usage of all toolboxes is closed with the service."""


def _count(transaction: StoreTransaction, calls: list[EndedCall]) -> None:
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


def _append(path: Path, calls: list[EndedCall]) -> None:
    """Append whole rows, all or none; other processes of the service append to the same file.

    Raises:
        OSError: There is no room.
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
        if size and os.pread(descriptor, 1, size - 1) != b"\n":  # A process died while it wrote.
            lines = b"\n" + lines
        try:
            while lines:
                lines = lines[os.write(descriptor, lines) :]
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def _last_ids(path: Path) -> frozenset[str]:
    """Which calls the end of a day's file has, each with a whole row."""
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
