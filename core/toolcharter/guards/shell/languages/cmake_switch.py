"""What follows `-DENABLE_` and the like for cmake: switches, numbers and plain words; no path, which could be a program.

Source: CMake 4, cmake(1), "-D <var>:<type>=<value>".
"""

import re
from typing import Final

_PLAIN: Final = re.compile(r"\w*(?::(?:BOOL|STRING|UNINITIALIZED))?=[\w.+-]*", re.ASCII)


def objection(text: str) -> str | None:
    """Why *text*, the rest of the variable's name and its value, has to be named; None for a plain value."""
    return None if _PLAIN.fullmatch(text) else "may name a file or a program"
