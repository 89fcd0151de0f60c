"""Parses whole sources: a line, the commands of `$(...)`, `<(...)` and `>(...)`, and texts between backticks.

Source: POSIX.1-2024, shell command language, 2.6.3; bash(1), "Command Substitution" and "Process Substitution".
"""

import re

from toolcharter.guards.shell.effects import sets_only_named_variables
from toolcharter.guards.shell.nodes import MAX_COMMANDS, REPOSITORY_TOP, Command, NotUnderstood, Script
from toolcharter.guards.shell.parse.crosscheck import check
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.variable_values import are_numbers, certain_values, substitute_known_values

# Source: date(1) of coreutils 9.1.
_DATE = re.compile(r"(?:-u )?\+%[YmdHMSsjF](?:[-_.T:]?%[YmdHMSsjFT])*Z?")
_EVALUATING = frozenset({"eval", "source", ".", "trap"})


def read_source(scanner: Scanner) -> Script:
    """Parse the whole source, and check the result against tree-sitter-bash.

    Raises:
        NotUnderstood: The source is not understood, or the two parsers differ.
    """
    scanner.read_list(frozenset())
    if scanner.at < len(scanner.source) or scanner.body is not None:
        raise scanner.fail("The command line is not understood.")
    check(scanner)
    _check_functions(scanner)
    if scanner.arrays.pending:
        scanner.mark_unsupported("An array is assigned.")
    if scanner.arrays.is_used and (scanner.functions or not all(map(sets_only_named_variables, scanner.commands))):
        raise NotUnderstood("It cannot be determined what an array holds where it is used: write its words out.")
    if not scanner.arrays.loose.isdisjoint(scanner.arrays.looped):
        raise NotUnderstood("A loop may declare an indexed array as an associative one, which fails.")
    _substitute_values(scanner)
    if scanner.is_posix and any(map(_may_alias, scanner.commands)):
        raise NotUnderstood("Other shells than bash look at aliases in scripts, too.")
    return Script(
        tuple(scanner.commands),
        scanner.unsupported,
        scanner.unresolved_program,
        tuple(scanner.functions),
        tuple(scanner.reaches),
        scanner.listings,
    )


def _substitute_values(scanner: Scanner) -> None:
    """Replace variables by their certain values in the words that use them."""
    if not (scanner.set_values or scanner.numeric_names):
        return
    is_told = not (scanner.functions or scanner.unsupported or _changes_ifs(scanner))
    certain = certain_values(scanner.commands, scanner.set_values) if is_told else {}
    if scanner.listings is not None and not is_told:
        scanner.mark_unsupported("A loop runs over names that cannot be determined.")
    if not all(name in certain and certain[name].text is not None for name in scanner.relied_on):
        scanner.mark_unsupported("A loop runs over what variables hold, and that cannot be determined.")
    if any(certain.get(name) != value for name, value in scanner.fixed_values.items()):
        scanner.mark_unsupported("What names a variable holds cannot be determined.")
    if not all(name in certain and certain[name].named_by == REPOSITORY_TOP for name in scanner.assumed_tops):
        scanner.mark_unsupported("It goes to what a variable holds, and that cannot be determined.")
    if not are_numbers(scanner.numeric_names, certain):
        scanner.mark_unsupported("An arithmetic expression holds more than numbers.")
    compared = scanner.compared_names | scanner.numeric_names
    scanner.commands[:] = substitute_known_values(scanner.commands, scanner.set_values, certain, compared)


def _changes_ifs(scanner: Scanner) -> bool:
    """Whether bash may split words at characters other than blanks. `IFS=, read` affects only that `read`."""
    if "IFS" not in scanner.source:
        return False
    own = [one for one in scanner.commands if one.assignments and one.words and one.words[0].text == "read"]
    names = [assignment.name for one in own for assignment in one.assignments]
    return scanner.source.count("IFS") != names.count("IFS")


def read_nested(scanner: Scanner, text: str) -> Script:
    """Parse *text*, which runs at the current position, as a source of its own."""
    scanner.inner_sources += 1
    if scanner.inner_sources > MAX_COMMANDS:
        raise NotUnderstood(f"The command line has more than {MAX_COMMANDS} texts between backticks.")
    with scanner.nested():
        inner = Scanner(
            text,
            scanner.workspace,
            scanner.list_reader,
            scanner.depth,
            is_posix=scanner.is_posix,
            enters=scanner.enters if scanner.enters > len(scanner.source) else 0,
        )
        inner.cwd, inner.branches = scanner.cwd, scanner.branches
        inner.inner_sources = scanner.inner_sources
        inner.values, inner.patterns = dict(scanner.values), dict(scanner.patterns)
        script = read_source(inner)
    scanner.inner_sources = inner.inner_sources
    return script


def read_substitution(scanner: Scanner) -> range:
    """Read the commands of a substitution up to its closing `)`; return their positions."""
    start, body = len(scanner.commands), scanner.body
    timed, scanner.is_timed = scanner.is_timed, False
    with scanner.nested(), scanner.subprocess_scope("substitution"), scanner.collecting():
        scanner.read_list(frozenset())
    if scanner.body != body:
        raise scanner.fail("A here-document and a substitution overlap.")
    scanner.expect(")")
    scanner.is_timed = timed
    return range(start, len(scanner.commands))


def read_backtick_text(scanner: Scanner, text: str) -> range:
    """Read *text*, which was between backticks; return the positions of its commands."""
    start = len(scanner.commands)
    script = read_nested(scanner, text)
    for command in script.commands:
        moved = command._replace(
            stdin_from=(*scanner.stdin_from, *(start + one for one in command.stdin_from)),
            substitutes=tuple(start + one for one in command.substitutes),
            within=(*scanner.within, "substitution", *command.within),
            at=scanner.at,
        )
        scanner.emit(moved)
    scanner.functions += script.functions
    scanner.reaches += script.reaches
    scanner.unsupported = scanner.unsupported or script.unsupported
    scanner.unresolved_program = scanner.unresolved_program or script.unresolved_program
    return range(start, len(scanner.commands))


def _check_functions(scanner: Scanner) -> None:
    names = {command.program.text for command in scanner.commands if command.program is not None}
    if scanner.functions and names & {*scanner.functions, *_EVALUATING}:
        scanner.mark_unsupported("A function runs under the name of a program.")


def _may_alias(command: Command) -> bool:
    """Whether *command* may define an alias."""
    texts = [word.text for word in command.words]
    return texts[:1] == ["alias"] or (texts[:1] in (["command"], ["builtin"]) and ("alias" in texts or None in texts))


def prints_date(scanner: Scanner, positions: range) -> bool:
    """Whether the output of a substitution is a date or time in digits: one word that begins with a digit, without a slash."""
    texts = [word.text or "" for position in positions for word in scanner.commands[position].words]
    is_alone = len(positions) == 1 and not scanner.commands[positions.start].assignments
    is_plain = is_alone and texts[:1] == ["date"] and _DATE.fullmatch(" ".join(texts[1:])) is not None
    return is_plain and not scanner.functions and "IFS" not in scanner.source


def counts_processors(scanner: Scanner, positions: range) -> bool:
    """Whether a substitution is `nproc`, which always prints a number, and which no function of the line replaces."""
    texts = [word.text for position in positions for word in scanner.commands[position].words]
    return texts == ["nproc"] and not scanner.functions and "IFS" not in scanner.source
