"""What stores cost: pages of many records beside pages of few, and one record beside SQLAlchemy alone."""

from measure import Row, Subject, ratio

_SQLITE = Subject("ours/storing.py", variables=(("BENCH_STORE", "sqlite"),))
_POSTGRESQL = Subject("ours/storing.py", variables=(("BENCH_STORE", "postgresql"),))
_BARE = Subject("ours/bare_sql.py")

ROWS = (
    Row(
        "page of 50 of 10,000 records / of 100, by key, SQLite",
        ratio((_SQLITE, "page of 10000"), (_SQLITE, "page of 100")),
        1.2,
    ),
    Row(
        "page of 50 of 10,000 records / of 100, by a field, SQLite",
        ratio((_SQLITE, "page of 10000 by name"), (_SQLITE, "page of 100 by name")),
        1.2,
    ),
    Row(
        "page of 50 of 10,000 records / of 100, by key, PostgreSQL",
        ratio((_POSTGRESQL, "page of 10000"), (_POSTGRESQL, "page of 100")),
        1.2,
    ),
    Row(
        "page of 50 of 10,000 records / of 100, by a field, PostgreSQL",
        ratio((_POSTGRESQL, "page of 10000 by name"), (_POSTGRESQL, "page of 100 by name")),
        1.2,
    ),
    Row("record read from SQLite and validated / SQLAlchemy alone", ratio((_SQLITE, "get"), (_BARE, "get"))),
    Row(
        "record written to SQLite, indexed and on the disk / SQLAlchemy alone", ratio((_SQLITE, "put"), (_BARE, "put"))
    ),
)
