"""The cost of stores: pages of many and of few records, and one record compared with SQLAlchemy alone."""

from collections.abc import Callable

from measure import Bench, Row, Subject, ratio

_BARE = Subject("ours/bare_sql.py")


def _subject(store: str, bench: Bench) -> Subject:
    return Subject("ours/storing.py", variables=(("BENCH_STORE", store), ("BENCH_MANY", str(bench.scaled(10_000)))))


def _page(store: str, order: str = "") -> Callable[[Bench], float]:
    def measure(bench: Bench) -> float:
        with bench.workers(_subject(store, bench)) as (worker,):
            return bench.ratio(
                bench.sample(worker, f"page of many{order}"), bench.sample(worker, f"page of few{order}")
            )

    return measure


def _beside_bare(operation: str) -> Callable[[Bench], float]:
    return lambda bench: ratio((_subject("sqlite", bench), operation), (_BARE, operation))(bench)


ROWS = (
    Row(
        "page of 50 of 10,000 records / of 100, by key, SQLite",
        _page("sqlite"),
        1.2,
    ),
    Row(
        "page of 50 of 10,000 records / of 100, by a field, SQLite",
        _page("sqlite", " by name"),
        1.2,
    ),
    Row(
        "page of 50 of 10,000 records / of 100, by key, PostgreSQL",
        _page("postgresql"),
        1.2,
    ),
    Row(
        "page of 50 of 10,000 records / of 100, by a field, PostgreSQL",
        _page("postgresql", " by name"),
        1.2,
    ),
    Row("record read from SQLite and validated / SQLAlchemy alone", _beside_bare("get")),
    Row("record written to SQLite, indexed and on the disk / SQLAlchemy alone", _beside_bare("put")),
)
