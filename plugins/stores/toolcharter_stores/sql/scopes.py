"""`Scopes`: a cache of the ids that scopes have in a database. Scopes are never deleted, so an id stays valid."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from toolcharter import Scope
from toolcharter_stores.sql.tables import SCOPES

Run = Callable[..., Any]
"""Runs a statement with its parameters, and returns SQLAlchemy's result."""
FIND_SCOPE = sa.select(SCOPES.c.id, SCOPES.c.seq, SCOPES.c.forgotten).where(
    SCOPES.c.tenant == sa.bindparam("whose"), SCOPES.c.distribution == sa.bindparam("by")
)
MAX_REMEMBERED = 10_000


class Scopes:
    """Caches the ids of up to `MAX_REMEMBERED` scopes. Can be used by many threads."""

    def __init__(self) -> None:
        self._numbers: dict[Scope, int] = {}

    def find(self, scope: Scope, run: Run) -> int | None:
        """Return the id of *scope*; None if the database does not have the scope."""
        number = self._numbers.get(scope)
        if number is None:
            found = run(FIND_SCOPE, whose=scope.tenant, by=scope.distribution).first()
            if found is None:
                return None
            if len(self._numbers) >= MAX_REMEMBERED:
                self._numbers.clear()
            number = self._numbers[scope] = found.id
        return number

    def find_or_add(self, scope: Scope, run: Run, insert: Any) -> int:
        """Return the id of *scope*, and add the scope if it is missing. Call this outside a transaction."""
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
        """Clear the cache: a new connection may lead to another database."""
        self._numbers.clear()
