"""A store in an SQL database: `SqlEngine`. Each plugin for a kind of database brings its own `Database`."""

from toolcharter_stores.sql.database import Database as Database
from toolcharter_stores.sql.database import Fault as Fault
from toolcharter_stores.sql.database import remaining_s as remaining_s
from toolcharter_stores.sql.engine import SqlEngine as SqlEngine
