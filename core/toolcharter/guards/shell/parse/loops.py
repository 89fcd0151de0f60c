"""Parses loops, and unrolls a loop over texts and globs: its commands appear once for each value of the variable.

If the values are not certain, the words with the variable stay unknown. Source: POSIX.1-2024, shell command language,
2.9.4; bash(1), "Looping Constructs" and "Word Splitting".
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.assignments import is_line_variable
from toolcharter.guards.shell.nodes import ENDLESS_LOOP, Command, Word
from toolcharter.guards.shell.parse.conditionals import LISTS_OUTSIDE, holds_environment, read_branches
from toolcharter.guards.shell.parse.cwd import Flow, Folders
from toolcharter.guards.shell.parse.expansions import read_arithmetic, record_arithmetic
from toolcharter.guards.shell.parse.loop_unrolling import are_literal, loop_values, unroll_loop
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.word_parts import SET_MARK
from toolcharter.guards.shell.parse.words import read_words
from toolcharter.guards.shell.setters import variables_set_by
from toolcharter.guards.shell.variable_values import Value

if TYPE_CHECKING:
    from toolcharter.guards.shell import listing_loops, tracked_variables
    from toolcharter.guards.shell.listing_loops import NamesOnDisk
else:
    listing_loops = lazy("toolcharter.guards.shell.listing_loops")
    tracked_variables = lazy("toolcharter.guards.shell.tracked_variables")

_VARIABLE = re.compile(r"[a-z_][a-z0-9_]*|[A-Z](?=[ \t\n;])")
_NUMBERS = re.compile(r"(?:[\w \t+\-*/%<>=!&|,]|\$\{#[A-Za-z_]\w*\[@\]\})*;", re.ASCII)
_COUNT = re.compile(r"\$\{#\w+\[@\]\}")
# A number of five digits or more: no harmless loop has that many turns.
_MANY = re.compile(r"[0-9]{5}")
_MANY_WORDS = re.compile(r"\{-?[0-9]+\.\.-?[0-9]{5}|[\"]?(?:\$\(|`)[ \t]*(?:seq|jot)\b[^|;)`]*[0-9]{5}")
# Programs that may set a loop variable: the first when they run in the loop, the second also when they run before it.
_SETTERS = frozenset({"read", "mapfile", "readarray", "printf", "getopts", "let", "export", "readonly", "unset"})
_ALTERERS = frozenset({"eval", "source", ".", "trap", "declare", "typeset", "local"})
_SKIPPING = frozenset({"break", "continue", "return"})
_HIDERS = frozenset({"command", "builtin", "wait"})
"""Builtins that may run one of these, or take the name of a variable in an option."""


def read_while(scanner: Scanner) -> Flow:
    """Read from behind `while` or `until`."""
    return read_branches(scanner, _read_while_parts, "loop")


def _read_while_parts(scanner: Scanner) -> None:
    is_until = scanner.source.startswith("until", scanner.at - len("until"))
    start = len(scanner.commands)
    scanner.read_list(frozenset({"do"}))
    scanner.set_names = scanner.set_by_last.failure if is_until else scanner.set_by_last.success
    found = None
    if scanner.lists and not is_until and len(scanner.commands) == start + 1:
        found = listing_loops.names_from_read(scanner.commands, start, scanner.source)
    if found is None:
        body, condition = len(scanner.commands), scanner.commands[start:]
        _read_do_group(scanner)
        for name in {name for one in condition for name in variables_set_by(one.words) or ()}:
            tracked_variables.forget_partial_name(scanner, name, body, is_alone=len(condition) == 1 and not is_until)
        return
    name, names = found
    start = len(scanner.commands)
    _read_body(scanner, name, names)
    if not listing_loops.leaves_loop_input(scanner.commands[start:], start, name):
        scanner.mark_unsupported("A command in a loop may read what the loop has yet to read.")


def _loop_values(
    scanner: Scanner, name: str, words: Sequence[Word], before: int
) -> tuple["NamesOnDisk | None", Value | None]:
    """The names on disk that the variable *name* of a loop over *words* holds, and its value.

    The commands from position *before* on are those in substitutions among the words.
    """
    if scanner.lists and is_line_variable(name):
        names = _names_in_variable(scanner, words) or listing_loops.names_in_words(
            words, scanner.commands[before:], before, scanner.source
        )
        if names is not None:
            return names, Value(None, None, -1, is_shown=True)
    return None, tracked_variables.loop_value(scanner, name, words, range(before, len(scanner.commands)))


def _names_in_variable(scanner: Scanner, words: Sequence[Word]) -> "NamesOnDisk | None":
    """The names on disk in the words of a loop, if the words are one unquoted variable that holds such names; else None."""
    names = [part.name.removeprefix(SET_MARK) for part in words[0].parts] if len(words) == 1 and words[0].splits else []
    found = scanner.disk_names.get(names[0]) if len(names) == 1 else None
    if found is None or words[0].pattern != found.pattern:
        return None
    scanner.compared_names.add(names[0])
    return found._replace(is_row=False)


def _read_body(scanner: Scanner, name: str, names: "NamesOnDisk | None") -> None:
    """Read the body of a loop whose variable *name* holds the names on disk *names*; None if it holds none."""
    if names is None:
        _read_do_group(scanner)
        return
    start = len(scanner.commands)
    scanner.disk_names[name] = names
    scanner.listings = (*(scanner.listings or ()), *names.names)
    _read_do_group(scanner)
    scanner.disk_names.pop(name, None)
    if not keeps_variable(scanner.commands[start:], scanner.commands):
        scanner.mark_unsupported("A loop variable may get another value in the loop.")


def _read_do_group(scanner: Scanner) -> None:
    scanner.expect_word("do")
    scanner.read_list(frozenset({"done"}))
    scanner.expect_word("done")


def read_select(scanner: Scanner) -> Flow:
    """Read from behind `select`."""
    scanner.mark_unsupported("A menu ('select') stands in it.")
    return read_for(scanner)


def read_for(scanner: Scanner) -> Flow:
    """Read from behind `for`."""
    scanner.skip_blanks()
    return read_branches(scanner, _read_counting_loop if scanner.take("((") else _read_for_parts, "loop")


def _read_counting_loop(scanner: Scanner) -> None:
    """Read `for ((...; ...; ...))` from behind its parentheses."""
    scanner.bash_only("A loop over numbers")
    condition = ""
    for _ in range(2):
        found = _NUMBERS.match(scanner.source, scanner.at)
        if found is None:
            raise scanner.fail("A loop over numbers is not understood.")
        scanner.at, condition = found.end(), found.group()
        expression = record_arithmetic(scanner, _COUNT.sub(" 1 ", condition[:-1]))
        if expression is not None:
            scanner.set_names |= expression.certain
    read_arithmetic(scanner)
    _mark_endless(scanner, is_endless=not condition.strip(" \t;") or _MANY.search(condition) is not None)
    scanner.skip_comment()
    scanner.take(";")
    scanner.skip_newlines()
    _read_do_group(scanner)


def _mark_endless(scanner: Scanner, *, is_endless: bool) -> None:
    """Record that the body of the current loop runs very often."""
    if is_endless:
        scanner.within = (*scanner.within, ENDLESS_LOOP)


def _read_for_parts(scanner: Scanner) -> bool:
    """Read from behind `for`; whether each turn ends in the folder in which it begins."""
    # Other names, such as `PATH`, may be variables that programs read.
    found = _VARIABLE.match(scanner.source, scanner.at)
    if found is None or found.group().endswith("_proxy"):
        raise scanner.fail("The variable of a loop is not understood.")
    scanner.at, name = found.end(), found.group()
    _note_loop_variable(scanner, found.span())
    if not scanner.is_word_end():
        raise scanner.fail("The variable of a loop is not understood.")
    before = len(scanner.commands)
    words = tracked_variables.substitute_texts(scanner, _read_loop_words(scanner))
    names, value = _loop_values(scanner, name, words, before)
    if any(holds_environment(scanner, word) for word in words):
        scanner.mark_unsupported("A loop runs as often as what cannot be determined has words.")
    if any(
        tracked_variables.may_list_outside(scanner, word) for word in words if value is None or word.pattern is not None
    ):
        scanner.mark_unsupported(LISTS_OUTSIDE)
    for word in words:
        scanner.record_glob(word.pattern or "")
        scanner.learn(name, word if word.pattern is None else word._replace(hints=(word.pattern,)))
    start = len(scanner.commands)
    if len(words) == 1 and words[0].pattern is not None:
        scanner.patterns[name] = words[0].pattern
    values = loop_values(words)
    if values:
        scanner.loops[name] = tuple(one.text for one in values if one.text is not None) if are_literal(values) else ()
    if value is not None:
        scanner.set_value(name, value)
        scanner.set_names |= {name}
    _mark_endless(scanner, is_endless=any(_MANY_WORDS.match(word.form) for word in words))
    folders = scanner.cwd
    scanner.word_loops += 1
    _read_body(scanner, name, names)
    scanner.word_loops -= 1
    if scanner.patterns.pop(name, None) is not None and may_set_variable(scanner.commands[start:], scanner.commands):
        scanner.mark_unsupported("A loop variable may get another value in the loop.")
    is_certain = name in scanner.loops and _is_certain(scanner, start)
    comes_back = (is_certain or name not in scanner.loop_cd_names) and _returns_to(scanner, folders, start)
    _end_loop(scanner, name, start, is_certain=is_certain)
    is_held = value is not None and not are_literal(values)
    written = unroll_loop(scanner, start, name, values if is_certain else (), is_held=is_held)
    scanner.commands[start:] = written
    return comes_back


def _returns_to(scanner: Scanner, folders: Folders, start: int) -> bool:
    """Whether each turn of the loop just read, whose commands begin at *start*, ends in *folders*, where it began.

    The whole loop has to lie before the first command that may change names on disk: in the next turn, that command would
    come before the `cd`.
    """
    is_same = bool(folders) and scanner.cwd == folders and scanner.at <= scanner.enters
    return is_same and not (scanner.functions or _any_may_run(scanner.commands[start:], _SKIPPING))


def _end_loop(scanner: Scanner, name: str, start: int, *, is_certain: bool) -> None:
    """Record that the loop over the variable *name*, whose commands begin at *start*, has ended."""
    scanner.loops.pop(name, None)
    if name in scanner.loop_cd_names and not is_certain:
        scanner.commands[start:] = [one._replace(folders=()) for one in scanner.commands[start:]]
    scanner.loop_cd_names.discard(name)


def _note_loop_variable(scanner: Scanner, span: tuple[int, int]) -> None:
    """Note the span of the variable's name in the head of a loop."""
    if scanner.notes is not None:
        scanner.notes.named.add(span)


def _read_loop_words(scanner: Scanner) -> list[Word]:
    scanner.skip_newlines()
    words = [Word('"$@"', splits=True)]
    if scanner.next_bare() == "in":
        scanner.at += 2
        words = []
        scanner.skip_blanks()
        while not scanner.is_word_end() and not scanner.source.startswith("#", scanner.at):
            scanner.looping_at = scanner.depth
            words += read_words(scanner)
            scanner.looping_at = -1
            scanner.skip_blanks()
        scanner.skip_comment()
        if not scanner.source.startswith((";", "\n"), scanner.at):
            raise scanner.fail("The words of a loop are not understood.")
    elif scanner.notes is not None:
        scanner.notes.is_odd = True
    scanner.take(";")
    scanner.skip_newlines()
    return words


def _is_certain(scanner: Scanner, start: int) -> bool:
    """Whether the variable of a loop, whose commands begin at *start*, has no values other than the words of the loop."""
    if scanner.functions or scanner.unsupported or "IFS" in scanner.source or "IFS" in scanner.values:
        return False
    in_function = any(one.startswith("function ") for one in scanner.within)
    return not in_function and keeps_variable(scanner.commands[start:], scanner.commands)


def may_set_variable(body: Sequence[Command], commands: Sequence[Command]) -> bool:
    """Whether a command may set the variable of a loop; *body* are its commands, the last ones of *commands*."""
    others = [*commands[: len(commands) - len(body)]]
    altering = [one for one in others if not _makes_arrays(one)]
    return _any_may_run([one for one in body if not _prints(one)], _SETTERS) or _any_may_run(
        [*altering, *body], _ALTERERS
    )


def _makes_arrays(command: Command) -> bool:
    """Whether *command* only declares arrays, which does not affect the variable of a later loop."""
    return [word.text for word in command.words[1:2]] in (["-a"], ["-A"]) and variables_set_by(
        command.words
    ) is not None


def _any_may_run(commands: Iterable[Command], names: frozenset[str]) -> bool:
    """Whether the program of one of *commands* is, or may be, one of *names*."""
    return any(one.program is not None and (one.program.text is None or one.program.text in names) for one in commands)


def keeps_variable(body: Sequence[Command], commands: Sequence[Command]) -> bool:
    """Whether no command in *body*, the last ones of *commands*, gives the variable of the loop another value."""
    if _any_may_run([one for one in body if not _looks_up(one)], _HIDERS) or any(
        "{" in one.descriptor for command in body for one in command.redirections
    ):
        return False
    return not may_set_variable(body, commands)


def _looks_up(command: Command) -> bool:
    """Whether *command* is `command -v NAME`, which runs nothing."""
    texts = [word.text for word in command.words]
    return texts[:1] == ["command"] and texts[1:2] in (["-v"], ["-V"]) and not texts[3:]


def _prints(command: Command) -> bool:
    """Whether *command* is `printf` without an option: `-v` would set a variable."""
    words = command.words[:2]
    return [word.text for word in words[:1]] == ["printf"] and not (words[-1].text or "-").startswith("-")
