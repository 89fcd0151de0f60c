"""Compares the data that the storm leaves behind with the answers that clients got."""

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import orjson

from chaos.clients import Call, Storm
from chaos.world import TENANT, World
from toolcharter import Store, StoreRecord, open_store
from toolcharter_service.approvals import ApprovalRecord
from toolcharter_service.calls.records import StoredCall
from toolcharter_service.service import DISTRIBUTION
from toolcharter_service.watch.records import ToolMetrics, is_handed_on

R = TypeVar("R", bound=StoreRecord)
GRANT_S = 1.0
"""The time after which a revoked grant is promised to apply nowhere, in seconds."""
_ROW = re.compile(rb"^\[[^\]]+\] (\{.*\})$")
_NOT_RUN = frozenset({"store_unavailable", "service_stopping", "unauthenticated", "too_many_calls"})


class Evidence:
    """The data that the storm leaves behind.

    Args:
        world: The processes that ran.
        storm: The answers that clients got.
    """

    def __init__(self, world: World, storm: Storm) -> None:
        self._storm = storm
        self._full = world.full
        self.denied_unseen = 0
        """The number of calls that were denied while there was no room for their events."""
        self.marks: defaultdict[str, list[float]] = defaultdict(list)
        for path in (world.marks, world.far_marks):
            for line in _read_lines(path):
                name, *rest = line.decode().split()
                self.marks[name].append(float(rest[1]) if rest else 0.0)
        self.events: Counter[tuple[str, str]] = Counter()
        self.torn_events = 0
        for line in _read_lines(world.events):
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError:
                self.torn_events += 1
                continue
            # A turn that was given up has an event, but that does not end its call.
            if event.get("call_id") and not (event["event"] == "hook.tool.after" and is_handed_on(event)):
                self.events[event["event"], event["call_id"]] += 1
        self.rows: Counter[str] = Counter()
        self.torn_rows = 0
        by_tool: Counter[str] = Counter()
        for path in sorted(world.disk.glob("state/**/tool_calls_*.log")):
            for line in _read_lines(path):
                found = _ROW.match(line)
                if found is None:
                    self.torn_rows += 1
                    continue
                try:
                    row = orjson.loads(found[1])
                except orjson.JSONDecodeError:
                    self.torn_rows += 1
                    continue
                self.rows[row["id"]] += 1
                by_tool[row["tool_id"]] += 1
        self._by_tool = by_tool
        with open_store(world.url) as stores:
            store = stores.bound(TENANT, DISTRIBUTION)
            self.counters = {each.tool_id: each.total_calls for each in _read_all(store, ToolMetrics)}
            self.approvals = {each.id: each for each in _read_all(store, ApprovalRecord)}
            self.stored = {each.id: each for each in _read_all(store, StoredCall)}

    def keep(self, world: World) -> None:
        """Copy events and records to the folder of the marks: the disk and the database of *world* are removed."""
        shutil.copy(world.events, world.folder / "events.jsonl")
        kept = [each.model_dump_json() for each in (*self.stored.values(), *self.approvals.values())]
        (world.folder / "records.jsonl").write_text("\n".join(kept))

    def findings(self) -> Iterator[str]:
        """Yield everything that breaks a promise."""
        yield from self._find_repeated()
        for call in self._storm.calls:
            yield from self._check_call(call)
        yield from self._check_usage()
        yield from self._check_approvals()
        yield from self._check_grants()

    def _find_repeated(self) -> Iterator[str]:
        for name, marks in self.marks.items():
            if len(marks) > 1:
                yield f"{name} ran {len(marks)} times"

    def _check_call(self, call: Call) -> Iterator[str]:
        yield from (f"{call.name}: {fault}" for fault in call.faults)
        has_run = call.name in self.marks
        if call.state == "not ended":
            yield f"{call.name} ({call.kind}) was stored and never ended"
        if call.status >= 500 and call.status != 503:  # noqa: PLR2004 - what may be answered while a part is away
            yield f"{call.name} ({call.kind}) was answered with {call.status} {call.reason}"
        # A call that should have been stored may be stored although its client was refused.
        refused = call.status == 503 and call.reason in _NOT_RUN and "stored" not in call.kind  # noqa: PLR2004 - likewise
        if has_run and (call.outcome == "denied" or refused):
            yield f"{call.name} ({call.kind}) has run, and was answered with {call.status} {call.reason}"
        if call.is_answered:
            yield from self._check_answer(call, has_run=has_run)

    def _check_answer(self, call: Call, *, has_run: bool) -> Iterator[str]:
        if call.outcome == "ok" and not has_run:
            yield f"{call.name} ({call.kind}) was answered with ok, and has not run"
        if call.reason in {"audit_unavailable", "audit_lost"} or not call.call_id:
            return
        before, after = (self.events[f"hook.tool.{half}", call.call_id] for half in ("before", "after"))
        if call.outcome == "denied" and (before, after) != (1, 1) and self._was_full(call):
            self.denied_unseen += 1  # A denial holds even if its events cannot be written; nothing has run.
            return
        # A stored call is decided again if the process that waited for its approval was killed or gave up.
        if after != 1 or before < 1 or (before > 1 and call.kind != "stored asked"):
            yield f"{call.name} ({call.kind}, {call.outcome} {call.reason}) has {before} events before and {after} after"
        if self.rows[call.call_id] != 1:
            yield f"{call.name} ({call.kind}, {call.outcome} {call.reason}) has {self.rows[call.call_id]} usage rows"

    def _was_full(self, call: Call) -> bool:
        return any(call.sent < until and call.ended > since for since, until in self._full)

    def _check_usage(self) -> Iterator[str]:
        for call_id, count in self.rows.items():
            if count > 1:
                yield f"the call {call_id} has {count} usage rows"
        for tool in {*self.counters, *self._by_tool}:
            if self.counters.get(tool, 0) != self._by_tool[tool]:
                yield f"{tool}: {self.counters.get(tool, 0)} calls are counted, and {self._by_tool[tool]} have usage rows"

    def _check_approvals(self) -> Iterator[str]:
        for key, answer in self._storm.answered.items():
            found = self.approvals.get(key)
            if found is None or found.status != answer:
                yield f"approval {key} was answered with {answer}, and is {found and found.status}"
        for key in self._storm.seen - self.approvals.keys():
            yield f"approval {key} is gone"
        for key, record in self.approvals.items():
            stored = self.stored.get(record.stored_call)
            if record.status == "pending" and (stored is None or stored.state != "waiting"):
                yield f"approval {key} is pending, and nobody waits for it ({stored and stored.state})"
            if record.status in {"expired", "cancelled"} and not record.note:
                yield f"approval {key} has ended without a reason"

    def _check_grants(self) -> Iterator[str]:
        for call in self._storm.calls:
            for closed, opened in self._storm.closed.get(call.agent, ()) if call.kind == "granted" else ():
                if call.sent > closed + GRANT_S and any(mark < opened for mark in self.marks.get(call.name, ())):
                    yield f"{call.name} of {call.agent} ran {call.sent - closed:.1f} s after its grant was taken away"


def _read_lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []


def _read_all(store: Store, model: type[R]) -> Iterator[R]:
    after = ""
    while True:
        page = store.page(model, after=after, limit=1_000)
        yield from (each.record for each in page.records)
        after = page.after
        if not after:
            return
