"""Operands of `git reflog`: a reference to show, or the name of a subcommand that changes the log.

Source: git-reflog(1) of git 2.39 and 2.51.
"""

from typing import Final

_CHANGING: Final = frozenset({"expire", "delete", "drop", "write", "migrate"})


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for what is looked at."""
    if text in _CHANGING:
        return "changes the log"
    if text.startswith(("/", "../")) or "/../" in text:
        return "may lie outside the workspace"
    return None
