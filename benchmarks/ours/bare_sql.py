"""SQLAlchemy alone on SQLite with the settings of our store: reads and writes one row of JSON."""

import sqlite3
import tempfile
from collections.abc import Callable
from itertools import count
from typing import Any

import sqlalchemy as sa

_FOLDER = tempfile.TemporaryDirectory(prefix="tc")
_ENGINE = sa.create_engine(f"sqlite:///{_FOLDER.name}/bare.sqlite3")
_TABLE = sa.Table("tool", sa.MetaData(), sa.Column("id", sa.Text, primary_key=True), sa.Column("document", sa.Text))
_NUMBERS = count(10_000)
_GET = sa.select(_TABLE.c.document).where(_TABLE.c.id == sa.bindparam("wanted"))
_PUT = sa.update(_TABLE).where(_TABLE.c.id == sa.bindparam("wanted")).values(document=sa.bindparam("new"))
_DOCUMENT = '{"id":"id000042","name":"other","description":"' + "x" * 300 + '"}'


@sa.event.listens_for(_ENGINE, "connect")
def _settings(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _get() -> None:
    with _ENGINE.begin() as connection:
        connection.execute(_GET, {"wanted": "id000042"}).first()


def _put() -> None:
    # SQLite writes nothing if nothing changes.
    new = _DOCUMENT.replace("other", str(next(_NUMBERS)))
    with _ENGINE.begin() as connection:
        connection.execute(_PUT, {"wanted": "id000042", "new": new})


_TABLE.create(_ENGINE)
with _ENGINE.begin() as _connection:
    _connection.execute(sa.insert(_TABLE), [{"id": f"id{number:06}", "document": _DOCUMENT} for number in range(100)])

OPERATIONS: dict[str, Callable[[], Any]] = {"get": _get, "put": _put}
