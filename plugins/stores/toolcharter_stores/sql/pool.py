"""`Pool`: the connections to one database. Each is borrowed until a deadline, and never shared with a forked child."""

import os
import threading
import time
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy import exc

from toolcharter import StoreUnavailable
from toolcharter_stores.sql.database import DEADLINE, PATIENCE_S, Database
from toolcharter_stores.sql.failures import translate_error

_POOLS: "weakref.WeakSet[Pool]" = weakref.WeakSet()


class Pool:
    """Connects on first use. Can be used by many threads. A forked child starts with an empty pool."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._engine: sa.Engine | None = None
        self.renew()
        _POOLS.add(self)

    def renew(self) -> None:
        """Start empty in a forked child: the connections are the parent's, and vanished threads may hold locks."""
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._database.connections)
        engine, self._engine = self._engine, None
        if engine is not None:
            self._database.abandon(engine)

    @contextmanager
    def connected(self, deadline: float) -> Generator[sa.Connection]:
        """Borrow a connection. Its statements end by *deadline*, on `time.monotonic`'s clock.

        Raises:
            StoreUnavailable: No connection is free in time, or none can be made.
        """
        if not self._slots.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise StoreUnavailable(
                f"All {self._database.connections} connections to {self._database.name} were in use."
            )
        try:
            token = DEADLINE.set(deadline)
            try:
                with self._open_connection() as connection:
                    yield connection
            finally:
                DEADLINE.reset(token)
        finally:
            self._slots.release()

    @contextmanager
    def without_deadline(self) -> Generator[sa.Connection]:
        """Borrow a connection for work without a deadline. Only each single statement is limited, to `PATIENCE_S`."""
        with self.connected(time.monotonic() + PATIENCE_S) as connection:
            token = DEADLINE.set(None)
            try:
                yield connection
            finally:
                DEADLINE.reset(token)

    @contextmanager
    def writing(self) -> Generator[sa.Connection]:
        """Open a transaction that writes, without a deadline for the whole.

        Raises:
            StoreUnavailable: The transaction failed and was rolled back.
        """
        with self.without_deadline() as connection:
            try:
                self._database.begin(connection, writes=True)
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException as error:
                roll_back(connection)
                if isinstance(error, exc.SQLAlchemyError):
                    raise translate_error(self._database, error) from error
                raise

    def close(self) -> None:
        """Close the idle connections. Borrowed connections are closed when they are returned."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.dispose()

    def _open_connection(self) -> sa.Connection:
        with self._lock:
            if self._engine is None:
                self._database.prepare()
                self._engine = self._database.engine()
            engine = self._engine
        try:
            return engine.connect()
        except exc.SQLAlchemyError as error:
            raise translate_error(self._database, error) from error


def roll_back(connection: sa.Connection) -> None:
    """Roll back the transaction of *connection*. If that fails, close the connection."""
    if connection.invalidated or connection.closed:
        return
    try:
        connection.exec_driver_sql("ROLLBACK")
    except exc.SQLAlchemyError:
        with suppress(exc.SQLAlchemyError):
            connection.invalidate()


def _renew() -> None:
    for pool in list(_POOLS):
        pool.renew()


os.register_at_fork(after_in_child=_renew)
