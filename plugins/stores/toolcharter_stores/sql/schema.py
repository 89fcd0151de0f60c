"""The form in which a store lies in its tables: asked for at each start, and changed by Alembic alone, under a lock."""

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
"""The last of the migrations."""
VERSION_TABLE = "toolcharter_schema"
MIGRATIONS = Path(__file__).with_name("migrations")
_VERSION = sa.select(sa.column("version_num", sa.Text)).select_from(sa.table(VERSION_TABLE))


def found_version(connection: sa.Connection) -> str:
    """The version of what is stored; empty if there is nothing."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return ""
    return str(connection.execute(_VERSION).scalar() or "")


def require_current(database: Database, version: str) -> None:
    """Refuse another version.

    Raises:
        StoreUnavailable: With what to do.
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
    """Within a transaction that writes: bring the tables to `SCHEMA`, unless another process has done so.

    Raises:
        StoreUnavailable: They are newer.
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
