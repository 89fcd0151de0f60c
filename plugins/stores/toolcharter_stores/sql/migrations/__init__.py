"""The Alembic environment that migrates the tables from one schema version to the next."""
