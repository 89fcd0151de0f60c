"""The schema version of a store's tables: checked at each start, and changed only by Alembic, under a lock."""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from toolcharter import StoreUnavailable, lazy
from toolcharter_stores.sql.database import Database

if TYPE_CHECKING:
    import alembic.command as alembic_command
    import alembic.config as alembic_config
else:
    alembic_command = lazy("alembic.command")
    alembic_config = lazy("alembic.config")

SCHEMA = "0001"
"""The version that the latest migration leads to."""
VERSION_TABLE = "toolcharter_schema"
MIGRATIONS = Path(__file__).with_name("migrations")
_VERSION = sa.select(sa.column("version_num", sa.Text)).select_from(sa.table(VERSION_TABLE))


def found_version(connection: sa.Connection) -> str:
    """Return the schema version of the tables; empty if there are no tables."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return ""
    return str(connection.execute(_VERSION).scalar() or "")


def require_current(database: Database, version: str) -> None:
    """Refuse any version except `SCHEMA`.

    Raises:
        StoreUnavailable: The message says how to fix it.
    """
    if version == SCHEMA:
        return
    if version and not _is_known(version):
        raise StoreUnavailable(
            f"The store in {database.name} was written by a newer version of toolcharter: its schema is {version}, and "
            f"this version reads {SCHEMA}. Install that version."
        )
    what = f"has the older schema {version}" if version else "has no tables yet"
    raise StoreUnavailable(f"The store in {database.name} {what}: run `toolcharter store migrate`.")


def migrate(database: Database, connection: sa.Connection) -> None:
    """Within a transaction that writes, migrate the tables to `SCHEMA`, unless another process has done so.

    Raises:
        StoreUnavailable: The tables have a newer schema.
    """
    database.lock_schema(connection)
    version = found_version(connection)
    if version and not _is_known(version):
        require_current(database, version)
    if version != SCHEMA:
        config = alembic_config.Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = connection
        alembic_command.upgrade(config, SCHEMA)


def _is_known(version: str) -> bool:
    return any(MIGRATIONS.glob(f"versions/{version}_*.py")) if version.isalnum() else False
