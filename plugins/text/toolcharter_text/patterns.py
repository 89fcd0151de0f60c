"""Regular expressions on RE2, which runs in linear time, and a limit for their cost."""

from importlib import import_module
from typing import Any

MAX_PATTERN_CHARS = 1000
MAX_COST = 300_000_000
"""The highest cost: instructions of the program times bytes of the text. Measured: up to 12 ns for each unit."""


class PatternError(ValueError):
    """The pattern is not a valid regular expression, or is too large."""


class Pattern:
    """A compiled pattern.

    Args:
        source: The pattern, in RE2's syntax.
        ignore_case: Ignore the difference between upper and lower case.
        literal: Treat *source* as plain text.

    Raises:
        PatternError: *source* cannot be compiled.
    """

    def __init__(self, source: str, *, ignore_case: bool = False, literal: bool = False) -> None:
        re2 = import_module("re2")  # imported on first use; it has no type hints

        if len(source) > MAX_PATTERN_CHARS:
            raise PatternError(f"it is longer than {MAX_PATTERN_CHARS} characters")
        options = re2.Options()
        options.log_errors = False  # the errors would go to standard error, among the events
        options.case_sensitive = not ignore_case
        options.literal = literal
        try:
            self._compiled: Any = re2.compile(source, options)
        except re2.error as error:
            raise PatternError(str(error.args[0].decode(errors="replace"))) from error
        self._size = 1 if literal else int(self._compiled.programsize)

    def cost(self, text: str) -> int:
        """Return the worst cost of searching *text*, in the unit of `MAX_COST`."""
        return self._size * len(text.encode())

    def find(self, text: str) -> int | None:
        """Return where the first match begins, in characters; None if nothing matches."""
        found = self._compiled.search(text)
        return None if found is None else int(found.start())

    def matches_all(self, text: str) -> bool:
        """Return whether all of *text* matches."""
        return self._compiled.fullmatch(text) is not None
