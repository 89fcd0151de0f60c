"""The shortest line that still does what another one did, as far as leaving things out leads."""

import re
from collections.abc import Callable

_TOKEN = re.compile(r"\s+|[A-Za-z0-9_./@%+-]+|.", re.DOTALL)
_MAX_TRIES = 150


def shrunk(line: str, still: Callable[[str], bool]) -> str:
    """Leave out what can be left out of *line* while *still* holds: runs of tokens, long ones first."""
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
