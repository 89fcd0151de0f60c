"""Names of databases for psql: a plain name, or a connection that may lead to another host.

Source: PostgreSQL 15, "Connection Strings".
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for the plain name of a database."""
    return "may lead to another host" if any(mark in text for mark in "=:/") else None
