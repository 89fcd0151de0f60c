"""Filters of Python's `-W`: harmless unless the category is one that has to be imported.

Source: warnings of CPython 3.11, `_getcategory`: a category with a dot is a module and a class.
"""

from typing import Final

_ACTIONS: Final = frozenset(
    {"default", "always", "ignore", "module", "once", "error", "all", "d", "a", "i", "m", "o", "e"}
)
_CATEGORY_AT: Final = 2


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for `action:message:category:module:line` with a category of Python's own."""
    parts = text.split(":")
    if parts[0].strip() not in _ACTIONS:
        return "holds an action that is not known"
    # pytest and Python divide a text of too many parts in ways of their own, or refuse it.
    categories = parts[_CATEGORY_AT:]
    return "imports a module" if any("." in part for part in categories) else None
