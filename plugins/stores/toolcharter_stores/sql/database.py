"""`Database`: the differences between the SQL databases that can hold a store. A plugin per database implements it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy import exc

DEADLINE: ContextVar[float | None] = ContextVar("toolcharter_store_deadline", default=None)
"""The deadline for database work in this context, on `time.monotonic`'s clock; None if no call limits it."""
PATIENCE_S = 30.0
"""The time limit of one statement where no call sets a deadline: in a backup or a migration."""


def remaining_s() -> float:
    """Return how long this context may still use a database, in seconds. It may be negative."""
    deadline = DEADLINE.get()
    return PATIENCE_S if deadline is None else deadline - time.monotonic()


class Fault(Enum):
    """The meaning of a database error for the caller."""

    CONFLICT = "conflict"
    """Another transaction conflicted; a retry may succeed."""
    GONE = "gone"
    """The connection is lost; a new one may work."""
    LATE = "late"
    """The statement took longer than its deadline allows."""
    OTHER = "other"


class Database(ABC):
    """One kind of database at one URL. Can be used by many threads."""

    name: ClassVar[str]
    """The product's name, for messages."""
    connections: ClassVar[int]
    """The most connections open at a time."""
    insert: ClassVar[Any]
    """SQLAlchemy's `insert` with `on_conflict_do_update`."""
    text: ClassVar[sa.TableClause]
    """The table of the full-text index."""
    text_record: ClassVar[sa.ColumnClause[int]]
    """The column of `text` that holds the record's id."""
    now: ClassVar[sa.ColumnElement[float]]
    """The database's clock, in seconds since 1970."""
    locks_row: ClassVar[bool]
    """Whether a transaction can lock a row that it reads. If not, only one transaction writes at a time anyway."""

    @abstractmethod
    def engine(self) -> sa.Engine:
        """Create a pool of `connections` autocommit connections. It connects on first use and obeys `DEADLINE`."""

    @abstractmethod
    def prepare(self) -> None:
        """Create the database's file and folder if they are missing. A database on a server needs nothing.

        Raises:
            StoreUnavailable: The file cannot be created, or other users could read or write it.
        """

    @abstractmethod
    def keeps_state_in(self) -> Sequence[Path]:
        """Return the files on this machine that hold the database; none if a server holds it."""

    @abstractmethod
    def begin(self, connection: sa.Connection, *, writes: bool) -> None:
        """Begin a transaction.

        Args:
            connection: In autocommit mode.
            writes: If true, the transaction sees everything that is committed once it holds its lock.
                If false, it reads one snapshot.
        """

    @abstractmethod
    def lock_all(self, connection: sa.Connection) -> None:
        """Within a transaction that writes, keep every other transaction from writing."""

    @abstractmethod
    def fault(self, error: exc.SQLAlchemyError) -> Fault:
        """Classify *error*."""

    def cause(self, error: BaseException) -> str:
        """Describe *error* of the driver without any part of the statement or its values."""
        return type(error).__name__

    @abstractmethod
    def lock_schema(self, connection: sa.Connection) -> None:
        """Within a transaction that writes, keep other processes from migrating."""

    @abstractmethod
    def write_text(self, connection: sa.Connection, record: int, place: str, words: Sequence[str]) -> None:
        """Index the *words* of a record that has no entry in the index yet.

        Args:
            connection: Within a transaction.
            record: The record's id.
            place: A word for the record's scope and kind. It occurs in no text.
            words: As `words_of` returns them.
        """

    @abstractmethod
    def text_query(self, place: str, words: Iterable[str]) -> str:
        """Return the query that `matches` and `rank` take. It finds records of *place* with all *words*."""

    @classmethod
    @abstractmethod
    def matches(cls, query: sa.BindParameter[str]) -> sa.ColumnElement[bool]:
        """Return the condition that a row of `text` matches *query*."""

    @classmethod
    @abstractmethod
    def rank(cls, query: sa.BindParameter[str]) -> sa.ColumnElement[float]:
        """Return the expression for how well a row of `text` matches *query*; the best match has the lowest value."""

    @abstractmethod
    def abandon(self, engine: sa.Engine) -> None:
        """In a forked child: drop the connections of *engine* without closing them, since they are the parent's."""
