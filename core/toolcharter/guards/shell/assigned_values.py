"""Determines the value of a variable from the word that is assigned to it.

Source: bash(1), "PARAMETERS".
"""

import re
from typing import Final

from toolcharter.guards.shell.nodes import REPOSITORY_TOP, TEMP_FILE, TOP_OF_REPOSITORY, Word
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.word_parts import OUTPUT_PART, SET_MARK
from toolcharter.guards.shell.variable_values import DATE_GLOB, EXPANSION_MARK, NUMBER_GLOB, Value, arithmetic_value

# mktemp creates a new file of the line's own, or prints nothing. Source: mktemp(1) of coreutils 9.1.
_MKTEMP: Final = re.compile(r'"?\$\(mktemp\)"?')


def assigned_value(scanner: Scanner, word: Word, *, adds: bool = False) -> Value | None:
    """The value of a variable that is set to *word*; None if it is not known.

    Args:
        scanner: The scanner, behind the assignment.
        word: The assigned word.
        adds: Whether the operator is `+=`.
    """
    at = len(scanner.commands) - 1
    is_deep = bool(scanner.branches or scanner.within)
    expression = scanner.arithmetic.get(word.form.strip('"'))
    if expression is not None and not adds:
        return arithmetic_value(expression)
    if word.text is not None:
        return Value(word.text, None, at) if not adds else Value(None, None, at, is_shown=True)
    if word.is_output and _MKTEMP.fullmatch(word.form) and not (adds or is_deep):
        return Value(None, TEMP_FILE, at)
    if word.pattern in {NUMBER_GLOB, DATE_GLOB} or word.is_output:
        is_number = not adds and (word.pattern == NUMBER_GLOB or word.is_number)
        named_by = "" if adds else word.named_by
        if not adds and scanner.cwd and TOP_OF_REPOSITORY.fullmatch(f'"{word.form.strip(chr(34))}"'):
            named_by = REPOSITORY_TOP
        pattern = None if adds else word.pattern
        is_told = pattern in {NUMBER_GLOB, DATE_GLOB}
        return Value(
            None, pattern, at, is_number, is_shown=is_deep or adds, named_by=named_by, may_be_empty=not is_told
        )
    names = [part.name for part in word.parts if part.name and part.name != OUTPUT_PART]
    if not names:
        return None
    needs = frozenset(
        name.lstrip(SET_MARK + EXPANSION_MARK).partition(EXPANSION_MARK)[0]
        for name in names
        if name.startswith(SET_MARK)
    )
    return Value(None, None, at, is_shown=True, needs=needs)
