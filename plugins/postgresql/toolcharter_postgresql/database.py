"""PostgreSQL as a store's database: psycopg connections whose waits end at the call's deadline, and `tsvector`."""

import ctypes
import select
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg import conninfo
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait
from sqlalchemy import event, exc
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR, insert
from sqlalchemy.pool import QueuePool
from typing_extensions import override

from toolcharter_stores.sql import Database, Fault, remaining_s

T = TypeVar("T")
CONNECT_S = 5
"""The time limit for a new connection, in seconds. A call that waits for it still ends by its own deadline."""
_LOCK = 0x746F6F6C63686172
"""The number of the advisory lock for migrations: the bytes `toolchar`."""
_MAX_POSITION = 16_383
_SETTINGS = (
    # The server ends the work of a disconnected client, and the transaction of a client that hangs.
    "SET client_connection_check_interval = '2s'",
    "SET idle_in_transaction_session_timeout = '60s'",
    "SET application_name = 'toolcharter'",
)
# Source: PostgreSQL, appendix A, error codes.
_CONFLICTS = frozenset({"40001", "40P01"})
_LATE = frozenset({"55P03", "57014"})
_GONE = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03"})
_TEXT = sa.table("toolcharter_text", sa.column("record", sa.BigInteger), sa.column("words", TSVECTOR))
_WRITE_TEXT = sa.text("INSERT INTO toolcharter_text (record, words) VALUES (:record, CAST(:words AS tsvector))")


class TimedOut(psycopg.OperationalError):
    """The call's deadline has passed. The connection is closed."""


class LimitedConnection(psycopg.Connection[Any]):
    """A connection whose waits all end at the call's deadline."""

    @override
    def wait(self, gen: PQGen[T], *_: Any, **__: Any) -> T:
        """Run *gen*, as psycopg does, until the call's deadline.

        Raises:
            TimedOut: The deadline has passed. The server may or may not have run the statement.
        """
        try:
            return self._wait_within_deadline(gen)
        except TimedOut:
            self.pgconn.finish()
            raise
        except BaseException as error:
            if not isinstance(error, Exception):
                # Interrupted between a request and its response.
                self.pgconn.finish()
            raise

    def _wait_within_deadline(self, gen: PQGen[T]) -> T:
        poll = select.poll()
        try:
            wanted = next(gen)
            poll.register(self.pgconn.socket, _poll_events(wanted))
            while True:
                left_s = remaining_s()
                if left_s <= 0:
                    raise TimedOut("the time of the call is over")
                found = poll.poll(min(left_s, 1.0) * 1000)
                now = gen.send(_ready_state(found[0][1]) if found else Ready.NONE)
                if now != wanted:
                    wanted = now
                    poll.modify(self.pgconn.socket, _poll_events(wanted))
        except StopIteration as end:
            result: T = end.value
            return result


def _poll_events(wanted: Wait) -> int:
    return (select.POLLIN if wanted & Wait.R else 0) | (select.POLLOUT if wanted & Wait.W else 0)


def _ready_state(events: int) -> Ready:
    # psycopg learns of an error on the socket when it reads.
    readable = events & (select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL)
    return Ready((Ready.R if readable else 0) | (Ready.W if events & select.POLLOUT else 0))


class PostgresqlDatabase(Database):
    """A PostgreSQL database.

    Args:
        url: In libpq's syntax.

    Raises:
        ValueError: libpq cannot parse the URL.
    """

    name = "PostgreSQL"
    connections = 10
    insert = staticmethod(insert)
    text = _TEXT
    text_record = _TEXT.c.record
    now: ClassVar[sa.ColumnElement[float]] = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Float(53))
    locks_row = True

    def __init__(self, url: str) -> None:
        try:
            parameters = conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            # Not chained: the cause repeats parts of the URL.
            raise ValueError("write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, as libpq reads it") from None
        self._conninfo = conninfo.make_conninfo("", **{"connect_timeout": CONNECT_S, **parameters})

    @override
    def engine(self) -> sa.Engine:
        engine = sa.create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            poolclass=QueuePool,
            pool_size=self.connections,
            max_overflow=0,
            isolation_level="AUTOCOMMIT",
            query_cache_size=500,
        )
        event.listen(engine, "handle_error", _keep_other_connections)
        return engine

    @override
    def prepare(self) -> None:
        """Do nothing: the operator sets up the server."""

    @override
    def keeps_state_in(self) -> Sequence[Path]:
        return ()

    @override
    def begin(self, connection: sa.Connection, *, writes: bool) -> None:
        isolation = "READ COMMITTED" if writes else "REPEATABLE READ"
        connection.exec_driver_sql(f"BEGIN ISOLATION LEVEL {isolation}")

    @override
    def lock_all(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql("LOCK TABLE toolcharter_scopes, toolcharter_leases IN EXCLUSIVE MODE")

    @override
    def lock_schema(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")

    @override
    def fault(self, error: exc.SQLAlchemyError) -> Fault:
        cause = getattr(error, "orig", None)
        if isinstance(cause, TimedOut):
            return Fault.LATE
        state = getattr(cause, "sqlstate", None) or ""
        if state in _CONFLICTS:
            return Fault.CONFLICT
        if state in _LATE:
            return Fault.LATE
        is_lost = getattr(error, "connection_invalidated", False) or isinstance(cause, psycopg.OperationalError)
        return Fault.GONE if state in _GONE or state.startswith("08") or (is_lost and not state) else Fault.OTHER

    @override
    def cause(self, error: BaseException) -> str:
        state = getattr(error, "sqlstate", None)
        return f"{type(error).__name__} ({state})" if state else type(error).__name__

    @override
    def write_text(self, connection: sa.Connection, record: int, place: str, words: Sequence[str]) -> None:
        positions: dict[str, list[int]] = {}
        for position, word in enumerate(words, 1):
            positions.setdefault(word, []).append(min(position, _MAX_POSITION))
        lexemes = [_quote(_place_lexeme(place))]
        lexemes += [f"{_quote(word)}:{','.join(map(str, at[:255]))}" for word, at in positions.items()]
        connection.execute(_WRITE_TEXT, {"record": record, "words": " ".join(lexemes)})

    @override
    def text_query(self, place: str, words: Iterable[str]) -> str:
        return " & ".join(map(_quote, (_place_lexeme(place), *words)))

    @classmethod
    @override
    def matches(cls, query: sa.BindParameter[str]) -> sa.ColumnElement[bool]:
        return _TEXT.c.words.bool_op("@@")(sa.cast(query, TSQUERY))

    @classmethod
    @override
    def rank(cls, query: sa.BindParameter[str]) -> sa.ColumnElement[float]:
        # 1: rank by the length, too, since a long text repeats its words.
        return -sa.func.ts_rank(_TEXT.c.words, sa.cast(query, TSQUERY), 1)

    @override
    def abandon(self, engine: sa.Engine) -> None:
        # The parent keeps using these connections: leak a reference, so that the child never closes them.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine.pool))

    def _connect(self) -> LimitedConnection:
        answers: SimpleQueue[LimitedConnection | Exception] = SimpleQueue()
        given_up = threading.Event()

        def connect() -> None:
            try:
                connection = LimitedConnection.connect(self._conninfo, autocommit=True)
            except Exception as error:  # noqa: BLE001 - raised again by the waiting thread
                answers.put(error)
                return
            answers.put(connection)
            if given_up.is_set():
                connection.close()

        # In a thread: psycopg waits at least two seconds, and the call may have less time.
        threading.Thread(target=connect, name="toolcharter-postgresql", daemon=True).start()
        try:
            answer = answers.get(timeout=max(0.001, remaining_s()))
        except Empty:
            given_up.set()
            raise TimedOut("no connection in time") from None
        if isinstance(answer, Exception):
            raise answer
        for setting in _SETTINGS:
            answer.execute(setting)
        return answer


def _keep_other_connections(context: sa.engine.ExceptionContext) -> None:
    """Keep the pool's other connections when one call has timed out."""
    if isinstance(context.original_exception, TimedOut):
        context.invalidate_pool_on_disconnect = False


def _place_lexeme(place: str) -> str:
    # No word has a dot.
    return f".{place}"


def _quote(lexeme: str) -> str:
    doubled = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"
