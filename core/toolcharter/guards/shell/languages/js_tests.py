"""Operands of `node --test` and `bun test`: files that are called as tests are, and folders. Of any other file they run all.

Source: Node.js 24, "Running tests from the command line"; Bun 1.4.5, `bun test --help`.
"""

import re
from typing import Final

_CODE: Final = re.compile(r"\.[cm]?[jt]sx?$")
_TEST: Final = re.compile(r"(?:^|[^a-z])(?:tests?|specs?|__tests__)(?![a-z])", re.IGNORECASE)


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for a test that lies in the workspace by its letters."""
    if text.startswith(("/", "~")) or ".." in text.split("/"):
        return "may lie outside the workspace"
    if _CODE.search(text) and not _TEST.search(text):
        return "may be a program that is no test"
    return None
