"""`SqlEngine`: a `StoreEngine` that keeps its rows in an SQL `Database`."""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from toolcharter import (
    Change,
    EngineTransaction,
    Scope,
    StoreConflict,
    StoreExport,
    StoreLease,
    StoreUnavailable,
    ToolcharterError,
)
from toolcharter_stores.cipher import Cipher
from toolcharter_stores.sql import changes, leases, schema
from toolcharter_stores.sql.archive import ContentReplacer, SqlExport
from toolcharter_stores.sql.database import Database
from toolcharter_stores.sql.failures import ConnectionLost, RetryTransaction, translate_error
from toolcharter_stores.sql.pool import Pool, roll_back
from toolcharter_stores.sql.scopes import Run, Scopes
from toolcharter_stores.sql.transaction import SqlTransaction, require_text

T = TypeVar("T")
MAX_ATTEMPTS = 20
"""How many times a transaction is attempted if other transactions conflict with it."""
_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.1


class SqlEngine:
    """Satisfies `StoreEngine`. It connects on first use.

    Args:
        database: Holds the rows.
        cipher: Encrypts secret fields; by default with the keys from the environment.
    """

    has_full_text = True

    def __init__(self, database: Database, cipher: Cipher | None = None) -> None:
        self._database = database
        self._cipher = Cipher() if cipher is None else cipher
        self._pool = Pool(database)
        self._scopes = Scopes()

    def keeps_state_in(self) -> Sequence[Path]:
        """Return the files on this machine that hold the database; none if a server holds it."""
        return self._database.keeps_state_in()

    def migrate(self) -> None:
        """Migrate the tables to the schema of this version, under a lock."""
        if self._version() != schema.SCHEMA:
            with self._pool.writing() as connection:
                schema.migrate(self._database, connection)

    def require_current(self) -> None:
        """Refuse tables of another schema version."""
        schema.require_current(self._database, self._version())

    def transact(self, scope: Scope, work: Callable[[EngineTransaction], T], /, *, timeout_s: float) -> T:
        """Run *work* in a transaction. Retry it after a conflict, and once after a lost connection."""

        def attempt(connection: sa.Connection, is_first: bool) -> T:  # noqa: FBT001 - of `_attempts`
            transaction = SqlTransaction(self._database, connection, self._scopes, scope)
            try:
                if not is_first:
                    transaction.lock()
                result = work(transaction)
                transaction.commit()
            except BaseException as error:
                transaction.roll_back()
                if transaction.failure is not None and error is not transaction.failure:
                    raise transaction.failure from error
                raise
            return result

        return self._attempts(attempt, timeout_s)

    def changes(
        self, scope: Scope, after: int, kinds: Sequence[str], limit: int, /, *, timeout_s: float
    ) -> tuple[Change, ...]:
        """Return the puts and deletions after the change number *after*.

        Raises:
            StoreConflict: The store no longer knows all deletions since then.
        """

        def work(connection: sa.Connection, run: Run) -> tuple[Change, ...]:
            self._database.begin(connection, writes=False)
            try:
                return changes.since(run, scope, after, kinds, limit)
            finally:
                roll_back(connection)

        return self._once(work, timeout_s)

    def last_change(self, scope: Scope, /, *, timeout_s: float) -> int:
        """Return the number of the latest change; 0 if there was none."""
        return self._once(lambda _, run: changes.last(run, scope), timeout_s)

    def lease(self, scope: Scope, name: str, holder: str, ttl_s: float, /, *, timeout_s: float) -> StoreLease | None:
        """Take a lease; None if another holder has it."""
        require_text(name, holder)

        def work(_: sa.Connection, run: Run) -> StoreLease | None:
            number = self._scopes.find_or_add(scope, run, self._database.insert)
            return leases.take(self._database, run, number, name, holder, ttl_s)

        return self._once(work, timeout_s)

    def renew(self, scope: Scope, lease: StoreLease, ttl_s: float, /, *, timeout_s: float) -> StoreLease:
        """Prolong a lease."""
        require_text(lease.name, lease.holder)

        def work(_: sa.Connection, run: Run) -> StoreLease:
            return leases.renew(self._database, run, self._scopes.find(scope, run) or 0, lease, ttl_s)

        return self._once(work, timeout_s)

    def release(self, scope: Scope, lease: StoreLease, /, *, timeout_s: float) -> None:
        """Let go of a lease."""
        require_text(lease.name, lease.holder)
        self._once(lambda _, run: leases.release(run, self._scopes.find(scope, run) or 0, lease), timeout_s)

    def seal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, text: str, /) -> str:
        """Encrypt a secret and bind it to this place."""
        return self._cipher.seal(scope, kind, key, field, text)

    def unseal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, sealed: str, /) -> str:
        """Decrypt a secret that was encrypted for this place."""
        return self._cipher.unseal(scope, kind, key, field, sealed)

    def export(self) -> StoreExport:
        """Return an export of everything that is committed when its context is entered."""
        return SqlExport(self._database, self._pool)

    def replace_all(self, content: StoreExport, /) -> None:
        """Replace everything by *content*, in one transaction."""
        with content, self._pool.writing() as connection:
            ContentReplacer(self._database, connection).run(content)

    def close(self) -> None:
        """Release the connections."""
        self._pool.close()

    def _version(self) -> str:
        return self._once(lambda connection, _: schema.found_version(connection), 30.0)

    def _once(self, work: Callable[[sa.Connection, Run], T], timeout_s: float) -> T:
        """Run *work*. It only reads, or each of its statements is a transaction by itself."""

        def attempt(connection: sa.Connection, is_first: bool) -> T:  # noqa: ARG001, FBT001 - of `_attempts`
            def run(statement: sa.Executable, /, **parameters: Any) -> Any:
                return connection.execute(statement, parameters)

            try:
                return work(connection, run)
            except exc.SQLAlchemyError as error:
                raise translate_error(self._database, error) from error

        return self._attempts(attempt, timeout_s)

    def _attempts(self, attempt: Callable[[sa.Connection, bool], T], timeout_s: float) -> T:
        deadline = time.monotonic() + timeout_s
        failure: ToolcharterError | None = None
        is_lost = False
        for number in range(MAX_ATTEMPTS):
            try:
                with self._pool.connected(deadline) as connection:
                    return attempt(connection, number == 0)
            except RetryTransaction as error:
                failure = error
            except ConnectionLost as error:
                # The connection may have been idle when the server stopped. A new one shows whether the server is back.
                self._scopes.forget()
                if is_lost:
                    raise
                failure, is_lost = error, True
            pause_s = random.uniform(0, min(_PAUSE_S * 2**number, _LONGEST_PAUSE_S))  # noqa: S311 - spreads attempts
            if time.monotonic() + pause_s > deadline:
                raise StoreUnavailable(f"{self._database.name} took longer than the time that was left.") from failure
            time.sleep(pause_s)
        raise StoreConflict("Other transactions conflicted with this one again and again.") from failure
