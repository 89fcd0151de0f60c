"""`Scopes`: the numbers that scopes have in a database. A scope is never deleted, so that its number may be remembered."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from toolcharter import Scope
from toolcharter_stores.sql.tables import SCOPES

Run = Callable[..., Any]
"""Runs a statement with its parameters, and gives SQLAlchemy's result."""
FIND_SCOPE = sa.select(SCOPES.c.id, SCOPES.c.seq, SCOPES.c.forgotten).where(
    SCOPES.c.tenant == sa.bindparam("whose"), SCOPES.c.distribution == sa.bindparam("by")
)
MAX_REMEMBERED = 10_000


class Scopes:
    """Remembers the numbers of all scopes that were used. Safe from many threads."""

    def __init__(self) -> None:
        self._numbers: dict[Scope, int] = {}

    def find(self, scope: Scope, run: Run) -> int | None:
        """The number of *scope*, if it has one."""
        number = self._numbers.get(scope)
        if number is None:
            found = run(FIND_SCOPE, whose=scope.tenant, by=scope.distribution).first()
            if found is None:
                return None
            if len(self._numbers) >= MAX_REMEMBERED:
                self._numbers.clear()
            number = self._numbers[scope] = found.id
        return number

    def made(self, scope: Scope, run: Run, insert: Any) -> int:
        """The number of *scope*, which gets one if it has none; outside a transaction."""
        number = self.find(scope, run)
        if number is not None:
            return number
        run(
            insert(SCOPES).on_conflict_do_nothing(),
            tenant=scope.tenant,
            distribution=scope.distribution,
            seq=0,
            forgotten=0,
        )
        return self.find(scope, run) or 0

    def forget(self) -> None:
        """Behind a new connection there may be another database."""
        self._numbers.clear()
