"""Regular expressions on RE2, whose time grows with the text and not with its powers; and how much they may cost."""

from importlib import import_module
from typing import Any

MAX_PATTERN_CHARS = 1000
MAX_COST = 300_000_000
"""Instructions of a program times bytes of a text. Measured: the worst patterns take up to 12 ns for each."""


class PatternError(ValueError):
    """The pattern is no regular expression, or too large."""


class Pattern:
    """A compiled pattern.

    Args:
        source: In RE2's syntax.
        ignore_case: Let upper and lower case match each other.
        literal: Take *source* as plain text.

    Raises:
        PatternError: As a sentence says.
    """

    def __init__(self, source: str, *, ignore_case: bool = False, literal: bool = False) -> None:
        re2 = import_module("re2")  # on first use; it has no type hints

        if len(source) > MAX_PATTERN_CHARS:
            raise PatternError(f"it is longer than {MAX_PATTERN_CHARS} characters")
        options = re2.Options()
        options.log_errors = False  # they would go to standard error, among the events
        options.case_sensitive = not ignore_case
        options.literal = literal
        try:
            self._compiled: Any = re2.compile(source, options)
        except re2.error as error:
            raise PatternError(str(error.args[0].decode(errors="replace"))) from error
        self._size = 1 if literal else int(self._compiled.programsize)

    def cost(self, text: str) -> int:
        """What looking at *text* may cost at worst, in the unit of `MAX_COST`."""
        return self._size * len(text.encode())

    def find(self, text: str) -> int | None:
        """Where the first match begins, in characters; None if nothing matches."""
        found = self._compiled.search(text)
        return None if found is None else int(found.start())

    def is_whole(self, text: str) -> bool:
        """Whether all of *text* matches."""
        return self._compiled.fullmatch(text) is not None
