"""Alembic's entry point: runs the migrations on the connection from `schema.migrate`, within its transaction."""

from alembic import context

from toolcharter_stores.sql.schema import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
