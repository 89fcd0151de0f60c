"""Formats of bash's `printf`: harmless unless they set a variable.

Source: bash 5.2, `builtins/printf.def`: `%n` stores how much has been printed, be it in PATH.
"""

import re
from typing import Final

# Flags, width and precision in any number and order, more than any version knows. Possessive: linear time.
_SETS: Final = re.compile(r"%[-+ 0#',*.$0-9hjlLqtz]*+n")


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it only prints."""
    return "sets a variable of the shell" if _SETS.search(text.replace("%%", "")) else None
