"""A store in SQL: `SqlEngine`, shared by the plugins that each bring a `Database`."""

from toolcharter_stores.sql.database import Database as Database
from toolcharter_stores.sql.database import Fault as Fault
from toolcharter_stores.sql.database import remaining_s as remaining_s
from toolcharter_stores.sql.engine import SqlEngine as SqlEngine
