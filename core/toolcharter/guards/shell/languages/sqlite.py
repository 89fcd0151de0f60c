"""What sqlite3 is given to run: SQL, or one of its own commands, which begin with a dot.

Source: SQLite 3.40, "Command Line Shell For SQLite".
"""

import re
from typing import Final

from toolcharter.guards.shell.languages import sql

_SHOWS: Final = re.compile(
    r"\.(?:tables|schema|fullschema|indexes|indices|databases|dbinfo|dump|headers?|mode|nullvalue|separator|show|stats|timer"
    r"|width|help|lint)(?:\s[^|`\n;]*)?"
)


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it only shows what the database holds."""
    lines = text.splitlines()
    if text.startswith("."):
        return None if len(lines) == 1 and _SHOWS.fullmatch(text) else "is a command that does more than show"
    if any(line.startswith((".", "#")) for line in lines):
        return "is a command that does more than show"
    return sql.objection(text)
