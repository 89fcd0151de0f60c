"""Replaces variables by the values that a line has certainly set: `f=a.txt; wc -l "$f"` is `wc -l a.txt`.

A value is certain if an assignment, `read`, a loop or arithmetic sets it and has run before each use, and no command of the
line may set a variable whose name the line does not contain. For a variable that is set once, the value is known. For one that
is set again, the guard knows only that it is text which the line made, or a number. All other values stay unknown.
Source: bash(1), "PARAMETERS", "SHELL BUILTIN COMMANDS".
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import or_
from typing import Final, NamedTuple

from toolcharter.guards.shell.effects import sets_only_named_variables
from toolcharter.guards.shell.nodes import REPOSITORY_TOP, TEMP_FILE, Command, Word
from toolcharter.guards.shell.parameter_expansions import apply_expansion as derived_of
from toolcharter.guards.shell.parse.word_parts import OUTPUT_PART, SET_MARK, is_glob, named_by, word_from_parts
from toolcharter.guards.shell.path_checks import escape_glob
from toolcharter.guards.shell.setters import Arithmetic, variables_set_by

EXPANSION_MARK: Final = "~"
"""Marks `${f%.txt}` in the name of a part: it follows `SET_MARK`, and then the variable; the operation comes behind it."""
EACH_ELEMENT: Final = f"{EXPANSION_MARK}@"
"""Ends the name of a part that is `"${a[@]}"`: each element of the array becomes one word, neither split nor expanded."""
REMATCH: Final = "BASH_REMATCH"
"""The array in which bash stores the last match of a regular expression."""
# Neither blanks nor globs, tildes or braces: without quotes, bash makes the same word of them.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_DIGITS: Final = re.compile(r"[0-9]{1,15}")
_INTEGER: Final = re.compile(r"-?[0-9]{1,15}")
_NAME_TAKERS: Final = frozenset({"read", "export", "readonly", "unset", "declare", "typeset", "local"})
_OPERATOR: Final = re.compile(r"-[vR]")
# Other programs may run, install or store what they read. `cp` would write to the workspace without a redirection in the rule.
_FILTERS: Final = frozenset(
    """[ [[ awk basename cat cmp column comm cut diff du echo egrep fgrep file fold grep head join jq ls md5sum nl od paste
    printf rev rg rm sed sha256sum sort stat tac tail tee test tr uniq wc""".split()
)
"""Programs that only read, write or remove a file which the line has made itself."""
NUMBER_GLOB: Final = "[0-9]*"
"""A glob that matches a number."""
DATE_GLOB: Final = "[0-9][0-9]*"
"""A glob that matches a date or a time. Arithmetic may do more than count with such a text."""


class Value(NamedTuple):
    """The certain value of a variable."""

    text: str | None
    """The value itself; None if commands print it."""
    pattern: str | None
    """A glob that matches the value, if it is a number."""
    at: int
    """The position of the command that sets it."""
    is_number: bool = False
    """Whether it is a number or empty."""
    is_shown: bool = False
    """Whether it may be printed, but not stored."""
    needs: frozenset[str] = frozenset()
    """The variables that it is computed from: it is certain only if they are."""
    named_by: str = ""
    """The program that the name comes from, if the value is one word without blanks and without characters of a glob."""
    may_be_empty: bool = False
    """Whether it may be empty, though it is a name."""


class SetVariables(NamedTuple):
    """The variables that are certainly set after a command."""

    success: frozenset[str]
    """Those that are set if the command succeeds."""
    failure: frozenset[str]
    """Those that are set if the command fails."""


def arithmetic_value(found: Arithmetic) -> Value:
    """The value of a variable that the arithmetic expression *found* sets."""
    return Value(None, NUMBER_GLOB if found.counts_up else None, -1, is_number=True, is_shown=True, needs=found.names)


def merge_values(one: Value | None, other: Value | None) -> Value | None:
    """The value of a variable after two assignments of which either may have run last; None if it is not known."""
    if one is None or other is None:
        return None
    pattern = NUMBER_GLOB if _is_count(one) and _is_count(other) else None
    is_number = holds_number(one) and holds_number(other)
    return Value(None, pattern, other.at, is_number, is_shown=True, needs=one.needs | other.needs)


def _is_count(value: Value) -> bool:
    return value.pattern == NUMBER_GLOB or (value.text is not None and _DIGITS.fullmatch(value.text) is not None)


def holds_number(value: Value) -> bool:
    """Whether *value* is a number or empty."""
    return value.is_number or (value.text is not None and _INTEGER.fullmatch(value.text) is not None)


def certain_values(commands: Sequence[Command], values: Mapping[str, Value | None]) -> dict[str, Value]:
    """Those of *values* that are certain."""
    # `[` and `[[` could take such a text for an operator (`-v`, `-R`) that evaluates its operand.
    found = {name: one for name, one in values.items() if one is not None and not _OPERATOR.search(one.text or "")}
    if not all(map(sets_only_named_variables, commands)) or not _has_no_hidden_setter(found, commands):
        return {}
    while lacking := [name for name, one in found.items() if not one.needs <= found.keys()]:
        for name in lacking:
            del found[name]
    return _without_doubtful_numbers(found)


def _without_doubtful_numbers(found: dict[str, Value]) -> dict[str, Value]:
    """*found*, where a value counts as a number only if it is computed from numbers, and as a count only from counts."""
    is_done = False
    while not is_done:
        is_done = True
        for name, one in found.items():
            parts = [found[need] for need in one.needs]
            if one.is_number and not all(map(holds_number, parts)):
                found[name], is_done = one._replace(is_number=False, pattern=None), False
            elif one.pattern is not None and one.needs and not all(map(_is_count, parts)):
                found[name], is_done = one._replace(pattern=None), False
    return found


def are_numbers(names: Iterable[str], values: Mapping[str, Value]) -> bool:
    """Whether *values* hold a number for each of *names*."""
    return all(name in values and holds_number(values[name]) for name in names)


def substitute_known_values(
    commands: Sequence[Command],
    values: Mapping[str, Value | None],
    certain: Mapping[str, Value],
    compared: Collection[str] = (),
) -> list[Command]:
    """Replace the variables in *commands* by their certain values.

    Args:
        commands: The commands of the line, in order.
        values: The value of each variable that the line sets; None if nothing is known of it.
        certain: The certain ones of *values*.
        compared: Variables that the line also uses outside of the words of its commands.
    """
    read = {_variable_of(part.name) for one in commands for word in _words_with_values(one) for part in word.parts}
    read.update(compared)
    unread = {
        one.at
        for name, one in values.items()
        if one is not None and one.text is None and not one.is_shown and name not in read
    }
    found = [_substitute_in_command(command, certain, commands) for command in commands]
    if any(one.pattern == TEMP_FILE for one in certain.values()):
        found = [one.with_targets(lambda word: _mark_temp_file(word, certain)) for one in found]
    return [one._replace(is_unread=True) if at in unread else one for at, one in enumerate(found)] if unread else found


def _words_with_values(command: Command) -> Iterator[Word]:
    yield from command.words
    yield from (assignment.value for assignment in command.assignments)
    yield from command.inputs
    yield from command.targets
    yield from _heredoc_bodies(command)


def _heredoc_bodies(command: Command) -> list[Word]:
    """The texts of its here-documents that hold variables or substitutions."""
    return [one.body for one in command.redirections if one.body is not None]


def _is_element(command: Command, word: Word) -> bool:
    """Whether *command* is `unset`, and *word* an element of an array."""
    return command.words[0].text == "unset" and "[" in (word.text or "")


def _has_no_hidden_setter(values: Mapping[str, Value], commands: Iterable[Command]) -> bool:
    """Whether no command that takes names of variables (`read`, `unset`) may take the name of one of *values* in a hidden way."""
    namers = (
        one
        for one in commands
        if one.words and one.words[0].text in _NAME_TAKERS and variables_set_by(one.words) is None
    )
    texts = [word.text or "" for one in namers for word in one.words[1:] if not _is_element(one, word)]
    # The argument of `unset 'a[0]'` is not counted: an array can only lose elements by that.
    names = {name.partition("[")[0] for name in values}
    return not any(re.search(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])", text) for text in texts for name in names)


def _substitute_in_command(command: Command, values: Mapping[str, Value], commands: Sequence[Command]) -> Command:
    """Replace variables in the arguments of *command* and in the files that it reads by `<`, but not in its program."""
    fed = _variables_in(_heredoc_bodies(command))
    used = [*_variables_in(command.words[1:]), *_variables_in(command.inputs), *fed]
    if not used:
        return command
    if (
        any(one.pattern == TEMP_FILE for one in values.values())
        and command.words[:1]
        and command.words[0].text not in _FILTERS
    ):
        values = {name: one for name, one in values.items() if one.pattern != TEMP_FILE}
    command = command.with_inputs(lambda word: _substitute_in_word(word, values))
    words = (*command.words[:1], *(_substitute_in_word(word, values) for word in command.words[1:]))
    substitutes = tuple(dict.fromkeys((*command.substitutes, *_output_sources(used, values, commands))))
    if not fed:
        return command._replace(words=words, substitutes=substitutes)
    redirections = tuple(
        one if one.body is None else one._replace(body=_substitute_in_word(one.body, values))
        for one in command.redirections
    )
    stdin_from = tuple(dict.fromkeys((*command.stdin_from, *_output_sources(fed, values, commands))))
    return command._replace(words=words, redirections=redirections, stdin_from=stdin_from, substitutes=substitutes)


def _variables_in(words: Sequence[Word]) -> list[str]:
    """The names of the variables in *words*."""
    return [_variable_of(part.name) for word in words for part in word.parts if part.name not in {"", OUTPUT_PART}]


def _output_sources(names: Sequence[str], values: Mapping[str, Value], commands: Sequence[Command]) -> list[int]:
    """The positions of the commands whose output the variables *names* hold."""
    return [
        at for name in names if name in values and values[name].at >= 0 for at in commands[values[name].at].substitutes
    ]


def _substitute_in_word(word: Word, values: Mapping[str, Value]) -> Word:
    names = [part.name for part in word.parts if part.name and part.name != OUTPUT_PART]
    if not names:
        return word
    held = [values[_variable_of(name)] for name in names if _variable_of(name) in values]
    if any(not name.startswith(SET_MARK) for name in names) or len(held) < len(names):
        return word._replace(parts=())
    if (own := _mark_temp_file(word, values)).pattern == TEMP_FILE:
        return own
    texts = [_text_of_part(part.name, part.text, values) for part in word.parts]
    bare = [(part.name, text) for part, text in zip(word.parts, texts, strict=True) if part.name and not part.is_quoted]
    if None not in texts:
        is_one = all(_PLAIN.fullmatch(text or "") for _, text in bare)
        return word_from_parts(word.parts, [text or "" for text in texts]) if is_one else word._replace(parts=())
    return word._replace(parts=()) if any(map(is_glob, word.parts)) else _describe_unknown(word, held)


def _describe_unknown(word: Word, held: Sequence[Value]) -> Word:
    """*word* with what is known of it from its values *held*, of which at least one is not a known text."""
    is_shown = any(one.is_shown for one in held)
    if word.pattern is not None:  # Names on disk, as most variables of loops.
        is_output = not (word.splits or is_shown)
        return word._replace(parts=(), is_output=is_output, is_shown=is_shown and not word.splits)
    if held[0].is_number and _is_one_variable(word):
        word = word._replace(is_number=True)
    if whose := _common_name_source(word, held):
        is_one = not word.splits or not any(one.may_be_empty for one in held)
        word = word._replace(named_by=whose, splits=not is_one)
    pattern = held[0].pattern if len(word.parts) == 1 else None
    if pattern in {None, TEMP_FILE} or EXPANSION_MARK in word.parts[0].name:
        pattern = _joined_glob(word, held)
    if pattern:
        return word._replace(parts=(), pattern=pattern, splits=False)
    if all(part.is_quoted or part.name.endswith(EACH_ELEMENT) for part in word.parts if part.name) and word.splits:
        return word._replace(parts=(), is_shown=is_shown)
    given = iter(held)
    stay = [part.name != OUTPUT_PART and _is_number_part(part.name, next(given)) for part in word.parts if part.name]
    quotes = [part.is_quoted for part in word.parts if part.name]
    splits = word.splits and not all(map(or_, stay, quotes))
    return word._replace(parts=(), splits=splits, is_output=not (splits or is_shown), is_shown=is_shown and not splits)


def _joined_glob(word: Word, held: Sequence[Value]) -> str:
    """The glob that matches *word*, made of its texts and the globs of its values *held*; empty if one of these has no glob."""
    patterns = iter([one.pattern for one in held if one.pattern not in {None, TEMP_FILE} and not one.may_be_empty])
    if any(part.name == OUTPUT_PART or EXPANSION_MARK in part.name for part in word.parts):
        return ""
    found = [next(patterns, None) if part.name else escape_glob(part.text) for part in word.parts]
    return "" if None in found else "".join(one or "" for one in found)


def _common_name_source(word: Word, held: Sequence[Value]) -> str:
    """The program that the names in *word* come from, with its values *held*; empty if the word may become an option."""
    whose = {one.named_by for one in held}
    if len(whose) != 1 or any(part.name == OUTPUT_PART or EXPANSION_MARK in part.name for part in word.parts):
        return ""
    if REPOSITORY_TOP in whose and not (_is_one_variable(word) and word.parts[-1].is_quoted and not word.splits):
        return ""
    return named_by(whose.pop(), [part.text for part in word.parts if part.text or part.name])


def _mark_temp_file(word: Word, values: Mapping[str, Value]) -> Word:
    """*word*, marked as a file that the line has made if it is exactly the variable that holds its path."""
    names = [_variable_of(part.name) for part in word.parts if part.name]
    is_one = len(names) == 1 and _is_one_variable(word) and not word.splits
    if is_one and names[0] in values and values[names[0]].pattern == TEMP_FILE:
        return word._replace(parts=(), pattern=TEMP_FILE)
    return word


def _is_number_part(name: str, value: Value) -> bool:
    """Whether the part *name*, with this *value*, is a number, which bash never splits."""
    return name.startswith(SET_MARK) and EXPANSION_MARK not in name and value.is_number


def _is_one_variable(word: Word) -> bool:
    """Whether *word* is exactly one variable, without an operation such as `%.txt`."""
    parts = [part.name for part in word.parts if part.name or part.text]
    return len(parts) == 1 and EXPANSION_MARK not in parts[0]


def _variable_of(name: str) -> str:
    """The name of the variable in *name*, the name of a part."""
    return name.lstrip(SET_MARK + EXPANSION_MARK).partition(EXPANSION_MARK)[0]


def _text_of_part(name: str, text: str, values: Mapping[str, Value]) -> str | None:
    if not name or name == OUTPUT_PART:
        return text if not name else None
    value = values[_variable_of(name)].text
    if value is None or not name.startswith(SET_MARK + EXPANSION_MARK):
        return value
    return derived_of(value, name.lstrip(SET_MARK + EXPANSION_MARK).partition(EXPANSION_MARK)[2])
