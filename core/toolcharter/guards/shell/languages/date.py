"""Dates of `date -d`: harmless unless they name a zone by a path.

Source: GNU coreutils 9.1, "Date input formats": `TZ="..."` in front of a date; tzset(3) on zones that are files.
"""

import re
from typing import Final

_ZONE: Final = re.compile(r'TZ="(.*)')
_PLACE: Final = re.compile(r'[A-Za-z0-9][A-Za-z0-9_+/-]*"')


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for a date, in a zone of the system's if in any."""
    zone = _ZONE.search(text)
    return None if zone is None or _PLACE.match(zone[1]) else "names a zone that may be any file"
