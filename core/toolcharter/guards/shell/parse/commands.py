"""Parses simple commands, and collects the commands in their substitutions.

Source: POSIX.1-2024, shell command language, 2.9.1; bash(1), "SIMPLE COMMAND EXPANSION".
"""

import re
from collections.abc import Sequence
from posixpath import join, normpath
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.nodes import TOP_OF_REPOSITORY, Assignment, Command, Redirection, Word
from toolcharter.guards.shell.parse.cwd import Flow, folders_after, is_cd_to, may_change_folder, merge_folders
from toolcharter.guards.shell.parse.notes import Notes, Use
from toolcharter.guards.shell.parse.redirections import read_redirection
from toolcharter.guards.shell.parse.scanner import ProcessSubstitutions, Scanner, Span
from toolcharter.guards.shell.parse.word_parts import is_glob, literal
from toolcharter.guards.shell.parse.words import read_assignment, read_declared, read_words

if TYPE_CHECKING:
    from toolcharter.guards.shell import tracked_variables
    from toolcharter.guards.shell.parse import subscripts
else:
    subscripts = lazy("toolcharter.guards.shell.parse.subscripts")
    tracked_variables = lazy("toolcharter.guards.shell.tracked_variables")

# A whole command of plain words, up to the operator that ends it.
_PLAIN = re.compile(
    r"[A-Za-z0-9_@%+:,./-]+(?:[ \t]+[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*)*[ \t]*(?=[;|\n)]|&(?!>)|\Z)"
)
# Without quotes, bash makes the same word of them.
_ONE_WORD = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_PLAIN_WORD = re.compile(r"[^ \t]+")
_PROGRAM = re.compile(r"[!-~]+")
# Text in a line that may change the target or the meaning of `cd -`.
_ELSEWHERE = re.compile(
    r"OLDPWD|CDPATH|(?<![\w-])(?:printf[ \t]+-|eval|source|alias|enable|builtin|command|declare|typeset|read|mapfile|readarray|getopts|unset|trap)(?![\w-])"
)
_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=\(", re.ASCII)
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})


def read_simple(scanner: Scanner) -> Flow:
    """Read a simple command."""
    if not scanner.is_timed and (found := _PLAIN.match(scanner.source, scanner.at)):
        return _read_plain_command(scanner, found.group())
    outer, scanner.process_substitutions = scanner.process_substitutions, ProcessSubstitutions([], [])
    substitutes, scanner.substitutes = scanner.substitutes, []
    flow = _read_simple_command(scanner)
    scanner.process_substitutions, scanner.substitutes = outer, substitutes
    return flow


def _read_plain_command(scanner: Scanner, text: str) -> Flow:
    """Read a simple command of plain words, *text*: the same as `_read_simple_command`, but faster."""
    start = scanner.at
    words: list[Word] = []
    for found in _PLAIN_WORD.finditer(text):
        scanner.at = start + found.end()
        scanner.record_span(start + found.start())
        word = found.group()
        words.append(Word(word, word, None, word))
    if scanner.notes is not None:
        spans = [(start + one.start(), start + one.end()) for one in _PLAIN_WORD.finditer(text)]
        _note_use(
            scanner, scanner.notes, (start, scanner.at), words, spans, bare=True, first=scanner.statement_at == start
        )
    scanner.program_spans.add((start, start + len(words[0].form)))
    scanner.at = start + len(text)
    if words[0].form in _DECLARING:
        _declare(scanner, words[1:])
    scanner.emit(Command(tuple(words), (), (), scanner.stdin_from, (), scanner.cwd, scanner.within, start))
    return _apply_cd(scanner, words)


def _read_simple_command(scanner: Scanner) -> Flow:
    start = end = scanner.at
    is_first = scanner.statement_at == start
    timed, scanner.is_timed = scanner.is_timed, False
    assignments: list[Assignment] = []
    redirections: list[Redirection] = []
    words: list[Word] = []
    spans: list[Span] = []
    while not _is_command_end(scanner):
        if (redirection := read_redirection(scanner)) is not None:
            redirections.append(redirection)
        elif not spans and (assignment := read_assignment(scanner)) is not None:
            assignments.append(assignment)
        else:
            at = scanner.at
            if words and words[0].text in _DECLARING and _ARRAY.match(scanner.source, at):
                word = read_declared(scanner, words)
                if word is None:
                    raise scanner.fail("An array is declared in a way that is not understood.")
                words.append(word)
                spans.append((at, scanner.at))
                end = scanner.at
                scanner.skip_blanks()
                continue
            scanner.names_program, scanner.takes_names = not spans, scanner.lists and bool(spans)
            words += read_words(scanner)
            scanner.names_program = scanner.takes_names = False
            spans.append((at, scanner.at))
        end = scanner.at
        scanner.skip_blanks()
    if scanner.at == start or (timed and not spans):
        raise scanner.fail("A command is missing.")
    if spans:
        _check_program(scanner, words, spans, timed=timed)
        if scanner.notes is not None:
            _note_use(scanner, scanner.notes, (start, end), words, spans, bare=not assignments, first=is_first)
    elif scanner.notes is not None and is_first and not (scanner.depth or scanner.branches):
        scanner.notes.statements.add(start)
    add_command(scanner, start, tuple(words), tuple(assignments), tuple(redirections))
    return _apply_cd(scanner, words)


def _note_use(
    scanner: Scanner,
    notes: Notes,
    place: Span,
    words: Sequence[Word],
    spans: Sequence[Span],
    *,
    bare: bool,
    first: bool,
) -> None:
    """Note a simple command, in a line whose functions may be inlined."""
    if words:
        within, depth, branches = scanner.within, scanner.depth, scanner.branches
        notes.uses.append(Use(*place, tuple(words), tuple(spans), bare, within, depth, branches, first))


def _is_command_end(scanner: Scanner) -> bool:
    if scanner.at >= len(scanner.source):
        return True
    character = scanner.source[scanner.at]
    if character == "#":
        scanner.skip_comment()
        return True
    if character == "&":
        return not scanner.source.startswith("&>", scanner.at)
    return character in ";|\n)"


def _check_program(scanner: Scanner, words: list[Word], spans: Sequence[Span], *, timed: bool) -> None:
    if not timed:
        scanner.program_spans.add(spans[0])
    if not words:
        scanner.unresolved_program = scanner.unresolved_program or "The name of a program expands to nothing."
        return
    program = words[0].text
    if not program:
        scanner.unresolved_program = (
            scanner.unresolved_program or f"{words[0].form} is no literal, so that what runs is unknown."
        )
    elif not _PROGRAM.fullmatch(program):
        raise scanner.fail(f"{words[0].form} is no name of a program.")
    elif program == "[[":  # with a quote, or made by an expansion: bash looks for a program of this name
        raise scanner.fail("'[[' is quoted, so that it begins no test.")
    elif program == "[" and spans[0][1] - spans[0][0] == 1:
        _record_test_span(scanner, spans)
    elif program in _DECLARING:
        _declare(scanner, words[1:])
    elif program == "unset":
        words[1:] = [
            subscripts.mark_checked_name(scanner, word) if "[" in (word.text or "") else word for word in words[1:]
        ]


def _record_test_span(scanner: Scanner, spans: Sequence[Span]) -> None:
    """Record a `[ ... ]` as one span, as tree-sitter-bash sees it."""
    scanner.word_spans.difference_update(spans)
    scanner.program_spans.discard(spans[0])
    scanner.test_spans.add((spans[0][0], spans[-1][1]))


def _declare(scanner: Scanner, words: Sequence[Word]) -> None:
    for word in words:
        name, equals, value = (word.text or "").partition("=")
        if equals:
            scanner.learn(name.removesuffix("+"), Word(value, value), adds=name.endswith("+"))


def add_command(
    scanner: Scanner,
    at: int,
    words: tuple[Word, ...],
    assignments: tuple[Assignment, ...] = (),
    redirections: tuple[Redirection, ...] = (),
) -> None:
    """Append a command, with the commands in substitutions that were collected for it."""
    substitutes = tuple(scanner.substitutes)
    stdin_from = (*scanner.stdin_from, *scanner.process_substitutions.inputs)
    if substitutes and any(one.operator.startswith("<<") and one.text is None for one in redirections):
        stdin_from += substitutes
    command = Command(
        words, assignments, redirections, _unique(stdin_from), substitutes, scanner.cwd, scanner.within, at
    )
    position = scanner.emit(command)
    for fed in scanner.process_substitutions.outputs:
        add_stdin(scanner, fed, (position,))


def add_stdin(scanner: Scanner, position: int, stdin_from: Sequence[int]) -> None:
    """Record that the command at *position* may read the output of the commands *stdin_from*."""
    command = scanner.commands[position]
    scanner.commands[position] = command._replace(stdin_from=_unique((*command.stdin_from, *stdin_from)))


def _apply_cd(scanner: Scanner, words: Sequence[Word]) -> Flow:
    here = scanner.cwd
    if not may_change_folder(words):
        return Flow(here, here)
    scanner.cd_count += 1
    words = [word.placed for word in words]
    if (scanner.branches and not _enters_each_time(scanner, words)) or "CDPATH" in scanner.values:
        scanner.cwd = ()
        return Flow((), ())
    if [word.form for word in words] == ["cd", "-"]:
        return _resolve_cd_dash(scanner)
    _record_oldpwd(scanner)
    if is_cd_to(words) and words[0].text == "cd" and _is_repository_top(scanner, words[1]):
        return Flow(merge_folders((".",), here), here)
    first, *others = _words_per_turn(scanner, words)
    moved = folders_after(first, here, scanner.workspace)
    for turn in others:
        moved = merge_folders(moved, folders_after(turn, here, scanner.workspace))
    if scanner.commands[-1].at < scanner.enters:
        return Flow(moved, moved)
    return Flow(moved, here if words[0].text == "cd" or is_cd_to(words) else ())


def _enters_each_time(scanner: Scanner, words: Sequence[Word]) -> bool:
    """Whether *words* are a `cd` that runs and succeeds in each turn: loops over words enclose it, and no condition does."""
    is_certain = scanner.word_loops == scanner.branches and scanner.commands[-1].at < scanner.enters
    return is_certain and is_cd_to(words) and words[0].text == "cd" and words[1].form != "-"


def _record_oldpwd(scanner: Scanner) -> None:
    """Record the folders that `OLDPWD` may be after the `cd` just read, which may have failed."""
    is_first = scanner.cd_count == 1 and scanner.is_line
    known = scanner.old_cwd if scanner.old_cwd_count == scanner.cd_count - 1 else ()
    is_plain = scanner.commands[-1].words[0].text == "cd" and _ELSEWHERE.search(scanner.source) is None
    scanner.old_cwd = () if not is_plain else scanner.cwd if is_first else merge_folders(known, scanner.cwd)
    scanner.old_cwd_count = scanner.cd_count


def _resolve_cd_dash(scanner: Scanner) -> Flow:
    """Resolve `cd -`, if it can lead to only one folder: replace the dash by the path of that folder."""
    here, command = scanner.cwd, scanner.commands[-1]
    left = scanner.old_cwd if scanner.old_cwd_count == scanner.cd_count - 1 and here else ()
    if len(left) != 1 or not scanner.workspace:
        scanner.cwd = ()
        return Flow((), ())
    path = normpath(join(scanner.workspace, left[0]))
    dash = command.words[1]._replace(text=path, prefix=path)
    scanner.commands[-1] = command._replace(words=(command.words[0], dash))
    scanner.old_cwd, scanner.old_cwd_count = merge_folders(left, here), scanner.cd_count
    return Flow(left, left if command.at < scanner.enters else here)


def _is_repository_top(scanner: Scanner, word: Word) -> bool:
    """Whether *word* is the top of the repository or empty, as a substitution or as a variable."""
    return TOP_OF_REPOSITORY.fullmatch(word.form) is not None or (
        bool(word.parts) and tracked_variables.is_repository_top(scanner, word)
    )


def _words_per_turn(scanner: Scanner, words: Sequence[Word]) -> list[Sequence[Word]]:
    """*words* once for each value of a loop's variable, if the last word holds that variable and no other; else only *words*."""
    names = {part.name for part in words[-1].parts if part.name}
    name = names.pop() if len(names) == 1 else ""
    values = scanner.loops.get(name, ())
    if not values or not all(map(_ONE_WORD.fullmatch, values)) or any(map(is_glob, words[-1].parts)):
        return [words]
    scanner.loop_cd_names.add(name)
    parts = words[-1].parts
    texts = ("".join(value if part.name else part.text for part in parts) for value in values)
    return [(*words[:-1], literal(text)) for text in texts]


def _unique(positions: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(positions)) if positions else ()
