"""Parses compound commands: groups, subshells and functions; `conditionals` and `loops` parse the others.

Source: POSIX.1-2024, shell command language, 2.9.4 and 2.9.5; bash(1), "Compound Commands".
"""

import re

from toolcharter.guards.shell.parse.commands import add_command, add_stdin
from toolcharter.guards.shell.parse.conditionals import read_branches, read_case, read_if, read_test
from toolcharter.guards.shell.parse.cwd import Flow
from toolcharter.guards.shell.parse.expansions import read_arithmetic
from toolcharter.guards.shell.parse.loops import read_for, read_select, read_while
from toolcharter.guards.shell.parse.notes import Definition, Loop, Notes
from toolcharter.guards.shell.parse.redirections import read_redirections
from toolcharter.guards.shell.parse.scanner import Scanner

_NAME = r"[^ \t\n|&;()<>'\"\\$`={}\[\]!*?~]+"
_FUNCTION = re.compile(rf"({_NAME})[ \t]*\([ \t]*\)")
_FUNCTION_WORD = re.compile(rf"[ \t]+({_NAME})(?:[ \t]*\([ \t]*\))?")
_BODIES = frozenset({"{", "if", "while", "until", "for", "case"})
_OF_BASH = frozenset({"select", "function", "[["})


def is_compound(scanner: Scanner) -> bool:
    """Whether a compound command comes next."""
    return scanner.next_bare() in _READERS or scanner.source.startswith("(", scanner.at)


def read_compound(scanner: Scanner) -> Flow:
    """Read a compound command, and the redirections behind it."""
    if scanner.is_timed:
        scanner.bash_only("'time' before a compound command")
        _hide_time(scanner)
    start, at, is_statement = len(scanner.commands), scanner.at, scanner.statement_at == scanner.at
    with scanner.nested():
        flow = _read_construct(scanner)
    closed = scanner.at
    _read_group_redirections(scanner, start)
    if scanner.notes is not None:
        scanner.notes.closed, scanner.notes.end = closed, scanner.at
        scanner.notes.loops.append(Loop(at, closed, scanner.at, is_statement))
    scanner.skip_comment()
    if not scanner.is_word_end() or scanner.source.startswith("(", scanner.at):
        raise scanner.fail("Something follows a compound command.")
    return flow


def _read_construct(scanner: Scanner) -> Flow:
    if scanner.next_bare() in _OF_BASH or scanner.source.startswith("((", scanner.at):
        scanner.bash_only("This compound command")
    if scanner.take("(("):
        found = read_arithmetic(scanner)
        if found is not None:
            scanner.set_names |= found.certain
        return Flow(scanner.cwd, scanner.cwd)
    if scanner.take("("):
        return _read_subshell(scanner)
    word = scanner.next_bare()
    scanner.at += len(word)
    return _READERS[word](scanner)


def _hide_time(scanner: Scanner) -> None:
    """Remove the spans that `lists` recorded for a `time` before a compound command: tree-sitter-bash does not parse it."""
    scanner.is_timed = False
    scanner.program_spans.difference_update(scanner.time_spans)
    scanner.word_spans.difference_update(scanner.time_spans)
    scanner.hidden_spans += scanner.time_spans


def _read_group_redirections(scanner: Scanner, start: int) -> None:
    """Read the redirections of a compound command whose commands begin at *start*; they become a command without words."""
    at, end = scanner.at, len(scanner.commands)
    with scanner.collecting():
        if redirections := read_redirections(scanner):
            for position in range(start, end):
                add_stdin(scanner, position, scanner.process_substitutions.inputs)
            add_command(scanner, at, (), (), redirections)


def _read_subshell(scanner: Scanner) -> Flow:
    before = scanner.cwd
    with scanner.subprocess_scope("subshell"):
        scanner.read_list(frozenset())
    scanner.expect(")")
    return Flow(before, before)


def _read_group(scanner: Scanner) -> Flow:
    flow = scanner.read_list(frozenset({"}"}))
    scanner.expect_word("}")
    return flow


def read_function(scanner: Scanner) -> Flow | None:
    """Read the function `name() ...`, if one comes next."""
    found = _FUNCTION.match(scanner.source, scanner.at)
    if found is None:
        return None
    start, scanner.at = scanner.at, found.end()
    return _read_function_body(scanner, found.group(1), start, 0)


def _read_function_keyword(scanner: Scanner) -> Flow:
    found = _FUNCTION_WORD.match(scanner.source, scanner.at)
    if found is None:
        raise scanner.fail("The name of a function is not understood.")
    start, scanner.at = scanner.at - len("function"), found.end()
    return _read_function_body(scanner, found.group(1), start, 1)


def _read_function_body(scanner: Scanner, name: str, start: int, depth: int) -> Flow:
    is_plain = (scanner.statement_at, scanner.depth, scanner.branches) == (start, depth, 0) and not scanner.within
    scanner.functions += [name]
    notes = scanner.notes = scanner.notes or Notes()
    scanner.skip_newlines()
    body = scanner.at
    if scanner.next_bare() not in _BODIES and not scanner.source.startswith("(", scanner.at):
        raise scanner.fail("The body of a function is not understood.")
    before, moved, scanner.cwd = scanner.cwd, scanner.cd_count, ()
    names = scanner.set_names
    if any(one.startswith("function ") for one in scanner.within):
        # It may run after the enclosing function has ended, when the local arrays of that function are gone.
        scanner.set_names = frozenset(one for one in names if "[" not in one)
    with scanner.nested():
        read_branches(scanner, read_compound, f"function {name}")
        inside = scanner.depth + 1
    scanner.set_names = names
    notes.definitions.append(Definition(name, start, body, notes.closed, notes.end, inside, is_plain))
    here = before if scanner.cd_count == moved else ()
    return Flow(here, here)


_READERS = {
    "{": _read_group,
    "if": read_if,
    "while": read_while,
    "until": read_while,
    "for": read_for,
    "select": read_select,
    "case": read_case,
    "function": _read_function_keyword,
    "[[": read_test,
}
"""For each word that begins a compound command, the function that reads the rest."""
