"""The store behind a server, which stops, is paused and comes back."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from tests.plugins.stores.store_servers import PostgresqlServer, Rows, row, run_postgresql
from tests.rows import each_row

from toolcharter import PluginError, Scope, StoreUnavailable, open_store
from toolcharter_postgresql import open_store as open_engine
from toolcharter_postgresql.database import PostgresqlDatabase
from toolcharter_stores.sql.schema import VERSION_TABLE
from toolcharter_stores.sql.tables import METADATA

SCOPE = Scope("acme", "acme-tests")
WORD = "hunter" + "2"


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgresqlServer]:
    """A server of these tests alone, which they stop."""
    with run_postgresql() as places:
        yield places


@each_row(
    "url",
    [f"postgresql://me:{WORD}@h/x?no_such_key=1", f"postgresql://me:{WORD}@[h/x", f"postgresql://me:{WORD}%zz@h/x"],
)
def test_a_url_that_libpq_does_not_read_is_refused(url: str) -> None:
    """And not shown."""
    with pytest.raises(PluginError) as refused:
        open_store(url)

    assert WORD not in str(refused.value)
    assert "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, as libpq reads it" in str(refused.value)


def test_no_message_shows_the_password() -> None:
    """Where nobody listens, and in what the engine is printed as."""
    engine = open_engine(f"postgresql://me:{WORD}@127.0.0.1:9/{WORD}")

    with pytest.raises(StoreUnavailable) as refused:
        engine.require_current()

    assert refused.value.message == "There is no connection to PostgreSQL."
    assert WORD not in repr(engine) + str(refused.value)


@contextmanager
def _paused(places: PostgresqlServer) -> Iterator[None]:
    """The server and all its processes stand still."""
    server = places.server.get_pid()
    assert server is not None
    processes = [server, *map(int, Path(f"/proc/{server}/task/{server}/children").read_text().split())]
    for each in processes:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in processes:
            os.kill(each, signal.SIGCONT)


def _uses(rows: Rows) -> list[Callable[[], object]]:
    engine, scope = rows.engine, rows.scope
    return [
        lambda: rows.document("tool", "a"),
        lambda: rows.put("tool", row("b")),
        rows.changes,
        lambda: engine.last_change(scope, timeout_s=rows.timeout_s),
        lambda: engine.lease(scope, "job", "me", 60, timeout_s=rows.timeout_s),
    ]


@pytest.mark.slow
def test_a_server_that_was_away_comes_back_by_itself(postgresql: PostgresqlServer) -> None:
    """While it is stopped or paused, every use is refused within its time; then all goes on."""
    with open_store(postgresql.new()) as store:
        rows = Rows(store.engine, SCOPE)
        rows.put("tool", row("a", document="1"))
        postgresql.stop()
        try:
            for use in _uses(rows):
                with pytest.raises(StoreUnavailable):
                    use()
        finally:
            postgresql.start()
        assert rows.document("tool", "a") == "1"
        assert rows.put("tool", row("c")) == 1

        hasty = Rows(store.engine, SCOPE, timeout_s=0.3)
        with _paused(postgresql):
            for use in _uses(hasty):
                with pytest.raises(StoreUnavailable):
                    use()
        assert rows.document("tool", "a") == "1"
        assert rows.put("tool", row("d")) == 1
        assert {("a",), ("c",), ("d",)} <= set(rows.keys("tool"))


@pytest.mark.slow
def test_connections_that_the_server_has_closed_are_replaced(postgresql: PostgresqlServer) -> None:
    """By the same use, as nothing had begun."""
    url = postgresql.new()
    with open_store(url) as store, open_store(url) as other:
        rows = Rows(store.engine, SCOPE)
        rows.put("tool", row("a", document="1"))
        Rows(other.engine, SCOPE).document("tool", "a")
        postgresql.stop()
        postgresql.start()

        assert [rows.document("tool", "a"), rows.put("tool", row("a")), rows.document("tool", "a")] == ["1", 2, "{}"]


@pytest.mark.slow
def test_the_migrations_make_the_tables_that_are_used(postgresql: PostgresqlServer) -> None:
    """Neither knows a table, a column or an index that the other does not."""
    engine = PostgresqlDatabase(postgresql.new()).engine()
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": VERSION_TABLE,
                "include_name": lambda name, kind, _: kind != "table" or "_text" not in name,
            },
        )
        assert compare_metadata(context, METADATA) == []
    engine.dispose()
