"""Inlines the calls of a line's own functions: `f() { wc -l "$1"; }; f a; f b` becomes `{ wc -l "a"; }; { wc -l "b"; }`.

The result is an equivalent line, which is parsed like any other. If a step is not certain, the line is judged by the commands
in its functions instead. Local variables get unique names.
Source: bash(1), "FUNCTIONS", "PARAMETERS"; `local` and `return` in "SHELL BUILTIN COMMANDS".
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from toolcharter.guards.shell.effects import sets_only_named_variables
from toolcharter.guards.shell.nodes import Command
from toolcharter.guards.shell.parse.calls import FunctionCall, UncertainError, apply_edits
from toolcharter.guards.shell.parse.notes import Notes, Use
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.programs.tables import CORE_TABLES

MAX_STEPS: Final = 6
"""The most steps, each of which inlines the calls of one level; the last one removes the definitions."""
_MAX_CHARS: Final = 10_000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Builtins that read functions or parameters, or run text that may. Those that set options are checked word by word.
_LOOKERS: Final = frozenset(
    """eval source . trap alias unalias enable builtin unset typeset declare coproc caller shift getopts exec hash bind
    complete compgen compopt logout suspend select history fc jobs disown fg bg readonly""".split()
)
_SETTERS: Final = frozenset({"set", "shopt", "mapfile", "readarray", "wait", "read"})
"""Builtins that may do so with some arguments."""
# No function may have such a name: it has a meaning of its own to bash or to the guard, or bash calls it by itself.
_TAKEN: Final = (
    _LOOKERS
    | _SETTERS
    | frozenset(
        """: [ break builtin cd command command_not_found_handle continue dirs echo env exit export false find git help kill
    let local popd printf pushd pwd return sh bash dash zsh test time times true type ulimit umask xargs""".split()
    )
)
_STRANGE: Final = re.compile(r"`|(?<!<)<<(?!<)|FUNCNAME|BASH_|\bIFS\b|\$\{?_\b|\$\{?!")


class Step(NamedTuple):
    """A line in which some calls are inlined."""

    source: str
    programs: tuple[str | None, ...]
    """The programs that have to run in it, in order; None for an unknown one."""
    called: frozenset[str]
    """The functions whose calls were inlined, in all steps."""
    is_last: bool
    """Whether the line defines no function."""


def inline_step(scanner: Scanner, called: frozenset[str]) -> Step | None:
    """Inline the calls outside of functions in the line that *scanner* has read; None if the result is not certain.

    Args:
        scanner: The scanner, which has read a whole line.
        called: The functions whose calls were inlined in earlier steps.
    """
    notes = scanner.notes
    if notes is None or not _is_plain(scanner, notes):
        return None
    try:
        return _make_step(scanner.source, notes, called)
    except UncertainError:
        return None


def match_expected(programs: Sequence[str | None], scanner: Scanner, first: int) -> bool:
    """Whether *scanner*, which has read the line of a step, has found exactly *programs* from the position *first* on."""
    found = (
        [use.program for use in _uses_outside_functions(scanner.notes) if use.start >= first]
        if scanner.notes is not None
        else []
    )
    return len(found) == len(programs) and all(one in {None, other} for one, other in zip(programs, found, strict=True))


def leave_functions_alone(commands: Sequence[Command], names: frozenset[str]) -> bool:
    """Whether none of *commands* runs, changes or reads a function in any way other than a call."""
    return all(_leaves_alone(one, names) for one in commands)


def _leaves_alone(command: Command, names: frozenset[str]) -> bool:
    program = command.words[0].text if command.words else ""
    if program in {"declare", "typeset"} and [word.text for word in command.words[1:2]] in (["-a"], ["-A"]):
        return sets_only_named_variables(command)
    if program in _LOOKERS:
        return False
    if program == "command":
        # `command -v f` only looks up `f`, and runs nothing.
        return [word.text for word in command.words[1:2]] in (["-v"], ["-V"]) and not command.words[3:]
    if program == "export" and any((word.text or "-").startswith("-") for word in command.words[1:]):
        return False
    if program in _SETTERS:
        return sets_only_named_variables(command)
    return program not in names or not command.assignments


def _is_plain(scanner: Scanner, notes: Notes) -> bool:
    names = [one.name for one in notes.definitions]
    if notes.is_odd or len(set(names)) < len(names) or _STRANGE.search(scanner.source):
        return False
    if not all(one.is_plain and _is_free(one.name) for one in notes.definitions):
        return False
    if not all(re.match(r"[ \t]*(?:;(?!;)|\n|#|\Z)", scanner.source[one.end :]) for one in notes.definitions):
        return False
    return leave_functions_alone(scanner.commands, frozenset(names))


def _is_free(name: str) -> bool:
    """Whether a function may have this *name*: no known program and no builtin has it, so that a call is unambiguous."""
    return _NAME.fullmatch(name) is not None and name not in _TAKEN and CORE_TABLES.find(name) is None


def _uses_outside_functions(notes: Notes) -> Iterator[Use]:
    """The commands outside of functions."""
    first = notes.definitions[0].start if notes.definitions else 0
    for use in notes.uses:
        if use.start >= first and not any(one.start <= use.start < one.end for one in notes.definitions):
            yield use


def _make_step(source: str, notes: Notes, called: frozenset[str]) -> Step:
    definitions = {one.name: one for one in notes.definitions}
    programs: list[str | None] = []
    edits: list[tuple[int, int, str]] = []
    for use in _uses_outside_functions(notes):
        definition = definitions.get(use.program or "")
        if definition is None:
            programs.append(use.program)
            continue
        if definition.end > use.start:
            raise UncertainError
        inlined = FunctionCall(source, notes, definition, use, len(edits))
        edits.append((use.start, use.end, inlined.text()))
        programs += inlined.programs()
        called |= {definition.name}
    if edits:
        text = apply_edits(source, 0, len(source), edits)
        if len(text) > _MAX_CHARS:
            raise UncertainError
        return Step(text, tuple(programs), called, is_last=False)
    if called != definitions.keys():
        raise UncertainError
    gone = [(one.start, _skip_semicolon(source, one.end), "") for one in notes.definitions]
    return Step(apply_edits(source, 0, len(source), gone), tuple(programs), called, is_last=True)


def _skip_semicolon(source: str, at: int) -> int:
    """The position behind the semicolon that ends a definition; *at* if there is none."""
    found = re.compile(r"[ \t]*;").match(source, at)
    return at if found is None else found.end()
