"""Samples of set 004 of virtual files: which paths are no files of the disk, whose each is, and what is kept of them for how long."""

import json
from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter import Caller, Store, StoreRecord, Toolbox, ToolResult, build_tools, open_store
from toolcharter_memory.caches import WRITES, Cache
from toolcharter_memory.records import AgentContextFile, MemoryChunk, MemoryDocument, Span, UserContextFile
from toolcharter_memory.scopes import MemoryScope
from toolcharter_stores.sql import SqlEngine

ROWS = sample_rows("seeds/004-virtual-files")
SPAN = Span(start_line=1, author="", session="", trust="trusted", written_at="")
_TENANTS = count()


class Ground(NamedTuple):
    """A workspace, the gate over it, and the store."""

    workspace: Path
    toolbox: Toolbox
    bound: Callable[[str], Store]


class Seat:
    """One caller whose tenant has no files yet, and the tenant's records."""

    def __init__(self, ground: Ground, **facts: Any) -> None:
        tenant = f"t{next(_TENANTS)}"
        self.caller = Caller(**{"agent": "a1", "user": "u1", "tenant": tenant, **facts})
        self.store = ground.bound(tenant)
        self._toolbox = ground.toolbox.for_caller(self.caller)

    def call(self, tool: str, **args: Any) -> ToolResult:
        """A governed call."""
        return self._toolbox.call(tool, args)

    def text(self, path: str) -> str | None:
        """What a file holds; None if it cannot be read."""
        result = self.call("read_file", path=path)
        return result.text if result.outcome == "ok" else None

    def put(self, record: StoreRecord) -> None:
        """Keep a record, as another process would."""
        self.store.put(record)
        WRITES.note()

    def take(self, record: StoreRecord) -> bool:
        """Delete a record; returns whether there was one."""
        WRITES.note()
        return self.store.delete(type(record), *_key(record))


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Generator[Ground]:
    """One toolbox for all rows."""
    folder = tmp_path_factory.mktemp("virtual")
    workspace, profile, url = folder / "ws", folder / "profile.yaml", f"sqlite://{folder / 'store.sqlite3'}"
    workspace.mkdir()
    tools: dict[str, Any] = {"read_file": {}, "write_file": {}}
    extensions = {"context_files": {"allow_agent_files": True, "unattended": True}}
    profile.write_text(json.dumps({"profile": "test", "store": url, "extensions": extensions, "tools": tools}))
    with build_tools(profile, workspace=workspace, events=_ignore) as toolbox, open_store(url) as handle:
        yield Ground(workspace, toolbox, lambda tenant: handle.bound(tenant, "toolcharter-memory"))


@each_row("row", row_params(ROWS))
def test_sample(row: Any, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sample holds; and predefined agents write no file that all of their users read."""
    given, expected = row["input"], {**row["expect"], **row.get("unified", {})}
    if given.get("agent_type") == "predefined" and expected.get("write") == "agent":
        expected["write"] = None

    if "path" in given:
        found = routed(given, ground)
    elif {"clear", "ttl_ms"} & given.keys() or "store_calls" in expected:
        found = cached(given, ground)
    elif str(given.get("write", "")).startswith("memory"):
        found = written(given, ground, monkeypatch)
    else:
        found = read(given, ground)

    assert {key: found.get(key) for key in expected} == expected


def routed(given: Any, ground: Ground) -> dict[str, Any]:
    """Where a path leads: an open agent writes to it."""
    seat = Seat(ground, agent_type="open")
    path = given["path"]
    if given["workspace"] and path.startswith(given["workspace"]):
        path = f"{ground.workspace}{path.removeprefix(given['workspace'])}"
    result = seat.call("write_file", path=path, content="mark")
    name = result.data["path"] if result.outcome == "ok" else "-"
    is_context = seat.store.get(UserContextFile, "a1", "u1", name) is not None
    return {"file": name if is_context else None, "memory": seat.store.count(MemoryDocument) == 1}


def read(given: Any, ground: Ground) -> dict[str, Any]:
    """Whose file is read, first and then, and whose is written; what is read where there is none."""
    file = given.get("file", "SOUL.md")
    facts = {"agent": given.get("agent", "a1"), "user": given.get("user", "u1"), "agent_type": given.get("agent_type")}
    seat = Seat(ground, **{fact: value or None for fact, value in facts.items()})
    missing = seat.text(file)
    kept = records(file, seat.caller.user or "-")
    for record in kept.values():
        seat.put(record)
    order: list[str] = []
    while (level := seat.text(file) or "") in kept:
        order.append(level)
        seat.take(kept[level])
    text = given.get("content", "mark")
    for record in kept.values():
        seat.take(record)
        if not text:
            seat.put(record)
    is_written = seat.call("write_file", path=file, content=text).outcome == "ok"
    levels = [level for level, record in kept.items() if seat.take(record) == bool(text)]
    write = levels[0] if is_written and levels else None
    deleted = not text and write is not None
    found = {"content": missing, "handled": missing is not None, "read_order": order, "deleted": deleted}
    return {**found, "write": "delete" if deleted else write}


def records(file: str, user: str) -> dict[str, StoreRecord]:
    """A file as each level may have it, with the level for its text."""
    if file.lower().startswith("memory"):
        owners = {"user": f"user:{user}", "global": "global"}
        places = {level: MemoryScope("agent:a1", owner) for level, owner in owners.items()}
        return {
            level: MemoryDocument(
                agent=one.agent, owner=one.owner, path=file, content=level, spans=(SPAN,), chunks=(), place=one.digest
            )
            for level, one in places.items()
        }
    return {
        "user": UserContextFile(agent="a1", user=user, file=file, content="user", span=SPAN),
        "agent": AgentContextFile(agent="a1", file=file, content="agent", span=SPAN),
    }


def cached(given: Any, ground: Ground) -> dict[str, Any]:
    """How often the store is asked for the files of agent A, which are read twice."""
    now, loads = [0.0], list[str]()
    seat = Seat(ground)
    cache = Cache((AgentContextFile,), ttl_s=given.get("ttl_ms", 300_000) / 1000, clock=lambda: now[0])

    def ask(agent: str) -> None:
        cache.get(seat.store, seat.caller.tenant, agent, agent, lambda: loads.append(agent))

    ask("agent A")
    now[0] += given.get("wait_ms", 0) / 1000
    if "clear" in given:
        name = str(given["clear"])
        cleared = None if name == "all" else frozenset({name if name.startswith("agent ") else "agent A"})
        cache.clear(seat.caller.tenant, cleared)
    ask("agent A")
    return {"store_calls": len(loads), "agent_a_store_calls": len(loads)}


def written(given: Any, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is kept of a file in the memory."""
    seat = Seat(ground)
    with monkeypatch.context() as patch:
        if any("fail" in key or "error" in key for key in given):
            patch.setattr(SqlEngine, "has_full_text", False)  # so that no chunk can be kept
        result = seat.call("write_file", path=given["write"], content="A note of Kim's.")
    stored = seat.store.count(MemoryDocument) == 1
    return {
        "stored": stored,
        "indexed": seat.store.count(MemoryChunk) > 0,
        "error": None if result.outcome == "ok" else result.reason,
        "ok": result.outcome == "ok",
    }


def _key(record: StoreRecord) -> tuple[str, ...]:
    return tuple(getattr(record, field) for field in record.store_kind.key)


def _ignore(event: object) -> None:
    """These tests are not about events."""
