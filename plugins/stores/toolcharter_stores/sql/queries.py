"""The statements that find records; each shape is built once."""

from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from toolcharter_stores.sql.database import Database
from toolcharter_stores.sql.tables import RECORDS, VALUES

FOUND = (RECORDS.c.key, RECORDS.c.document, RECORDS.c.version, RECORDS.c.seq)
SHAPES = 512
"""How many statements are kept."""
FEW = 200
"""How many records that meet a condition are sorted at once."""


def where_parameters(values: dict[str, bytes]) -> dict[str, object]:
    """The parameters of the conditions on *values*, by field."""
    found: dict[str, object] = {}
    for number, (field, value) in enumerate(values.items()):
        found[f"field{number}"], found[f"value{number}"] = field, value
    return found


@lru_cache(SHAPES)
def page_by_key(conditions: int, *, descending: bool, continues: bool) -> sa.Select[*tuple[Any, ...]]:
    """Records by key. Parameters: `scope`, `kind`, `after`, `limit`, and those of *conditions* conditions.

    The last column is what the next page begins after.
    """
    if not conditions:
        # Whole keys are here, and those of the index of values may be shortened.
        query = sa.select(*FOUND, RECORDS.c.key).where(*_of_kind(RECORDS))
        column = RECORDS.c.key
    else:
        first = VALUES.alias("v0")
        query = sa.select(*FOUND, first.c.key).join_from(first, RECORDS, RECORDS.c.id == first.c.record)
        query = query.where(*_condition(first, 0), *_also(first, 1, conditions))
        column = first.c.key
    if continues:
        after = sa.bindparam("after", type_=sa.LargeBinary)
        query = query.where(column < after if descending else column > after)
    return query.order_by(column.desc() if descending else column).limit(sa.bindparam("limit", type_=sa.Integer))


@lru_cache(SHAPES)
def page_by_field(conditions: int, *, descending: bool, continues: bool) -> sa.Select[*tuple[Any, ...]]:
    """Records by the field `order`, then by key; the rest as `page_by_key`. The next page begins after two columns.

    It goes along the index of the field, and asks the conditions of each record: good where many meet them.
    """
    ordered = VALUES.alias("ordered")
    query = sa.select(*FOUND, ordered.c.value, ordered.c.key)
    query = query.join_from(ordered, RECORDS, RECORDS.c.id == ordered.c.record)
    query = query.where(*_of_kind(ordered), ordered.c.field == sa.bindparam("order"), *_also(ordered, 0, conditions))
    return _by_field(query, ordered, descending=descending, continues=continues)


@lru_cache(SHAPES)
def page_of_few(conditions: int, *, descending: bool, continues: bool) -> sa.Select[*tuple[Any, ...]]:
    """As `page_by_field`, where fewer than `FEW` records meet the first condition: they are all sorted."""
    first, ordered = VALUES.alias("v0"), VALUES.alias("ordered")
    # With a limit, so that no planner begins elsewhere.
    few = sa.select(first.c.record).where(*_condition(first, 0)).limit(FEW).subquery("few")
    query = sa.select(*FOUND, ordered.c.value, ordered.c.key).select_from(few)
    query = query.join(RECORDS, RECORDS.c.id == few.c.record).join(ordered, ordered.c.record == few.c.record)
    query = query.where(ordered.c.field == sa.bindparam("order"), *_also(ordered, 1, conditions))
    return _by_field(query, ordered, descending=descending, continues=continues)


def _by_field(
    query: sa.Select[*tuple[Any, ...]], ordered: sa.FromClause, *, descending: bool, continues: bool
) -> sa.Select[*tuple[Any, ...]]:
    columns = (ordered.c.value, ordered.c.key)
    if continues:
        here = sa.tuple_(*columns)
        after = sa.tuple_(
            sa.bindparam("after_value", type_=sa.LargeBinary), sa.bindparam("after", type_=sa.LargeBinary)
        )
        query = query.where(here < after if descending else here > after)
    by = [column.desc() for column in columns] if descending else list(columns)
    return query.order_by(*by).limit(sa.bindparam("limit", type_=sa.Integer))


def _counting() -> sa.Select[*tuple[Any, ...]]:
    value = VALUES.alias("v0")
    some = sa.select(value.c.record).where(*_condition(value, 0)).limit(FEW).subquery("few")
    return sa.select(sa.func.count()).select_from(some)


@lru_cache(SHAPES)
def count_of(conditions: int) -> sa.Select[*tuple[Any, ...]]:
    """How many records there are; parameters as those of `page_by_key`."""
    if not conditions:
        return sa.select(sa.func.count()).select_from(RECORDS).where(*_of_kind(RECORDS))
    first = VALUES.alias("v0")
    query = sa.select(sa.func.count()).select_from(first)
    return query.where(*_condition(first, 0), *_also(first, 1, conditions))


@lru_cache(SHAPES)
def search_for(database: type[Database], conditions: int) -> sa.Select[*tuple[Any, ...]]:
    """Records whose text matches `query`, the best first; parameters as those of `page_by_key`."""
    text, record = database.text, database.text_record
    asked = sa.bindparam("query", type_=sa.Text)
    query = sa.select(*FOUND).join_from(text, RECORDS, RECORDS.c.id == record)
    query = query.where(database.matches(asked), *_of_kind(RECORDS))
    for number in range(conditions):
        value = VALUES.alias(f"v{number}")
        query = query.where(
            sa.exists().where(*_condition(value, number), value.c.record == RECORDS.c.id).correlate(RECORDS)
        )
    return query.order_by(database.rank(asked), RECORDS.c.id).limit(sa.bindparam("limit", type_=sa.Integer))


def _of_kind(table: sa.FromClause) -> tuple[sa.ColumnElement[bool], ...]:
    return (table.c.scope == sa.bindparam("scope"), table.c.kind == sa.bindparam("kind"))


def _condition(value: sa.FromClause, number: int) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        *_of_kind(value),
        value.c.field == sa.bindparam(f"field{number}"),
        value.c.value == sa.bindparam(f"value{number}"),
    )


def _also(driving: sa.FromClause, first: int, end: int) -> list[sa.ColumnElement[bool]]:
    """The conditions beside the one that drives: each looks a record up by its whole primary key."""
    found: list[sa.ColumnElement[bool]] = []
    for number in range(first, end):
        value = VALUES.alias(f"v{number}")
        also = sa.select(sa.literal(1)).where(*_condition(value, number), value.c.key == driving.c.key)
        # A value, and no EXISTS, which planners turn into joins that read all that meets the condition.
        found.append(also.limit(1).correlate(driving).scalar_subquery().is_not(None))
    return found


COUNT_FEW = _counting()
"""How many records meet the first condition, up to `FEW`; parameters as those of `page_by_key`."""
