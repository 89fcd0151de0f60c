"""`Pool`: the connections to one database, each borrowed for as long as there is time, and never shared with a fork's child."""

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
from toolcharter_stores.sql.failures import unavailable

_POOLS: "weakref.WeakSet[Pool]" = weakref.WeakSet()


class Pool:
    """Connects on first use. Safe from many threads, and anew in a fork's child."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._engine: sa.Engine | None = None
        self.renew()
        _POOLS.add(self)

    def renew(self) -> None:
        """In a fork's child: connections are the parent's, and another thread may have held any lock."""
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._database.connections)
        engine, self._engine = self._engine, None
        if engine is not None:
            self._database.abandon(engine)

    @contextmanager
    def connected(self, deadline: float) -> Generator[sa.Connection]:
        """Borrow a connection; what runs on it ends by *deadline*, on `time.monotonic`'s clock.

        Raises:
            StoreUnavailable: None can be had in time.
        """
        if not self._slots.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise StoreUnavailable(
                f"All {self._database.connections} connections to {self._database.name} were in use."
            )
        try:
            token = DEADLINE.set(deadline)
            try:
                with self._opened() as connection:
                    yield connection
            finally:
                DEADLINE.reset(token)
        finally:
            self._slots.release()

    @contextmanager
    def patient(self) -> Generator[sa.Connection]:
        """Borrow a connection for work that takes as long as it takes, of which each statement has its time."""
        with self.connected(time.monotonic() + PATIENCE_S) as connection:
            token = DEADLINE.set(None)
            try:
                yield connection
            finally:
                DEADLINE.reset(token)

    @contextmanager
    def writing(self) -> Generator[sa.Connection]:
        """A transaction that writes, for work that takes as long as it takes.

        Raises:
            StoreUnavailable: It failed, and nothing happened.
        """
        with self.patient() as connection:
            try:
                self._database.begin(connection, writes=True)
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException as error:
                roll_back(connection)
                if isinstance(error, exc.SQLAlchemyError):
                    raise unavailable(self._database, error) from error
                raise

    def close(self) -> None:
        """Close the connections that nobody has borrowed; the others are closed when they come back."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.dispose()

    def _opened(self) -> sa.Connection:
        with self._lock:
            if self._engine is None:
                self._database.prepare()
                self._engine = self._database.engine()
            engine = self._engine
        try:
            return engine.connect()
        except exc.SQLAlchemyError as error:
            raise unavailable(self._database, error) from error


def roll_back(connection: sa.Connection) -> None:
    """Undo what *connection* has begun; one that cannot is closed."""
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
