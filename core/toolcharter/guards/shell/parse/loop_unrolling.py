"""Unrolls a loop over texts and globs: its commands appear once for each value of the variable.

Source: POSIX.1-2024, shell command language, 2.9.4.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

from toolcharter.guards.shell.arrays import Arrays
from toolcharter.guards.shell.nodes import MAX_COMMANDS, Command, Part, Word
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.word_parts import SET_MARK, Piece, build_word, word_from_parts

MAX_VALUES = 16
"""The most values of one loop that is unrolled."""
_MAX_TOTAL_COMMANDS = MAX_COMMANDS - 10
"""The most commands of a line up to the end of an unrolled loop; ten are left for the rest of the line."""
# Neither blanks nor globs, tildes or braces: without quotes, bash makes the same word of them.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def loop_values(words: Sequence[Word]) -> tuple[Word, ...]:
    """The values of a loop over *words*, each a text or a glob; empty if they are not known, are too many, or are one glob alone."""
    values = tuple({word.text if word.pattern is None else (word.pattern,): word for word in words}.values())
    is_known = all(word.is_literal or _is_glob(word) for word in words)
    return values if len(values) <= MAX_VALUES and is_known and not (len(words) == 1 and _is_glob(words[0])) else ()


def _is_glob(word: Word) -> bool:
    """Whether *word* is a literal glob."""
    return word.pattern is not None and word.splits and not word.parts


def are_literal(values: Sequence[Word]) -> bool:
    """Whether each of the *values* of a loop is a text."""
    return all(word.is_literal for word in values)


def unroll_loop(scanner: Scanner, start: int, name: str, values: Sequence[Word], *, is_held: bool) -> list[Command]:
    """Unroll a loop: repeat its body for each of *values*.

    Args:
        scanner: The scanner, behind the loop; the body's commands are its last ones.
        start: The position of the first command of the body.
        name: The variable of the loop.
        values: Its values; empty if they are not known.
        is_held: Whether the value of the variable is known even if the loop cannot be unrolled.

    Returns:
        The commands of all turns; those of the body without the variable's values if it cannot be unrolled.
    """
    body = scanner.commands[start:]
    if not any(_uses_variable(word, name) for command in body for word in (*command.words, *command.inputs)):
        return list(body)
    if not values or start + len(body) * len(values) > _MAX_TOTAL_COMMANDS:
        leave = partial(_mark_as_set if is_held else _drop_parts, name=name)
        return [command.with_inputs(leave)._replace(words=tuple(map(leave, command.words))) for command in body]
    return [
        _fill_command(
            command, partial(_fill_word, name=name, value=value, arrays=scanner.arrays), name, start, turn * len(body)
        )
        for turn, value in enumerate(values)
        for command in body
    ]


def _uses_variable(word: Word, name: str) -> bool:
    return any(_is_variable_part(part, name) for part in word.parts)


def _is_variable_part(part: Part, name: str) -> bool:
    """Whether *part* is the variable *name*, or an element with that variable as its key: `${m[$k]}`."""
    return part.name == name or part.name.startswith(f"{name}[")


def _drop_parts(word: Word, name: str) -> Word:
    return word._replace(parts=()) if _uses_variable(word, name) else word


def _mark_as_set(word: Word, name: str) -> Word:
    """*word* with the variable *name* marked as one that the line has set."""
    parts = (part._replace(name=SET_MARK + name) if part.name == name else part for part in word.parts)
    return word._replace(parts=tuple(parts))


def _fill_command(command: Command, fill: Callable[[Word], Word], name: str, start: int, offset: int) -> Command:
    first, rest = command.words[:1], command.words[1:]
    command = command.with_inputs(fill)
    return command._replace(
        # The name of a program stays unknown.
        words=(*(_drop_parts(word, name) for word in first), *map(fill, rest)),
        stdin_from=_shift_positions(command.stdin_from, start, offset),
        substitutes=_shift_positions(command.substitutes, start, offset),
    )


def _shift_positions(positions: Sequence[int], start: int, offset: int) -> tuple[int, ...]:
    return tuple(one + offset if one >= start else one for one in positions)


def _fill_word(word: Word, name: str, value: Word, arrays: Arrays) -> Word:
    """*word* with *value* in place of the variable *name*."""
    if not _uses_variable(word, name):
        return word
    if value.text is None:
        return _fill_with_glob(word, name, value)
    texts = [
        (value.text if part.name == name else arrays.element_in_loop(part.name[len(name) + 1 : -1], value.text))
        if _is_variable_part(part, name)
        else ""
        for part in word.parts
    ]
    given = tuple(zip(word.parts, texts, strict=True))
    if any(_is_variable_part(part, name) and not part.is_quoted and not _PLAIN.fullmatch(text) for part, text in given):
        return word._replace(parts=())
    parts = tuple(Part(text) if _is_variable_part(part, name) else part for part, text in given)
    if any(part.name for part in parts):
        return word._replace(parts=parts)
    return word_from_parts(parts, [part.text for part in parts])


def _fill_with_glob(word: Word, name: str, value: Word) -> Word:
    """*word* with the glob *value* in place of the variable *name*: the variable is a name that matches, or the glob itself."""
    if not all(part.is_quoted and part.name in {"", name} for part in word.parts):
        return _mark_as_set(word, name)
    pieces = [
        Piece("", is_known=False, name=SET_MARK + name, pattern=value.pattern) if part.name else Piece(part.text)
        for part in word.parts
    ]
    return build_word(pieces, word.form)
