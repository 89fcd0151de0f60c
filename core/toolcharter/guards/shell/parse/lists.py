"""Parses lists and pipelines, the outermost constructs of a line.

Source: POSIX.1-2024, shell command language, 2.9.2, 2.9.3 and 2.10; bash(1), "SHELL GRAMMAR".
"""

from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.nodes import NotUnderstood, Script
from toolcharter.guards.shell.parse.commands import read_simple
from toolcharter.guards.shell.parse.compounds import is_compound, read_compound, read_function
from toolcharter.guards.shell.parse.cwd import Flow, merge_folders
from toolcharter.guards.shell.parse.notes import Notes
from toolcharter.guards.shell.parse.parameters import JOB
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.source import read_source
from toolcharter.guards.shell.parse.words import read_words
from toolcharter.guards.shell.setters import may_set_variables
from toolcharter.guards.shell.variable_values import SetVariables

if TYPE_CHECKING:
    from toolcharter.guards.shell import tracked_variables
    from toolcharter.guards.shell.parse import functions, line_rewrites
else:
    line_rewrites = lazy("toolcharter.guards.shell.parse.line_rewrites")
    functions = lazy("toolcharter.guards.shell.parse.functions")
    tracked_variables = lazy("toolcharter.guards.shell.tracked_variables")

_CLOSING = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_MISPLACED = _CLOSING | {"!", "time", "coproc", "in", "]]"}
_PREFIXES = frozenset({"!", "time"})


def read_line(
    source: str,
    workspace: str = "",
    *,
    is_posix: bool = False,
    enters: int = 0,
    is_line: bool = False,
    lists: bool = False,
) -> Script:
    """Parse *source* with the whole grammar; the arguments are those of `script.parse`.

    Raises:
        NotUnderstood: The source is not understood, or tree-sitter-bash sees something else in it.
    """
    scanner = Scanner(source, workspace, read_list, is_posix=is_posix, enters=enters)
    scanner.is_line = is_line and not is_posix
    scanner.lists = lists and scanner.is_line
    script = read_source(scanner)
    if scanner.functions and scanner.is_line:
        scanner, script = _inline_functions(scanner, script) or (scanner, script)
    if scanner.lists and not scanner.functions and line_rewrites.MAY_REWRITE.search(scanner.source):
        return _rewrite_input_loops(scanner, script) or script
    return script


def _rewrite_input_loops(scanner: Scanner, script: Script) -> Script | None:
    """Rewrite loops with `< <(...)` in the line that *scanner* has read as *script*, and parse it again; None if it has none."""
    try:
        if scanner.notes is None:
            scanner = _new_scanner(scanner, scanner.source)
            read_source(scanner)
        source = line_rewrites.rewrite_line(scanner)
        if source is None:
            return None
        found = read_source(_new_scanner(scanner, source))
    except NotUnderstood:
        return None
    written = (*script.written, *(one.form for one in script.commands if one.words))
    return found._replace(written=tuple(dict.fromkeys(written)))


def _new_scanner(scanner: Scanner, source: str) -> Scanner:
    """A new scanner for *source* with the settings of *scanner*, which also takes notes."""
    following = Scanner(source, scanner.workspace, read_list, enters=scanner.enters)
    following.is_line, following.lists = scanner.is_line, scanner.lists
    following.notes = Notes()
    return following


def _inline_functions(scanner: Scanner, script: Script) -> tuple[Scanner, Script] | None:
    """Inline the calls of functions in the line that *scanner* has read as *script*; None if the result is not certain."""
    first, names = (
        scanner.statement_at if scanner.notes is None else scanner.notes.definitions[0].start,
        {*scanner.functions},
    )
    called: frozenset[str] = frozenset()
    for _ in range(functions.MAX_STEPS):
        step = functions.inline_step(scanner, called)
        if step is None:
            return None
        following, called = _new_scanner(scanner, step.source), step.called
        try:
            found = read_source(following)
        except NotUnderstood:
            return None
        if not functions.match_expected(step.programs, following, first):
            return None
        if step.is_last:
            checked = _check_inlined(found, names, script)
            return None if checked is None else (following, checked)
        scanner = following
    return None


def _check_inlined(found: Script, names: set[str], script: Script) -> Script | None:
    """*found*, with the commands of *script* as written; None if a command may use functions or has one of their *names*."""
    programs = {one.words[0].text for one in found.commands if one.words}
    if not programs.isdisjoint(names) or not functions.leave_functions_alone(found.commands, frozenset(names)):
        return None
    return found._replace(written=tuple(dict.fromkeys(one.form for one in script.commands if one.words)))


def read_list(scanner: Scanner, ends: frozenset[str]) -> Flow:
    """Read a list of commands up to one of the words *ends*, a `)`, a `;;` or the end of the source."""
    flow = Flow(scanner.cwd, scanner.cwd)
    scanner.skip_newlines()
    while not _is_end(scanner, ends):
        start, before, moved, names = len(scanner.commands), scanner.cwd, scanner.cd_count, scanner.set_names
        scanner.statement_at = scanner.at
        flow = _read_and_or(scanner)
        scanner.skip_blanks()
        if scanner.source.startswith("&", scanner.at):
            scanner.at += 1
            _read_background(scanner, start)
            scanner.set_names = names | {JOB}
            scanner.cwd, scanner.cd_count, flow = before, moved, Flow(before, before)
        else:
            scanner.cwd = merge_folders(flow.success, flow.failure)
            if not _take_separator(scanner):
                break
        scanner.skip_newlines()
    return flow


def _is_end(scanner: Scanner, ends: frozenset[str]) -> bool:
    if scanner.at >= len(scanner.source) or scanner.source.startswith((")", ";;", ";&"), scanner.at):
        return True
    word = scanner.next_bare()
    if word in _CLOSING and word not in ends:
        raise scanner.fail(f"A {word!r} closes nothing.")
    return word in ends


def _read_background(scanner: Scanner, start: int) -> None:
    level = len(scanner.within)
    for position in range(start, len(scanner.commands)):
        command = scanner.commands[position]
        within = (*command.within[:level], "background", *command.within[level:])
        scanner.commands[position] = command._replace(within=within)


def _take_separator(scanner: Scanner) -> bool:
    scanner.skip_comment()
    if scanner.source.startswith((";;", ";&"), scanner.at):
        return False
    return scanner.take(";") or scanner.source.startswith("\n", scanner.at)


def _read_and_or(scanner: Scanner) -> Flow:
    flow = _read_pipeline(scanner)
    success, failure = scanner.set_by_last
    while True:
        if scanner.take("&&"):
            scanner.skip_newlines()
            scanner.cwd, scanner.set_names = flow.success, success
            following = _read_pipeline(scanner)
            flow = Flow(following.success, merge_folders(flow.failure, following.failure))
            success, failure = scanner.set_by_last.success, failure & scanner.set_by_last.failure
        elif scanner.take("||"):
            scanner.skip_newlines()
            scanner.cwd, scanner.set_names = flow.failure, failure
            following = _read_pipeline(scanner)
            flow = Flow(merge_folders(flow.success, following.success), following.failure)
            success, failure = success & scanner.set_by_last.success, scanner.set_by_last.failure
        else:
            scanner.set_by_last = SetVariables(success, failure)
            scanner.set_names = success & failure
            return flow


def _read_pipeline(scanner: Scanner) -> Flow:
    negated = scanner.next_bare() in _PREFIXES and _read_prefixes(scanner)
    outer, start, before, moved = scanner.stdin_from, len(scanner.commands), scanner.cwd, scanner.cd_count
    names, at = scanner.set_names, scanner.at
    flow = _read_command(scanner)
    gained = _record_variables(scanner, at, start)
    while scanner.source.startswith("|", scanner.at) and not scanner.source.startswith("||", scanner.at):
        if scanner.source.startswith("|&", scanner.at):
            scanner.bash_only("A pipe with '|&'")
            scanner.at += 1
        scanner.at += 1
        scanner.skip_newlines()
        scanner.cwd, scanner.set_names = before, names
        scanner.stdin_from = (*outer, *range(start, len(scanner.commands)))
        at, last = scanner.at, len(scanner.commands)
        _read_command(scanner)
        _record_variables(scanner, at, last)
        flow, scanner.cd_count, scanner.set_names, gained = (
            Flow(before, before),
            moved,
            names,
            SetVariables(names, names),
        )
    scanner.stdin_from = outer
    scanner.set_by_last = SetVariables(gained.failure, gained.success) if negated else gained
    return Flow(flow.failure, flow.success) if negated else flow


def _record_variables(scanner: Scanner, at: int, start: int) -> SetVariables:
    """Record the variables that the command just read sets; it begins at *at*, and its commands at position *start*."""
    if not scanner.is_line or len(scanner.commands) <= start or not may_set_variables(scanner.commands[-1]):
        return SetVariables(scanner.set_names, scanner.set_names)
    return tracked_variables.record_variables(scanner, at)


def _read_prefixes(scanner: Scanner) -> bool:
    """Read `time` and `!`; whether the status is negated."""
    _skip_time(scanner)
    return _read_negation(scanner)


def _skip_time(scanner: Scanner) -> None:
    """Skip `time`, which only measures the command behind it."""
    if scanner.next_bare() != "time":
        return
    start = scanner.at
    scanner.at += len("time")
    scanner.program_spans.add((start, scanner.at))
    scanner.record_span(start)
    scanner.time_spans = [(start, scanner.at)]
    scanner.is_timed = True
    scanner.skip_blanks()
    if scanner.next_bare() == "-p":
        at = scanner.at
        read_words(scanner)
        scanner.time_spans.append((at, scanner.at))
        scanner.skip_blanks()
    if scanner.source.startswith("-", scanner.at):
        raise scanner.fail("An option of 'time' is not understood.")


def _read_negation(scanner: Scanner) -> bool:
    if scanner.next_bare() != "!":
        return False
    if scanner.is_timed:
        raise scanner.fail("A timed pipeline is negated.")
    scanner.at += 1
    scanner.skip_blanks()
    return True


def _read_command(scanner: Scanner) -> Flow:
    if is_compound(scanner):
        return read_compound(scanner)
    if (word := scanner.next_bare()) in _MISPLACED:
        raise scanner.fail(f"A {word!r} is not understood where it stands.")
    return read_function(scanner) or read_simple(scanner)
