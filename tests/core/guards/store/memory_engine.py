"""A `StoreEngine` in memory: what the views are tested on where the engine has to misbehave, or to say what it was given."""

import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import Any, TypeVar

from toolcharter import (
    Change,
    EngineTransaction,
    NewRow,
    Row,
    Scope,
    StoreConflict,
    StoreExport,
    StoreLease,
    StoreUnavailable,
    ToolError,
)

T = TypeVar("T")


@dataclass
class Content:
    """All rows of all scopes."""

    rows: dict[tuple[Scope, str, tuple[str, ...]], tuple[NewRow, int, int]] = field(default_factory=dict)
    lists: dict[tuple[Scope, str], list[str]] = field(default_factory=dict)
    changes: dict[tuple[Scope, str, tuple[str, ...]], Change] = field(default_factory=dict)
    seq: int = 0

    def copy(self) -> "Content":
        """For a transaction, which replaces rows and lists and changes none."""
        return Content(dict(self.rows), dict(self.lists), dict(self.changes), self.seq)


class MemoryTransaction:
    """One scope of a content that is not yet the engine's."""

    def __init__(self, engine: "MemoryEngine", scope: Scope, content: Content) -> None:
        self.engine, self.scope, self.content = engine, scope, content

    def get(self, kind: str, key: tuple[str, ...], /) -> Row | None:
        found = self.content.rows.get((self.scope, kind, key))
        return None if found is None else Row(key, found[0].document, *found[1:])

    def put(self, kind: str, row: NewRow, /, *, expected: int | None) -> int:
        version = self._expect(kind, row.key, expected)
        self._change(kind, row.key, deleted=False)
        self.content.rows[self.scope, kind, row.key] = (row, version + 1, self.content.seq)
        return version + 1

    def delete(self, kind: str, key: tuple[str, ...], /, *, expected: int | None) -> bool:
        if not self._expect(kind, key, expected):
            return False
        self._change(kind, key, deleted=True)
        del self.content.rows[self.scope, kind, key]
        return True

    def page(
        self, kind: str, /, *, where: Mapping[str, Any], order: str, descending: bool, after: str, limit: int
    ) -> tuple[tuple[Row, ...], str]:
        found = [
            Row(key, row.document, version, seq)
            for (scope, name, key), (row, version, seq) in self.content.rows.items()
            if (scope, name) == (self.scope, kind) and all(row.indexed[one] == value for one, value in where.items())
        ]

        def place(row: Row) -> tuple[Any, ...]:
            indexed = self.content.rows[self.scope, kind, row.key][0].indexed
            return (str(indexed.get(order, "")), row.key)

        rows = sorted(found, key=place, reverse=descending)
        if not (after or "0").isdigit():
            raise ToolError("`after` is what the page before gave", reason="invalid_arguments")
        start = int(after or 0)
        return tuple(rows[start : start + limit]), str(start + limit) if start + limit < len(rows) else ""

    def count(self, kind: str, /, *, where: Mapping[str, Any]) -> int:
        return len(self.page(kind, where=where, order="", descending=False, after="", limit=1 << 30)[0])

    def search(self, kind: str, words: Sequence[str], /, *, where: Mapping[str, Any], limit: int) -> tuple[Row, ...]:
        rows, _ = self.page(kind, where=where, order="", descending=False, after="", limit=1 << 30)
        text = {row.key: self.content.rows[self.scope, kind, row.key][0].full_text.lower() for row in rows}
        return tuple(row for row in rows if all(word.lower() in text[row.key] for word in words))[:limit]

    def push(self, name: str, /, *items: str, cap: int) -> None:
        self.content.lists[self.scope, name] = [*reversed(items), *self.content.lists.get((self.scope, name), ())][:cap]

    def items(self, name: str, /, *, limit: int) -> tuple[str, ...]:
        return tuple(self.content.lists.get((self.scope, name), ())[:limit])

    def require_lease(self, lease: StoreLease, /) -> None:
        if self.engine.leases.get((self.scope, lease.name)) != lease:
            raise StoreConflict("the lease was lost")

    def _expect(self, kind: str, key: tuple[str, ...], expected: int | None) -> int:
        found = self.get(kind, key)
        version = 0 if found is None else found.version
        if expected is not None and expected != version:
            raise StoreConflict("another version is there")
        return version

    def _change(self, kind: str, key: tuple[str, ...], *, deleted: bool) -> None:
        self.content.seq += 1
        self.content.changes[self.scope, kind, key] = Change(self.content.seq, kind, key, deleted)


class MemoryEngine:
    """One transaction at a time; `log` says what it was asked."""

    def __init__(self, url: str = "memory:", *, has_full_text: bool = True, places: Sequence[Path] = ()) -> None:
        self.url = url
        self.has_full_text = has_full_text
        self.places = places
        self.content = Content()
        self.leases: dict[tuple[Scope, str], StoreLease] = {}
        self.log: list[str] = []
        self.timeouts: list[float] = []
        self.scopes: set[Scope] = set()
        self.failure: Exception | None = None
        self._lock = threading.Lock()

    def keeps_state_in(self) -> Sequence[Path]:
        return self.places

    def migrate(self) -> None:
        self._note("migrate")

    def require_current(self) -> None:
        self._note("require_current")

    def transact(self, scope: Scope, work: Callable[[EngineTransaction], T], /, *, timeout_s: float) -> T:
        self._note("transact", scope, timeout_s)
        with self._lock:
            content = self.content.copy()
            result = work(MemoryTransaction(self, scope, content))
            self.content = content
            return result

    def changes(
        self, scope: Scope, after: int, kinds: Sequence[str], limit: int, /, *, timeout_s: float
    ) -> tuple[Change, ...]:
        self._note("changes", scope, timeout_s)
        found = (change for (one, *_), change in self.content.changes.items() if one == scope)
        return tuple(sorted(one for one in found if one.seq > after and (not kinds or one.kind in kinds)))[:limit]

    def last_change(self, scope: Scope, /, *, timeout_s: float) -> int:
        return max((change.seq for change in self.changes(scope, 0, (), 1 << 30, timeout_s=timeout_s)), default=0)

    def lease(self, scope: Scope, name: str, holder: str, ttl_s: float, /, *, timeout_s: float) -> StoreLease | None:
        self._note("lease", scope, timeout_s)
        held = self.leases.get((scope, name))
        if held is not None and held.holder not in {"", holder} and held.expires > time():
            return None
        lease = StoreLease(name, holder, held.fence + 1 if held else 1, time() + ttl_s)
        self.leases[scope, name] = lease
        return lease

    def renew(self, scope: Scope, lease: StoreLease, ttl_s: float, /, *, timeout_s: float) -> StoreLease:
        self._note("renew", scope, timeout_s)
        if self.leases.get((scope, lease.name)) != lease:
            raise StoreConflict("the lease was lost")
        renewed = self.leases[scope, lease.name] = lease._replace(expires=time() + ttl_s)
        return renewed

    def release(self, scope: Scope, lease: StoreLease, /, *, timeout_s: float) -> None:
        self._note("release", scope, timeout_s)
        if self.leases.get((scope, lease.name)) == lease:
            self.leases[scope, lease.name] = lease._replace(holder="", expires=0.0)

    def seal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, text: str, /) -> str:
        return "aes-gcm:" + b64encode(repr((scope, kind, key, field, text)).encode()).decode()

    def unseal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, sealed: str, /) -> str:
        place = repr((scope, kind, key, field))[:-1] + ", "
        opened = b64decode(sealed.removeprefix("aes-gcm:")).decode()
        if not opened.startswith(place):
            raise StoreUnavailable("A secret cannot be decrypted.")
        return opened.removeprefix(place)[1:-2]

    def export(self) -> StoreExport:
        raise NotImplementedError

    def replace_all(self, content: StoreExport, /) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.log.append("close")

    def _note(self, act: str, scope: Scope | None = None, timeout_s: float | None = None) -> None:
        self.log.append(act)
        if scope is not None and timeout_s is not None:
            self.scopes.add(scope)
            self.timeouts.append(timeout_s)
        if self.failure is not None:
            raise self.failure
