"""What psql's `-c` runs: SQL, or one of its own commands, which begin with a backslash.

Source: PostgreSQL 15, psql(1), "Meta-Commands".
"""

import re
from typing import Final

from toolcharter.guards.shell.languages import sql

_SHOWS: Final = re.compile(r"\\(?:d[a-zA-Z]*[S+]*|l\+?|z|conninfo|sv\+?|sf\+?|encoding)(?:\s+[\w.*?\"-]+)*\s*")


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it only shows what the database holds."""
    if text.lstrip().startswith("\\"):
        return None if _SHOWS.fullmatch(text.strip()) else "is a command that does more than show"
    return sql.objection(text)
