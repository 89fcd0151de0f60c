"""Writes a loop over literal words out: its body once for each value that the variable has.

Whatever is not certain leaves the words that hold the variable unknown. Source: bash(1), "Looping Constructs" and "Word
Splitting".
"""

import re
from collections.abc import Iterable, Sequence

from toolcharter.guards.shell.nodes import Command, Part, Word
from toolcharter.guards.shell.scanner import MAX_COMMANDS
from toolcharter.guards.shell.word_parts import literal

MAX_VALUES = 16
"""Of one loop."""
_MOST = MAX_COMMANDS - 10
"""Commands at the end of a loop that is written out; the line may go on."""
# Neither blanks nor globs, tildes or braces: without quotes, bash makes the same word of them.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
# What may give a loop variable another value: by the way, and once and for all.
_SETTERS = frozenset({"read", "mapfile", "readarray", "printf", "getopts", "let", "export", "readonly", "unset"})
_ALTERERS = frozenset({"eval", "source", ".", "trap", "declare", "typeset", "local"})
_HIDERS = frozenset({"command", "builtin", "wait"})
"""They may run one of those, or name a variable in an option."""


def may_set(body: Iterable[Command], commands: Iterable[Command]) -> bool:
    """Whether a command may set a variable that a loop with this *body*, the last of all *commands*, has set."""
    return _any_runs([one for one in body if not _prints(one)], _SETTERS) or _any_runs(commands, _ALTERERS)


def _any_runs(commands: Iterable[Command], names: frozenset[str]) -> bool:
    """Whether one of *commands* is one of *names*, or may be."""
    return any(one.program is not None and (one.program.text is None or one.program.text in names) for one in commands)


def values_of(words: Sequence[Word]) -> tuple[str, ...]:
    """The values of a loop over *words*; none, if they cannot be told, or are many."""
    texts = tuple(dict.fromkeys(word.text for word in words if word.text is not None))
    return texts if len(texts) <= MAX_VALUES and all(word.is_literal for word in words) else ()


def stays(body: Sequence[Command], commands: Sequence[Command]) -> bool:
    """Whether nothing in *body*, the last of all *commands*, gives the variable of its loop another value."""
    if _any_runs(body, _HIDERS) or any("{" in one.descriptor for command in body for one in command.redirections):
        return False
    return not may_set(body, commands)


def _prints(command: Command) -> bool:
    """Whether it is `printf` without options, of which one sets a variable."""
    words = command.words[:2]
    return [word.text for word in words[:1]] == ["printf"] and not (words[-1].text or "-").startswith("-")


def written_out(commands: Sequence[Command], start: int, name: str, values: Sequence[str]) -> list[Command]:
    """The body of a loop, once for each of *values*.

    Args:
        commands: All so far; the body begins at *start*.
        start: A position.
        name: The loop's variable.
        values: None, if they cannot be told.
    """
    body = commands[start:]
    if not any(_holds(word, name) for command in body for word in command.words):
        return list(body)
    if not values or start + len(body) * len(values) > _MOST:
        return [command._replace(words=tuple(_unknown(word, name) for word in command.words)) for command in body]
    return [
        _with(command, name, value, start, turn * len(body)) for turn, value in enumerate(values) for command in body
    ]


def _holds(word: Word, name: str) -> bool:
    return any(part.name == name for part in word.parts)


def _unknown(word: Word, name: str) -> Word:
    return word._replace(parts=()) if _holds(word, name) else word


def _with(command: Command, name: str, value: str, start: int, offset: int) -> Command:
    first, rest = command.words[:1], command.words[1:]
    return command._replace(
        # What names a program stays unknown.
        words=(*(_unknown(word, name) for word in first), *(_filled(word, name, value) for word in rest)),
        feeders=_moved(command.feeders, start, offset),
        substitutes=_moved(command.substitutes, start, offset),
    )


def _moved(positions: Sequence[int], start: int, offset: int) -> tuple[int, ...]:
    return tuple(one + offset if one >= start else one for one in positions)


def _filled(word: Word, name: str, value: str) -> Word:
    """*word* where the variable *name* has this *value*."""
    if not _holds(word, name):
        return word
    if not _PLAIN.fullmatch(value) and any(part.name == name and not part.is_quoted for part in word.parts):
        return word._replace(parts=())
    parts = tuple(Part(value) if part.name == name else part for part in word.parts)
    if any(part.name for part in parts):
        return word._replace(parts=parts)
    return literal("".join(part.text for part in parts))
