"""The store `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`: PostgreSQL 14 or later, for many processes and machines.

Each call obeys its time even if the server has stopped answering; when the server is back, the next call connects anew. The URL
is libpq's and is never shown.
"""

from toolcharter import StoreEngine, hookimpl, lazy

database = lazy("toolcharter_postgresql.database")
sql = lazy("toolcharter_stores.sql")


@hookimpl
def open_store(url: str) -> StoreEngine:
    """The engine for a URL of libpq.

    Raises:
        ValueError: It is none.
    """
    engine: StoreEngine = sql.SqlEngine(database.PostgresqlDatabase(url))
    return engine
