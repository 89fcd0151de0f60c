"""The statements that find records. Each combination of options is built once and cached."""

from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from toolcharter_stores.sql.database import Database
from toolcharter_stores.sql.tables import RECORDS, VALUES

RECORD_COLUMNS = (RECORDS.c.key, RECORDS.c.document, RECORDS.c.version, RECORDS.c.seq)
MAX_CACHED_QUERIES = 512
"""The most statements that each cache keeps."""
MAX_SORTED = 200
"""The most records that are sorted at once after a condition has selected them."""


def where_parameters(values: dict[str, bytes]) -> dict[str, object]:
    """Return the parameters of the conditions that each field has its value in *values*."""
    found: dict[str, object] = {}
    for number, (field, value) in enumerate(values.items()):
        found[f"field{number}"], found[f"value{number}"] = field, value
    return found


@lru_cache(MAX_CACHED_QUERIES)
def page_by_key(conditions: int, *, descending: bool, continues: bool) -> sa.Select[*tuple[Any, ...]]:
    """Select records ordered by key. Parameters: `scope`, `kind`, `after`, `limit`, and those of the conditions.

    The last column is the `after` of the next page.
    """
    if not conditions:
        # This table holds whole keys; the index of values may hold shortened keys.
        query = sa.select(*RECORD_COLUMNS, RECORDS.c.key).where(*_of_kind(RECORDS))
        column = RECORDS.c.key
    else:
        first = VALUES.alias("v0")
        query = sa.select(*RECORD_COLUMNS, first.c.key).join_from(first, RECORDS, RECORDS.c.id == first.c.record)
        query = query.where(*_condition(first, 0), *_look_up_conditions(first, 1, conditions))
        column = first.c.key
    if continues:
        after = sa.bindparam("after", type_=sa.LargeBinary)
        query = query.where(column < after if descending else column > after)
    return query.order_by(column.desc() if descending else column).limit(sa.bindparam("limit", type_=sa.Integer))


@lru_cache(MAX_CACHED_QUERIES)
def page_by_field(conditions: int, *, descending: bool, continues: bool) -> sa.Select[*tuple[Any, ...]]:
    """Select records ordered by the field `order`, then by key. The other parameters are those of `page_by_key`.

    The last two columns are `after_value` and `after` of the next page. The statement scans the field's index and tests
    the conditions on each record: this is fast where many records meet them.
    """
    ordered = VALUES.alias("ordered")
    query = sa.select(*RECORD_COLUMNS, ordered.c.value, ordered.c.key)
    query = query.join_from(ordered, RECORDS, RECORDS.c.id == ordered.c.record)
    query = query.where(
        *_of_kind(ordered), ordered.c.field == sa.bindparam("order"), *_look_up_conditions(ordered, 0, conditions)
    )
    return _by_field(query, ordered, descending=descending, continues=continues)


@lru_cache(MAX_CACHED_QUERIES)
def page_of_few(conditions: int, *, descending: bool, continues: bool) -> sa.Select[*tuple[Any, ...]]:
    """Like `page_by_field`, for fewer than `MAX_SORTED` records that meet the first condition: all of them are sorted."""
    first, ordered = VALUES.alias("v0"), VALUES.alias("ordered")
    # The limit makes every planner evaluate this subquery first.
    few = sa.select(first.c.record).where(*_condition(first, 0)).limit(MAX_SORTED).subquery("few")
    query = sa.select(*RECORD_COLUMNS, ordered.c.value, ordered.c.key).select_from(few)
    query = query.join(RECORDS, RECORDS.c.id == few.c.record).join(ordered, ordered.c.record == few.c.record)
    query = query.where(ordered.c.field == sa.bindparam("order"), *_look_up_conditions(ordered, 1, conditions))
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
    some = sa.select(value.c.record).where(*_condition(value, 0)).limit(MAX_SORTED).subquery("few")
    return sa.select(sa.func.count()).select_from(some)


@lru_cache(MAX_CACHED_QUERIES)
def count_of(conditions: int) -> sa.Select[*tuple[Any, ...]]:
    """Count records. The parameters are those of `page_by_key`."""
    if not conditions:
        return sa.select(sa.func.count()).select_from(RECORDS).where(*_of_kind(RECORDS))
    first = VALUES.alias("v0")
    query = sa.select(sa.func.count()).select_from(first)
    return query.where(*_condition(first, 0), *_look_up_conditions(first, 1, conditions))


@lru_cache(MAX_CACHED_QUERIES)
def search_for(database: type[Database], conditions: int) -> sa.Select[*tuple[Any, ...]]:
    """Select records whose text matches `query`, the best first. The other parameters are those of `page_by_key`."""
    text, record = database.text, database.text_record
    asked = sa.bindparam("query", type_=sa.Text)
    query = sa.select(*RECORD_COLUMNS).join_from(text, RECORDS, RECORDS.c.id == record)
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


def _look_up_conditions(driving: sa.FromClause, first: int, end: int) -> list[sa.ColumnElement[bool]]:
    """Return further conditions on the records of *driving*. Each looks a record up by its whole primary key."""
    found: list[sa.ColumnElement[bool]] = []
    for number in range(first, end):
        value = VALUES.alias(f"v{number}")
        also = sa.select(sa.literal(1)).where(*_condition(value, number), value.c.key == driving.c.key)
        # A scalar subquery instead of EXISTS: planners turn EXISTS into a join that reads every record that matches.
        found.append(also.limit(1).correlate(driving).scalar_subquery().is_not(None))
    return found


COUNT_FEW = _counting()
"""Counts the records that meet the first condition, up to `MAX_SORTED`. The parameters are those of `page_by_key`."""
