"""SQLite as a store's database: one file, in write-ahead mode, with FTS5."""

import ctypes
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.pool import QueuePool
from typing_extensions import override

from toolcharter import StateFolder, StoreUnavailable, UnsafeState
from toolcharter_stores.sql import Database, Fault, remaining_s

_STEPS_PER_CHECK = 20_000
"""How many steps SQLite's virtual machine runs between checks of the deadline: well below a hundredth of a second."""
# Source: https://www.sqlite.org/rescode.html
_LATE = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_LOCKED})
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_TEXT = sa.table("toolcharter_text", sa.column("rowid", sa.Integer), sa.column("place"), sa.column("words"))
_WRITE_TEXT = sa.insert(_TEXT)
# In an expression, the name of an FTS5 table means all of its columns.
_ALL: sa.ColumnClause[Any] = sa.literal_column("toolcharter_text")


class SqliteDatabase(Database):
    """An SQLite database in one file.

    Args:
        file: An absolute path. The file and its folder may be missing.
    """

    name = "SQLite"
    connections = 8
    insert = staticmethod(insert)
    text = _TEXT
    text_record = _TEXT.c.rowid
    locks_row = False

    def __init__(self, file: Path) -> None:
        self._file = file

    now: ClassVar[sa.ColumnElement[float]] = sa.bindparam(
        "toolcharter_now", callable_=time.time, type_=sa.Float, unique=True
    )

    @override
    def engine(self) -> sa.Engine:
        return sa.create_engine(
            "sqlite://",
            creator=self._connect,
            poolclass=QueuePool,
            pool_size=self.connections,
            max_overflow=0,
            isolation_level="AUTOCOMMIT",
            query_cache_size=500,
        )

    @override
    def prepare(self) -> None:
        place = self._file.parent
        around, *inner = (place.parent, place.name) if place.name else (place,)
        folder = StateFolder(around, *inner, workspace=None)
        where = repr(str(self._file))
        try:
            with folder.made():
                _make_private_file(self._file)
        except UnsafeState as error:
            raise StoreUnavailable(f"The store {where} {error.what}. {error.fix}".strip()) from error
        except OSError as error:
            raise StoreUnavailable(f"The store {where} cannot be opened: {error.strerror}.") from error

    @override
    def keeps_state_in(self) -> Sequence[Path]:
        return [Path(f"{self._file}{end}") for end in ("", "-wal", "-shm", "-journal")]

    @override
    def begin(self, connection: sa.Connection, *, writes: bool) -> None:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {max(1, round(remaining_s() * 1000))}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    @override
    def lock_all(self, connection: sa.Connection) -> None:
        """Do nothing: SQLite runs one writing transaction at a time."""

    @override
    def lock_schema(self, connection: sa.Connection) -> None:
        """Do nothing: SQLite runs one writing transaction at a time."""

    @override
    def fault(self, error: exc.SQLAlchemyError) -> Fault:
        code = getattr(getattr(error, "orig", None), "sqlite_errorcode", None)
        if code is None or code & 0xFF not in _LATE:
            return Fault.OTHER
        # A transaction that has read does not wait for another writer: its snapshot would be stale.
        return Fault.CONFLICT if code & 0xFF == sqlite3.SQLITE_BUSY and remaining_s() > 0 else Fault.LATE

    @override
    def cause(self, error: BaseException) -> str:
        return str(getattr(error, "sqlite_errorname", type(error).__name__))

    @override
    def write_text(self, connection: sa.Connection, record: int, place: str, words: Sequence[str]) -> None:
        connection.execute(_WRITE_TEXT, {"rowid": record, "place": place, "words": " ".join(words)})

    @override
    def text_query(self, place: str, words: Iterable[str]) -> str:
        # Within quotes nothing is an operator, and words contain no quotes.
        wanted = " AND ".join(f'"{word}"' for word in words)
        return f'place : "{place}" AND words : ({wanted})'

    @classmethod
    @override
    def matches(cls, query: sa.BindParameter[str]) -> sa.ColumnElement[bool]:
        return _ALL.bool_op("MATCH")(query)

    @classmethod
    @override
    def rank(cls, query: sa.BindParameter[str]) -> sa.ColumnElement[float]:
        return sa.func.bm25(_ALL, 0.0, 1.0)

    @override
    def abandon(self, engine: sa.Engine) -> None:
        # SQLite forbids a child to use or close its parent's connections: a leaked reference keeps them open.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine.pool))

    def _connect(self) -> sqlite3.Connection:
        # mode=rw does not create the file: a file that has vanished must not become an empty store.
        connection = sqlite3.connect(
            f"file:{quote(str(self._file))}?mode=rw",
            timeout=max(0.001, remaining_s()),
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        connection.set_progress_handler(lambda: remaining_s() < 0, _STEPS_PER_CHECK)
        connection.execute("PRAGMA journal_mode = WAL")
        # Every commit reaches the disk: a revoked token stays revoked after a power failure.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


def _make_private_file(file: Path) -> None:
    """Create *file* if it is missing, and refuse it if other users could read or write it.

    Raises:
        OSError: It cannot be created or opened.
        UnsafeState: It is no regular file, has a second name, belongs to another user, or is open to others.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        found = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise UnsafeState("is no regular file, or has a second name elsewhere")
    if found.st_uid != os.geteuid():
        raise UnsafeState("belongs to another user", "Check what is in it, and take it over with chown.")
    if found.st_mode & _FOR_OTHERS:
        raise UnsafeState("is open to others", "Check what is in it, then: chmod go=.")
