"""`SqlTransaction`: the rows of one scope within one transaction.

A transaction begins at its first use. If it writes first, it locks its scope's row at once, and no other transaction
can write to the scope. If it reads first, it sees a snapshot. If it then writes, and another transaction has written
since the snapshot, it is retried, and locks the row before anything else.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import sqlalchemy as sa
from sqlalchemy import exc

from toolcharter import NewRow, Row, Scope, StoreConflict, StoreLease, StoreUnavailable, ToolError
from toolcharter_stores.sql import queries
from toolcharter_stores.sql.database import Database
from toolcharter_stores.sql.failures import ConnectionLost, RetryTransaction, translate_error
from toolcharter_stores.sql.pool import roll_back
from toolcharter_stores.sql.scopes import Scopes
from toolcharter_stores.sql.sort_keys import cursor_parts, cursor_text, head, key_bytes, key_of, value_bytes
from toolcharter_stores.sql.tables import DELETIONS, ITEMS, LEASES, RECORDS, SCOPES, VALUES
from toolcharter_stores.sql.words import text_place, words_of

Where = Mapping[str, str | int | bool | None]
KEPT_DELETIONS = 100_000
"""The least number of latest deletions of a scope that `changes` reports."""
_TRIM_EACH = 1_000

_b = sa.bindparam
_LOCK = sa.update(SCOPES).where(SCOPES.c.id == _b("at")).values(seq=SCOPES.c.seq + _b("more")).returning(SCOPES.c.seq)
_NUMBER = sa.update(SCOPES).where(SCOPES.c.id == _b("at")).values(seq=_b("now"))
_IS_RECORD = (RECORDS.c.scope == _b("at"), RECORDS.c.kind == _b("of"), RECORDS.c.key == _b("named"))
_GET = sa.select(RECORDS.c.document, RECORDS.c.version, RECORDS.c.seq).where(*_IS_RECORD)
_FIND = sa.select(RECORDS.c.id, RECORDS.c.version, RECORDS.c.indexed, RECORDS.c.full_text).where(*_IS_RECORD)
_INSERT = sa.insert(RECORDS).returning(RECORDS.c.id)
_UPDATE = sa.update(RECORDS).where(RECORDS.c.id == _b("record"))
_DELETE = sa.delete(RECORDS).where(RECORDS.c.id == _b("record"))
_INSERT_VALUES = sa.insert(VALUES)
_DELETE_VALUES = sa.delete(VALUES).where(VALUES.c.record == _b("gone"))
_INSERT_DELETION = sa.insert(DELETIONS)
_DELETE_DELETION = sa.delete(DELETIONS).where(
    DELETIONS.c.scope == _b("at"), DELETIONS.c.kind == _b("of"), DELETIONS.c.key == _b("named")
)
_OLDEST_KEPT = (
    sa.select(DELETIONS.c.seq)
    .where(DELETIONS.c.scope == _b("at"))
    .order_by(DELETIONS.c.seq.desc())
    .offset(_b("kept", type_=sa.Integer))
    .limit(1)
)
_FORGET = sa.delete(DELETIONS).where(DELETIONS.c.scope == _b("at"), DELETIONS.c.seq <= _b("last"))
_FORGOTTEN = sa.update(SCOPES).where(SCOPES.c.id == _b("at")).values(forgotten=_b("last"))
_IN_LIST = (ITEMS.c.scope == _b("at"), ITEMS.c.name == _b("list"))
_LAST_ITEM = sa.select(ITEMS.c.number).where(*_IN_LIST).order_by(ITEMS.c.number.desc()).limit(1)
_PUSH = sa.insert(ITEMS)
_TRIM = sa.delete(ITEMS).where(*_IN_LIST, ITEMS.c.number <= _b("last"))
_ITEMS = sa.select(ITEMS.c.item).where(*_IN_LIST).order_by(ITEMS.c.number.desc()).limit(_b("most", type_=sa.Integer))
_LEASE = sa.select(LEASES.c.holder, LEASES.c.fence, LEASES.c.expires).where(
    LEASES.c.scope == _b("at"), LEASES.c.name == _b("lease")
)


class SqlTransaction:
    """Satisfies `EngineTransaction`. If a statement fails, `commit` raises its error again: nothing is half written."""

    def __init__(self, database: Database, connection: sa.Connection, scopes: Scopes, whose: Scope) -> None:
        self._database = database
        self._connection = connection
        self._scopes = scopes
        self._scope_key = whose
        self._scope: int | None = None
        self._has_begun = False
        self._is_locked = False
        self._seq = 0
        self._written_seq = 0
        self._leases: list[StoreLease] = []
        self.failure: StoreConflict | StoreUnavailable | None = None

    def lock(self) -> None:
        """Begin by locking the scope's row, which keeps other transactions from writing."""
        self._lock(more=0)

    def get(self, kind: str, key: tuple[str, ...], /) -> Row | None:
        """Return the row with this key; None if there is none."""
        found = self._read(_GET, of=kind, named=key_bytes(key)).first()
        return None if found is None else Row(key, found.document, found.version, found.seq)

    def put(self, kind: str, row: NewRow, /, *, expected: int | None) -> int:
        """Write *row*, and return its version."""
        require_text(row.document, row.full_text)
        self._lock(more=1)
        named = key_bytes(row.key)
        found = self._run(_FIND, at=self._scope, of=kind, named=named).first()
        before = 0 if found is None else found.version
        if expected is not None and expected != before:
            raise StoreConflict(f"The record has the version {before}, not {expected}.")
        self._seq += 1
        indexed = json.dumps(dict(row.indexed), sort_keys=True)
        values = {
            "document": row.document,
            "version": before + 1,
            "seq": self._seq,
            "indexed": indexed,
            "secret": json.dumps(row.secret),
            "full_text": row.full_text,
        }
        if found is None:
            self._run(_DELETE_DELETION, at=self._scope, of=kind, named=named)
            record = self._run(_INSERT, scope=self._scope, kind=kind, key=named, **values).scalar_one()
        else:
            record = found.id
            self._run(_UPDATE, record=record, **values)
        if found is None or found.indexed != indexed:
            self._index(kind, record, row, replaces=found is not None and found.indexed != "{}")
        if (found.full_text if found is not None else "") != row.full_text:
            self._index_text(kind, record, row.full_text, replaces=found is not None and found.full_text != "")
        return before + 1

    def delete(self, kind: str, key: tuple[str, ...], /, *, expected: int | None) -> bool:
        """Delete the row with this key. Return whether it existed."""
        self._lock(more=1)
        named = key_bytes(key)
        found = self._run(_FIND, at=self._scope, of=kind, named=named).first()
        before = 0 if found is None else found.version
        if expected is not None and expected != before:
            raise StoreConflict(f"The record has the version {before}, not {expected}.")
        if found is None:
            return False
        self._seq += 1
        self._run(_DELETE_VALUES, gone=found.id)
        if found.full_text:
            self._run(sa.delete(self._database.text).where(self._database.text_record == found.id))
        self._run(_DELETE, record=found.id)
        self._run(_INSERT_DELETION, scope=self._scope, kind=kind, key=named, seq=self._seq)
        if self._seq % _TRIM_EACH == 0:
            self._forget_deletions()
        return True

    def page(
        self, kind: str, /, *, where: Where, order: str, descending: bool, after: str, limit: int
    ) -> tuple[tuple[Row, ...], str]:
        """Return rows in order, and the cursor of the next page; empty if this is the last page."""
        values = {field: value_bytes(value) for field, value in where.items()}
        shape = {"descending": descending, "continues": bool(after)}
        rare = self._find_rare_field(kind, values) if order else None
        if rare is not None:
            values = {rare: values[rare], **values}
        parameters = {"kind": kind, "limit": limit + 1, **queries.where_parameters(values)}
        if order:
            if after:
                parameters["after_value"], parameters["after"] = cursor_parts(after, 2)
            by_field = queries.page_by_field if rare is None else queries.page_of_few
            query = by_field(len(values), **shape)
            parameters["order"] = order
        else:
            if after:
                (parameters["after"],) = cursor_parts(after, 1)
            query = queries.page_by_key(len(values), **shape)
        found = self._read(query, "scope", **parameters).all()
        rows = tuple(Row(key_of(each[0]), each[1], each[2], each[3]) for each in found[:limit])
        return rows, cursor_text(*found[limit - 1][4:]) if len(found) > limit else ""

    def _find_rare_field(self, kind: str, values: Mapping[str, bytes]) -> str | None:
        """Find a field whose value fewer than `MAX_SORTED` records have."""
        for field, value in values.items():
            asked = {"kind": kind, "field0": field, "value0": value}
            if self._read(queries.COUNT_FEW, "scope", **asked).scalar_one() < queries.MAX_SORTED:
                return field
        return None

    def count(self, kind: str, /, *, where: Where) -> int:
        """Count the rows that all pages together would have."""
        values = {field: value_bytes(value) for field, value in where.items()}
        parameters = {"kind": kind, **queries.where_parameters(values)}
        count: int = self._read(queries.count_of(len(values)), "scope", **parameters).scalar_one()
        return count

    def search(self, kind: str, words: Sequence[str], /, *, where: Where, limit: int) -> tuple[Row, ...]:
        """Return the rows whose full text contains each of *words*, the best match first."""
        wanted = words_of(" ".join(words))
        if not wanted:
            return ()
        self._begin()
        values = {field: value_bytes(value) for field, value in where.items()}
        asked = self._database.text_query(text_place(self._scope or 0, kind), dict.fromkeys(wanted))
        query = queries.search_for(type(self._database), len(values))
        parameters = {"kind": kind, "query": asked, "limit": limit, **queries.where_parameters(values)}
        found = self._read(query, "scope", **parameters)
        return tuple(Row(key_of(each[0]), each[1], each[2], each[3]) for each in found)

    def push(self, name: str, /, *items: str, cap: int) -> None:
        """Put *items* at the head of a list, one after the other, and keep its first *cap* items."""
        require_text(name, *items)
        if not items:
            return
        self._lock(more=0)
        last = self._run(_LAST_ITEM, at=self._scope, list=name).scalar() or 0
        pushed = items[-cap:]  # Earlier items would be trimmed at once.
        self._execute(
            _PUSH,
            [
                {"scope": self._scope, "name": name, "number": number, "item": item}
                for number, item in enumerate(pushed, last + 1)
            ],
        )
        if last + len(pushed) > cap:
            self._run(_TRIM, at=self._scope, list=name, last=last + len(pushed) - cap)

    def items(self, name: str, /, *, limit: int) -> tuple[str, ...]:
        """Return up to *limit* items from the head of a list."""
        require_text(name)
        return tuple(self._read(_ITEMS, list=name, most=limit).scalars())

    def require_lease(self, lease: StoreLease, /) -> None:
        """Fail the transaction unless its holder has *lease*; checked now and again at the commit."""
        self._begin()
        self._check_lease(lease)
        self._leases.append(lease)

    def commit(self) -> None:
        """Commit, after checking the required leases again."""
        if self.failure is not None:
            raise self.failure
        if not self._has_begun:
            return
        for lease in self._leases:
            self._check_lease(lease)
        if self._is_locked and self._seq != self._written_seq:
            self._run(_NUMBER, at=self._scope, now=self._seq)
        try:
            self._connection.exec_driver_sql("COMMIT")
        except exc.SQLAlchemyError as error:
            failure = translate_error(self._database, error)
            if isinstance(failure, ConnectionLost):
                # Not retried: the server may have committed.
                raise StoreUnavailable(
                    f"The connection to {self._database.name} was lost during the commit."
                ) from error
            raise failure from error
        self._has_begun = False

    def roll_back(self) -> None:
        """Roll back. If that fails, close the connection."""
        if self._has_begun:
            roll_back(self._connection)

    def _begin(self) -> None:
        if not self._has_begun:
            self._scope = self._scopes.find(self._scope_key, self._run)
            self._start(writes=False)

    def _lock(self, *, more: int) -> None:
        """Lock the scope's row and read its change number, adding the number of changes that are certain to follow."""
        if self._is_locked:
            return
        if not self._has_begun:
            self._scope = self._scopes.find_or_add(self._scope_key, self._run, self._database.insert)
            self._start(writes=True)
        if self._scope is None:
            self.failure = RetryTransaction("The scope is new.")
            raise self.failure
        self._written_seq = self._run(_LOCK, at=self._scope, more=more).scalar_one()
        self._seq = self._written_seq - more
        self._is_locked = True

    def _start(self, *, writes: bool) -> None:
        self._has_begun = True
        try:
            self._database.begin(self._connection, writes=writes)
        except exc.SQLAlchemyError as error:
            self._fail(error)

    def _index(self, kind: str, record: int, row: NewRow, *, replaces: bool) -> None:
        if replaces:
            self._run(_DELETE_VALUES, gone=record)
        if not row.indexed:
            return
        place = {"scope": self._scope, "kind": kind, "key": head(key_bytes(row.key)), "record": record}
        values = [{**place, "field": field, "value": value_bytes(value)} for field, value in row.indexed.items()]
        self._execute(_INSERT_VALUES, values)

    def _index_text(self, kind: str, record: int, text: str, *, replaces: bool) -> None:
        if replaces:
            self._run(sa.delete(self._database.text).where(self._database.text_record == record))
        if text:
            try:
                self._database.write_text(self._connection, record, text_place(self._scope or 0, kind), words_of(text))
            except exc.SQLAlchemyError as error:
                self._fail(error)

    def _forget_deletions(self) -> None:
        last = self._run(_OLDEST_KEPT, at=self._scope, kept=KEPT_DELETIONS).scalar()
        if last is not None:
            self._run(_FORGET, at=self._scope, last=last)
            self._run(_FORGOTTEN, at=self._scope, last=last)

    def _check_lease(self, lease: StoreLease) -> None:
        held = _LEASE.with_for_update(read=True) if self._database.locks_row else _LEASE
        query = held.add_columns(self._database.now.label("now"))
        found = self._run(query, at=self._scope, lease=lease.name).first()
        if found is None or (found.holder, found.fence) != (lease.holder, lease.fence) or found.expires <= found.now:
            raise StoreConflict(f"The lease {lease.name!r} is no longer held by {lease.holder!r}.")

    def _read(self, query: sa.Executable, scope: str = "at", /, **parameters: Any) -> Any:
        self._begin()
        return self._run(query, **{scope: self._scope or 0}, **parameters)

    def _run(self, statement: sa.Executable, /, **parameters: Any) -> Any:
        return self._execute(statement, parameters)

    def _execute(self, statement: sa.Executable, parameters: dict[str, Any] | list[dict[str, Any]]) -> Any:
        if self.failure is not None:
            raise self.failure
        try:
            return self._connection.execute(statement, parameters)
        except exc.SQLAlchemyError as error:
            self._fail(error)

    def _fail(self, error: exc.SQLAlchemyError) -> NoReturn:
        self.failure = translate_error(self._database, error)
        raise self.failure from error


def require_text(*texts: str) -> None:
    """Refuse text that a database could not return unchanged.

    Raises:
        ToolError: A text has a NUL or a lone surrogate.
    """
    for text in texts:
        if "\0" in text or (not text.isascii() and text.encode(errors="replace").decode() != text):
            raise ToolError("a store only keeps text that is valid UTF-8 without NUL", reason="invalid_arguments")
