"""Values of `git tag -n`: a number of lines.

Source: git 2.39, `builtin/tag.c`: minus one, which is also what large numbers wrap to, makes a tag instead of listing.
"""

from typing import Final

_MAX_DIGITS: Final = 4


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for a small number."""
    is_small = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return None if is_small else "is no small number of lines"
