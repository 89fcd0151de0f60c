"""Puts what a line has certainly set into the words that use it: `f=a.txt; wc -l "$f"` is `wc -l a.txt`.

Certain is an assignment of its own at the top of a line, before the words that use it, of a name that nothing sets
again, in a line of which no command may set variables by a name that is not written there.
Whatever is not certain stays unknown. Source: bash(1), "PARAMETERS", "SHELL BUILTIN COMMANDS".
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.word_parts import literal

MARK: Final = "="
"""What a part's name begins with whose variable the line has set."""
DERIVED: Final = "~"
"""Stands behind `MARK`, and again behind the variable, in `${f%.txt}`: what follows is made of the value by it."""
# In these no character is one of a pattern but the star; what follows a replacement's second slash is no pattern.
_TRIMS: Final = re.compile(r"(%%?|##?)(\*?)([A-Za-z0-9_./-]+)(\*?)")
_REPLACES: Final = re.compile(r"(//?)([A-Za-z0-9_.-]+)/([A-Za-z0-9_./-]*)")
_DEFAULTS: Final = re.compile(r":?-[^$`\"'\\]*")
# Neither blanks nor globs, tildes or braces: without quotes, bash makes the same word of them.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
# They run text that may set anything, or evaluate what names more.
_ALTERERS: Final = frozenset(
    {
        *("eval", "source", ".", "trap", "alias", "enable", "builtin", "command"),
        *("wait", "let", "mapfile", "readarray", "getopts", "coproc", "set", "shopt"),
    }
)
_NAMERS: Final = frozenset({"read", "export", "readonly", "unset", "declare", "typeset", "local"})
_WITHOUT_OPTIONS: Final = frozenset({"declare", "typeset", "local", "export", "readonly"})
_TESTS: Final = frozenset({"test", "[", "[["})
_EVALUATING: Final = frozenset({"-v", "-R"})
_OPERATOR: Final = re.compile(r"-[vR]")
_HARMLESS_SETTINGS: Final = re.compile(r"[-+][eux]+o?|pipefail|-o")

# One substitution and nothing else: nothing between its parentheses opens or closes one.
_ONE_OUTPUT: Final = re.compile(r"\"?\$\([^()\\`\[\]]*\)\"?")
_COUNTS: Final = frozenset({"-l", "-c", "-w", "-m"})


class Value(NamedTuple):
    """What a variable holds for certain."""

    text: str | None
    """None for what commands print."""
    pattern: str | None
    """A glob that stands for it, if it is a number."""
    at: int
    """The command that sets it, by position."""
    is_number: bool = False
    """Whether it is digits or nothing."""


def settled(commands: Sequence[Command], values: Mapping[str, Value | None]) -> list[Command]:
    """*commands* with the *values* of variables in place of them, where these are certain: None is a value set again."""
    # A test could take a text for an operator that evaluates its operand.
    certain = {name: one for name, one in values.items() if one is not None and not _OPERATOR.search(one.text or "")}
    if not all(map(names_what_it_sets, commands)) or not _are_apart(certain, commands):
        certain = {}
    read = {_variable(part.name) for one in commands for word in _words(one) for part in word.parts}
    unread = {one.at for name, one in values.items() if one is not None and one.text is None and name not in read}
    found = [_settled(command, certain, commands) for command in commands]
    return [one._replace(is_unread=True) if at in unread else one for at, one in enumerate(found)] if unread else found


def _words(command: Command) -> Iterator[Word]:
    yield from command.words
    yield from (assignment.value for assignment in command.assignments)


def names_what_it_sets(command: Command) -> bool:
    """Whether it is plain from the words of *command* which variables it sets."""
    if any("{" in one.descriptor for one in command.redirections):
        return False
    if not command.words:
        return True
    name, words = command.words[0].text, command.words[1:]
    if name == "set":
        return all(_HARMLESS_SETTINGS.fullmatch(word.text or "") for word in words)
    if name in _TESTS:
        return all(word.text not in _EVALUATING and _stays_one(word) for word in words)
    if name in _NAMERS:
        return all(map(_is_plain_name, words)) and not (name in _WITHOUT_OPTIONS and _has_options(words))
    return name is not None and name not in _ALTERERS and not (name == "printf" and _has_options(words[:1]))


def _is_plain_name(word: Word) -> bool:
    return word.text is not None and "[" not in word.text


def _has_options(words: Sequence[Word]) -> bool:
    return any((word.text or "-").startswith("-") for word in words)


def _stays_one(word: Word) -> bool:
    """Whether *word* is no text that could turn out to be an operator and its operand."""
    return not word.splits or (len(word.parts) == 1 and word.parts[0].name.startswith(MARK))


def _are_apart(values: Mapping[str, Value], commands: Iterable[Command]) -> bool:
    """Whether no command that names variables names one of *values* in letters that the source does not show."""
    texts = [
        word.text or "" for one in commands if one.words and one.words[0].text in _NAMERS for word in one.words[1:]
    ]
    return not any(re.search(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])", text) for text in texts for name in values)


def _settled(command: Command, values: Mapping[str, Value], commands: Sequence[Command]) -> Command:
    """*command* with the values in its words; what names a program stays unknown."""
    used = [_variable(part.name) for word in command.words[1:] for part in word.parts if part.name]
    if not used:
        return command
    words = (command.words[0], *(_filled(word, values) for word in command.words[1:]))
    said = [position for name in used if name in values for position in commands[values[name].at].substitutes]
    return command._replace(words=words, substitutes=tuple(dict.fromkeys((*command.substitutes, *said))))


def _filled(word: Word, values: Mapping[str, Value]) -> Word:
    names = [part.name for part in word.parts if part.name]
    if not names:
        return word
    held = [values.get(_variable(name)) for name in names]
    if any(not name.startswith(MARK) for name in names) or None in held:
        return word._replace(parts=())
    texts = [_text(part.name, part.text, values) for part in word.parts]
    bare = [text for part, text in zip(word.parts, texts, strict=True) if part.name and not part.is_quoted]
    if None not in texts:
        is_one = all(_PLAIN.fullmatch(text or "") for text in bare)
        return literal("".join(text or "" for text in texts)) if is_one else word._replace(parts=())
    if held[0] is not None and held[0].is_number and _is_bare(word):
        word = word._replace(is_number=True)
    pattern = held[0].pattern if len(word.parts) == 1 and held[0] is not None else None
    if pattern is not None and not names[0].startswith(MARK + DERIVED):
        return word._replace(parts=(), pattern=pattern, splits=False)
    return word._replace(parts=(), is_output=not word.splits)


def _is_bare(word: Word) -> bool:
    """Whether *word* is a variable as it is, and nothing else."""
    parts = [part.name for part in word.parts if part.name or part.text]
    return len(parts) == 1 and DERIVED not in parts[0]


def counts(command: Command, commands: Sequence[Command]) -> bool:
    """Whether the value of an assignment, *command* of *commands*, is what `wc -l` or its like prints of its input.

    Of the commands in the substitution it has to be the last one, and all others have to write to it.
    """
    if (
        not command.substitutes
        or command.assignments[1:]
        or not _ONE_OUTPUT.fullmatch(command.assignments[0].value.form)
    ):
        return False
    *others, last = sorted(command.substitutes)
    texts = [word.text for word in commands[last].words]
    is_count = texts[:1] == ["wc"] and len(texts[1:]) == 1 and texts[1] in _COUNTS
    reads = all(one.operator == "<" and not one.descriptor for one in commands[last].redirections)
    return is_count and reads and not commands[last].assignments and set(others) <= {*commands[last].feeders}


def _variable(name: str) -> str:
    """The variable of a part that has this *name*."""
    return name.lstrip(MARK + DERIVED).partition(DERIVED)[0]


def _text(name: str, text: str, values: Mapping[str, Value]) -> str | None:
    if not name:
        return text
    value = values[_variable(name)].text
    if value is None or not name.startswith(MARK + DERIVED):
        return value
    return _made(value, name.lstrip(MARK + DERIVED).partition(DERIVED)[2])


def _made(value: str, how: str) -> str | None:
    """What an expansion such as `%.txt` or `//a/b` makes of *value*; None if that is not certain.

    Source: bash(1), "Parameter Expansion".
    """
    if found := _TRIMS.fullmatch(how):
        return _trimmed(value, *found.groups())
    if found := _REPLACES.fullmatch(how):
        return value.replace(found[2], found[3], -1 if found[1] == "//" else 1)
    return value if value and _DEFAULTS.fullmatch(how) else None


def _trimmed(value: str, operator: str, before: str, text: str, behind: str) -> str | None:
    is_front, is_long = operator[0] == "#", len(operator) > 1
    if not (before or behind):
        return value.removeprefix(text) if is_front else value.removesuffix(text)
    if (before, behind) != (("*", "") if is_front else ("", "*")):
        return None
    if text not in value:
        return value
    # The longest is cut at the last text in front, and at the first text behind.
    start, _, end = value.rpartition(text) if is_front == is_long else value.partition(text)
    return end if is_front else start
