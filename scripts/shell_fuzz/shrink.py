"""Shrinks a line to a shorter one with the same effect, by leaving out parts."""

import re
from collections.abc import Callable

_TOKEN = re.compile(r"\s+|[A-Za-z0-9_./@%+-]+|.", re.DOTALL)
_MAX_TRIES = 150


def shrink_line(line: str, still: Callable[[str], bool]) -> str:
    """Leave out runs of tokens of *line*, long ones first, as long as *still* returns true."""
    tokens, tries = _TOKEN.findall(line), 0
    size = max(1, len(tokens) // 2)
    while size:
        place = 0
        while place < len(tokens) and tries < _MAX_TRIES:
            shorter = tokens[:place] + tokens[place + size :]
            tries += 1
            if "".join(shorter).strip() and still("".join(shorter)):
                tokens = shorter
            else:
                place += size
        size //= 2
    return "".join(tokens)
