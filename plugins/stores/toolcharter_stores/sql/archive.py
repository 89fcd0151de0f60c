"""Exports and replaces all rows of a database, in batches, so that memory never holds them all."""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy import exc

from toolcharter import ExportedFence, ExportedItem, ExportedRow, NewRow, Scope, StoreUnavailable
from toolcharter_stores.sql.database import Database
from toolcharter_stores.sql.failures import translate_error
from toolcharter_stores.sql.pool import Pool, roll_back
from toolcharter_stores.sql.sort_keys import head, key_bytes, key_of, value_bytes
from toolcharter_stores.sql.tables import DELETIONS, ITEMS, LEASES, RECORDS, SCOPES, VALUES
from toolcharter_stores.sql.words import text_place, words_of

Exported = ExportedRow | ExportedItem | ExportedFence
AT_ONCE = 200
"""The most rows in memory at a time."""
_CHARS_AT_ONCE = 4_000_000
_SCOPES = sa.select(SCOPES.c.id, SCOPES.c.tenant, SCOPES.c.distribution)
_RECORDS = sa.select(RECORDS).order_by(RECORDS.c.id)
_ITEMS = sa.select(ITEMS).order_by(ITEMS.c.scope, ITEMS.c.name, ITEMS.c.number)
_LEASES = sa.select(LEASES.c.scope, LEASES.c.name, LEASES.c.fence).order_by(LEASES.c.scope, LEASES.c.name)


class SqlExport:
    """Satisfies `StoreExport`. It holds everything that was committed when the context was entered."""

    def __init__(self, database: Database, pool: Pool) -> None:
        self._database = database
        self._pool = pool
        self._open = ExitStack()
        self._connection: sa.Connection | None = None
        self._scopes: dict[int, Scope] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            connection = stack.enter_context(self._pool.without_deadline())
            stack.callback(roll_back, connection)
            try:
                self._database.begin(connection, writes=False)
                # The first query takes the transaction's snapshot.
                rows = connection.execute(_SCOPES).all()
            except exc.SQLAlchemyError as error:
                raise translate_error(self._database, error) from error
            self._scopes = {row.id: Scope(row.tenant, row.distribution) for row in rows}
            self._connection = connection
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._connection = None
        self._open.close()

    def __iter__(self) -> Iterator[Exported]:
        for row in self._rows(_RECORDS):
            try:
                document = NewRow(
                    key_of(row.key), row.document, json.loads(row.indexed), row.full_text, tuple(json.loads(row.secret))
                )
            except (TypeError, ValueError) as error:
                raise StoreUnavailable(
                    f"The row {row.id} of {RECORDS.name} cannot be read: {type(error).__name__}. Another program has "
                    "written it; delete it."
                ) from error
            yield ExportedRow(self._scopes[row.scope], row.kind, document, row.version, row.seq)
        for row in self._rows(_ITEMS):
            yield ExportedItem(self._scopes[row.scope], row.name, row.item)
        for row in self._rows(_LEASES):
            yield ExportedFence(self._scopes[row.scope], row.name, row.fence)

    def _rows(self, query: sa.Select[*tuple[Any, ...]]) -> Iterator[Any]:
        if self._connection is None:
            raise StoreUnavailable("An export can only be read while it is open.")
        try:
            with self._connection.execution_options(yield_per=AT_ONCE).execute(query) as found:
                yield from found
        except exc.SQLAlchemyError as error:
            raise translate_error(self._database, error) from error


def _batches(content: Iterable[Exported]) -> Iterator[list[Exported]]:
    """Split *content* into lists of up to `AT_ONCE` entries; a list ends earlier where its entries are long."""
    piece, chars = list[Exported](), 0
    for each in content:
        piece.append(each)
        chars += len(each.row.document) + len(each.row.full_text) if isinstance(each, ExportedRow) else 0
        chars += len(each.item) if isinstance(each, ExportedItem) else 0
        if len(piece) == AT_ONCE or chars > _CHARS_AT_ONCE:
            yield piece
            piece, chars = [], 0
    if piece:
        yield piece


class ContentReplacer:
    """Replaces all rows, within a transaction that keeps every other transaction from writing."""

    def __init__(self, database: Database, connection: sa.Connection) -> None:
        self._database = database
        self._connection = connection
        self._scopes: dict[Scope, int] = {}
        self._latest: dict[int, int] = {}
        self._numbers: dict[tuple[int, str], int] = {}

    def run(self, content: Iterable[Exported]) -> None:
        """Replace everything by *content*. Readers of `changes` have to start over; fencing numbers keep growing."""
        run = self._connection.execute
        self._database.lock_all(self._connection)
        for row in run(sa.select(SCOPES.c.id, SCOPES.c.tenant, SCOPES.c.distribution, SCOPES.c.seq)).all():
            self._scopes[Scope(row.tenant, row.distribution)] = row.id
            self._latest[row.id] = row.seq
        for table in (VALUES, RECORDS, DELETIONS, ITEMS):
            run(sa.delete(table))
        run(sa.delete(self._database.text))
        run(sa.update(LEASES).values(holder="", expires=0.0))
        try:
            for piece in _batches(content):
                self._write(piece)
        except exc.IntegrityError as error:
            raise StoreUnavailable("Nothing is replaced: two records have one key, or one change number.") from error
        for scope, seq in self._latest.items():
            run(sa.update(SCOPES).where(SCOPES.c.id == scope).values(seq=seq + 1, forgotten=seq + 1))

    def _write(self, piece: list[Exported]) -> None:
        self._write_records([each for each in piece if isinstance(each, ExportedRow)])
        self._write_items([each for each in piece if isinstance(each, ExportedItem)])
        for each in piece:
            if isinstance(each, ExportedFence):
                self._write_fence(each)

    def _scope(self, scope: Scope) -> int:
        number = self._scopes.get(scope)
        if number is None:
            new = {"tenant": scope.tenant, "distribution": scope.distribution, "seq": 0, "forgotten": 0}
            number = self._connection.execute(sa.insert(SCOPES).returning(SCOPES.c.id), new).scalar_one()
            self._scopes[scope] = number
            self._latest[number] = 0
        return number

    def _write_records(self, rows: list[ExportedRow]) -> None:
        values: list[dict[str, Any]] = []
        for each in rows:
            scope = self._scope(each.scope)
            self._latest[scope] = max(self._latest[scope], each.seq)
            key = key_bytes(each.row.key)
            new = {
                "scope": scope,
                "kind": each.kind,
                "key": key,
                "document": each.row.document,
                "version": each.version,
                "seq": each.seq,
                "indexed": json.dumps(dict(each.row.indexed), sort_keys=True),
                "secret": json.dumps(each.row.secret),
                "full_text": each.row.full_text,
            }
            record = self._connection.execute(sa.insert(RECORDS).returning(RECORDS.c.id), new).scalar_one()
            place = {"scope": scope, "kind": each.kind, "key": head(key), "record": record}
            for field, value in each.row.indexed.items():
                values.append({**place, "field": field, "value": value_bytes(value)})
            if each.row.full_text:
                words = words_of(each.row.full_text)
                self._database.write_text(self._connection, record, text_place(scope, each.kind), words)
        if values:
            self._connection.execute(sa.insert(VALUES), values)

    def _write_items(self, items: list[ExportedItem]) -> None:
        new: list[dict[str, Any]] = []
        for each in items:
            place = (self._scope(each.scope), each.name)
            self._numbers[place] = self._numbers.get(place, 0) + 1
            new.append({"scope": place[0], "name": each.name, "number": self._numbers[place], "item": each.item})
        if new:
            self._connection.execute(sa.insert(ITEMS), new)

    def _write_fence(self, each: ExportedFence) -> None:
        new = self._database.insert(LEASES)
        higher = sa.case((LEASES.c.fence < new.excluded.fence, new.excluded.fence), else_=LEASES.c.fence)
        writing = new.on_conflict_do_update(index_elements=[LEASES.c.scope, LEASES.c.name], set_={"fence": higher})
        values = {
            "scope": self._scope(each.scope),
            "name": each.name,
            "holder": "",
            "fence": each.fence,
            "expires": 0.0,
        }
        self._connection.execute(writing, values)
