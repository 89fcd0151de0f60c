"""`Database`: what differs between the databases that a store in SQL can lie in; each has a plugin of its own."""

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
"""Until when what runs here may use a database, on `time.monotonic`'s clock."""
PATIENCE_S = 30.0
"""How long one statement may take where no call's time is over it: a backup, a migration."""


def remaining_s() -> float:
    """How long what runs here may still use a database, in seconds; it may be negative."""
    deadline = DEADLINE.get()
    return PATIENCE_S if deadline is None else deadline - time.monotonic()


class Fault(Enum):
    """What an error of a database means to its user."""

    CONFLICT = "conflict"
    """Another transaction was in the way; the next attempt may get through."""
    GONE = "gone"
    """The connection is lost; a new one may work."""
    LATE = "late"
    """It took too long."""
    OTHER = "other"


class Database(ABC):
    """One kind of database at one URL. Safe from many threads."""

    name: ClassVar[str]
    """As people call it."""
    connections: ClassVar[int]
    """How many may be open at a time."""
    insert: ClassVar[Any]
    """SQLAlchemy's `insert` with `on_conflict_do_update`."""
    text: ClassVar[sa.TableClause]
    """The table of full text."""
    text_record: ClassVar[sa.ColumnClause[int]]
    """Which record a row of it is about."""
    now: ClassVar[sa.ColumnElement[float]]
    """The clock, in seconds since 1970."""
    locks_row: ClassVar[bool]
    """Whether a row that was read can be kept from changing; else a writer is alone anyway."""

    @abstractmethod
    def engine(self) -> sa.Engine:
        """A pool of `connections` connections in autocommit, which connects on first use and obeys `DEADLINE`."""

    @abstractmethod
    def prepare(self) -> None:
        """Make the place in which the database lies, if that is its user's affair.

        Raises:
            StoreUnavailable: It cannot be made, or others could write there.
        """

    @abstractmethod
    def keeps_state_in(self) -> Sequence[Path]:
        """The files of this machine that hold the database."""

    @abstractmethod
    def begin(self, connection: sa.Connection, *, writes: bool) -> None:
        """Begin a transaction: one that sees all that is committed when it has its lock, or one that sees one moment."""

    @abstractmethod
    def lock_all(self, connection: sa.Connection) -> None:
        """Within a transaction that writes, keep all others from writing."""

    @abstractmethod
    def fault(self, error: exc.SQLAlchemyError) -> Fault:
        """What *error* means."""

    def cause(self, error: BaseException) -> str:
        """What *error* of the driver says, without anything that a statement holds."""
        return type(error).__name__

    @abstractmethod
    def lock_schema(self, connection: sa.Connection) -> None:
        """Within a transaction that writes, keep others from migrating."""

    @abstractmethod
    def write_text(self, connection: sa.Connection, record: int, place: str, words: Sequence[str]) -> None:
        """Index the *words* of a record, of which there are none yet.

        Args:
            connection: Within a transaction.
            record: Its id.
            place: A word for its scope and kind, which no text has.
            words: As `words_of` gives them.
        """

    @abstractmethod
    def text_query(self, place: str, words: Iterable[str]) -> str:
        """What `matches` and `rank` take: all of *words*, in *place*."""

    @classmethod
    @abstractmethod
    def matches(cls, query: sa.BindParameter[str]) -> sa.ColumnElement[bool]:
        """Whether a row of `text` matches."""

    @classmethod
    @abstractmethod
    def rank(cls, query: sa.BindParameter[str]) -> sa.ColumnElement[float]:
        """How well a row of `text` matches, the best lowest."""

    @abstractmethod
    def abandon(self, engine: sa.Engine) -> None:
        """In a fork's child: never touch the connections of *engine* again, which are the parent's."""
