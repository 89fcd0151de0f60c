"""The changes since a change number: puts and deletions, in the order of their numbers."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from toolcharter import Change, Scope, StoreConflict
from toolcharter_stores.sql.scopes import FIND_SCOPE, Run
from toolcharter_stores.sql.sort_keys import key_of
from toolcharter_stores.sql.tables import DELETIONS, RECORDS

_b = sa.bindparam


def _after(table: sa.Table, *, some: bool) -> sa.Select[*tuple[Any, ...]]:
    query = sa.select(table.c.seq, table.c.kind, table.c.key).where(
        table.c.scope == _b("at"), table.c.seq > _b("since")
    )
    if some:
        query = query.where(table.c.kind.in_(_b("kinds", expanding=True)))
    return query.order_by(table.c.seq).limit(_b("most", type_=sa.Integer))


_QUERIES = {some: (_after(RECORDS, some=some), _after(DELETIONS, some=some)) for some in (False, True)}


def since(run: Run, scope: Scope, after: int, kinds: Sequence[str], limit: int) -> tuple[Change, ...]:
    """Return the puts and deletions after the change number *after*. The caller's transaction has to be a snapshot.

    Raises:
        StoreConflict: The store no longer knows all deletions since then.
    """
    found = run(FIND_SCOPE, whose=scope.tenant, by=scope.distribution).first()
    if found is None:
        return ()
    if 0 < after < found.forgotten:
        raise StoreConflict(
            f"The store no longer knows all deletions since change {after}: read everything again, from 0."
        )
    asked = {"at": found.id, "since": after, "most": limit, **({"kinds": list(kinds)} if kinds else {})}
    records, deletions = (run(query, **asked).all() for query in _QUERIES[bool(kinds)])
    both = [Change(seq, kind, key_of(key), deleted=False) for seq, kind, key in records]
    both += [Change(seq, kind, key_of(key), deleted=True) for seq, kind, key in deletions]
    return tuple(sorted(both)[:limit])


def last(run: Run, scope: Scope) -> int:
    """Return the number of the latest change; 0 if there was none."""
    found = run(FIND_SCOPE, whose=scope.tenant, by=scope.distribution).first()
    return 0 if found is None else int(found.seq)
