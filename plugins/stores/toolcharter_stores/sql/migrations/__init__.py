"""What Alembic runs to bring tables to another form."""
