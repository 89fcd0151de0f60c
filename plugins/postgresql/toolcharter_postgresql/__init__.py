"""The store `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`: PostgreSQL 14 or later, for many processes and machines.

Each call ends by its deadline, even if the server has stopped answering. When the server is back, the next call
connects again. The URL has libpq's syntax and is never shown.
"""

from toolcharter import StoreEngine, hookimpl, lazy

database = lazy("toolcharter_postgresql.database")
sql = lazy("toolcharter_stores.sql")


@hookimpl
def open_store(url: str) -> StoreEngine:
    """Return the engine for a URL in libpq's syntax.

    Raises:
        ValueError: libpq cannot parse the URL.
    """
    engine: StoreEngine = sql.SqlEngine(database.PostgresqlDatabase(url))
    return engine
