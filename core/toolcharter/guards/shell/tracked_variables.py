"""Records, while a line is parsed, which variables its commands certainly set, and to which values."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from toolcharter._lazy import lazy
from toolcharter.guards.shell.assigned_values import assigned_value
from toolcharter.guards.shell.assignments import is_line_variable
from toolcharter.guards.shell.nodes import PROCESS_SUBSTITUTION, REPOSITORY_TOP, Command, Redirection, Word
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.word_parts import (
    ARGUMENT,
    SET_MARK,
    Piece,
    build_word,
    is_glob,
    literal,
    word_from_parts,
)
from toolcharter.guards.shell.path_checks import path_violation
from toolcharter.guards.shell.setters import DECLARING, sets_array, variables_set_by
from toolcharter.guards.shell.variable_values import EACH_ELEMENT, NUMBER_GLOB, SetVariables, Value

if TYPE_CHECKING:
    from toolcharter.guards.shell import array_elements, listing_loops, listings, name_listings, xargs_inputs
else:
    array_elements = lazy("toolcharter.guards.shell.array_elements")
    listing_loops = lazy("toolcharter.guards.shell.listing_loops")
    listings = lazy("toolcharter.guards.shell.listings")
    xargs_inputs = lazy("toolcharter.guards.shell.xargs_inputs")
    name_listings = lazy("toolcharter.guards.shell.name_listings")

_WHOLE: Final = frozenset({"docker", "kubectl"})
"""Programs for whose names a part of a name is not always a valid name."""
_BLANKS: Final = frozenset(" \t\n")
_GLOB_SIGNS: Final = frozenset("*?[")
_QUOTED_WHOLE: Final = re.compile(r'"[^"]*"')
_DIGITS: Final = re.compile(r"[0-9]{1,15}")
# Without quotes, bash makes the same word of them.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
# A word or a glob among blanks in a value: bash splits and expands it as if it were written in the line.
_ENTRY: Final = re.compile(r"[A-Za-z0-9_*?][A-Za-z0-9_@%+=:,./*?-]*")
_ONE_OUTPUT: Final = re.compile(r"\$\([^`]*\)", re.DOTALL)
_WORD: Final = r" [A-Za-z0-9_@%+=:,./{}~^-]+"
_PLAIN_PRINTERS: Final = tuple(
    re.compile(one)
    for one in (
        r"seq(?: [0-9]{1,6}){1,3}",
        rf"git (?:diff|diff-tree|show|log|ls-files|ls-tree)(?:{_WORD})* --name-only(?:{_WORD})*",
        rf"git (?:branch|tag|for-each-ref)(?:{_WORD}| --format=%\(refname(?::short)?\))*",
        rf"git (?:rev-list|rev-parse|remote|merge-base)(?:{_WORD})*",
        r"go list(?: (?:-deps|-test|\.|\./\.\.\.|\./[A-Za-z0-9_/-]+(?:/\.\.\.)?))*",
        rf"docker compose config(?:{_WORD})* --(?:services|images|volumes)",
        rf"docker (?:ps|images|volume ls|network ls)(?:{_WORD})* (?:-a?q|--quiet)",
        rf"docker ps(?:{_WORD})* --format {{{{\.(?:Names?|ID)}}}}",
        rf"kubectl get(?:{_WORD})* -o name",
    )
)


def record_variables(scanner: Scanner, at: int) -> SetVariables:
    """Record the variables that the simple command which *scanner* has just read sets.

    Args:
        scanner: The scanner, behind the command.
        at: Where the command begins. If the last command begins elsewhere, nothing is recorded.
    """
    before = scanner.set_names
    if scanner.commands[-1].at != at:
        return SetVariables(before, before)
    command = scanner.commands[-1]
    if not command.words:
        if not command.redirections:
            _record_assignments(scanner, command)
        return SetVariables(scanner.set_names, scanner.set_names)
    names = variables_set_by(command.words)
    if names is None:
        return SetVariables(before, before)
    can_be_read = all(map(_can_be_read, command.redirections))
    if array_elements.record_arrays(scanner, command, names, can_be_read=can_be_read):
        return SetVariables(scanner.set_names, scanner.set_names)
    gained = set(before)
    for name, value, is_learnt in _builtin_values(scanner, command, names):
        if not is_learnt:
            scanner.forget(name)
        scanner.values.setdefault(name, ())
        scanner.set_value(name, value if is_line_variable(name) else None)
        if value is not None and is_line_variable(name):
            gained.add(name)
    is_certain = can_be_read
    if command.words[0].text not in DECLARING and command.words[0].text != "printf":
        # `read` sets nothing if its input cannot be read, such as a folder.
        # A pipe can always be read, but a redirection behind a closing `}` may replace it.
        is_piped = bool(command.stdin_from) and "<" not in scanner.source
        is_certain = is_certain and (bool(command.redirections) or is_piped)
    scanner.set_names = frozenset(gained) if is_certain else before
    return SetVariables(frozenset(gained), scanner.set_names)


def _can_be_read(redirection: Redirection) -> bool:
    """Whether *redirection* certainly gives readable input: a here-string or `<(...)`."""
    is_fed = redirection.target is not None and redirection.target.pattern == PROCESS_SUBSTITUTION
    return redirection.operator == "<<<" or (redirection.operator == "<" and not redirection.descriptor and is_fed)


def _record_assignments(scanner: Scanner, command: Command) -> None:
    for name, value, form in command.assignments:
        if form in scanner.arrays.pending:
            array_elements.record_assignment(scanner, name, form)
            continue
        found = assigned_value(scanner, value.placed, adds=not form.startswith(f"{name}="))
        if found is None or not is_line_variable(name):
            continue
        scanner.set_value(name, found)
        _record_names_on_disk(scanner, name, value, found)
        expression = scanner.arithmetic.get(value.form.strip('"'))
        if form.startswith(f"{name}=") and not (expression is not None and expression.may_fail):
            scanner.set_names |= {name}


def _record_names_on_disk(scanner: Scanner, name: str, word: Word, value: Value) -> None:
    """Record that the variable *name* holds names on disk, if the commands in *word* print such names.

    The variable has to keep this *value* to the end of the line.
    """
    positions = scanner.commands[-1].substitutes
    is_first = scanner.set_values.get(name) is value and not (scanner.branches or scanner.within)
    if not (scanner.lists and is_first and positions):
        return
    start = positions[0]
    if positions != tuple(range(start, len(scanner.commands) - 1)):
        return
    names = listing_loops.names_in_value(word, scanner.commands[start:-1], start, scanner.source)
    if names is not None:
        scanner.disk_names[name] = names
        scanner.fixed_values[name] = value
        scanner.listings = (*(scanner.listings or ()), *names.names)


def _builtin_values(
    scanner: Scanner, command: Command, names: tuple[str, ...]
) -> Iterator[tuple[str, Value | None, bool]]:
    """The value that a builtin gives to each of *names*, and whether it was already recorded when its words were read."""
    at = len(scanner.commands) - 1
    if command.words[0].text not in DECLARING:
        whose = _source_of_names(scanner, at) if len(names) == 1 else ""
        read = None if sets_array(command) else Value(None, None, at, is_shown=True, named_by=whose, may_be_empty=True)
        yield from ((name, read, False) for name in names)
        return
    for name, word in zip(names, command.words[-len(names) :] if names else (), strict=True):
        if word.text is not None and not word.text.startswith(f"{name}="):
            continue  # A name alone keeps its value.
        text = None if word.text is None else word.text.removeprefix(f"{name}=")
        value = word._replace(form=word.form.partition("=")[2], text=text, is_number=False)
        yield name, assigned_value(scanner, value), text is not None


def _source_of_names(scanner: Scanner, at: int) -> str:
    """The program whose names the command at position *at*, a plain `read`, reads from a pipe; empty if it reads anything else.

    Another command in a loop that reads part of the input may leave a rest of a name, which may begin with a dash unless it
    is a hash. So outside of a loop's condition only hashes count, and in one, `forget_partial_name` checks the loop's body.
    """
    command = scanner.commands[at]
    texts = [word.text for word in command.words[:-1]]
    if texts not in (["read"], ["read", "-r"]) or command.assignments or command.redirections or "<" in scanner.source:
        return ""
    if "IFS" in scanner.source or not command.stdin_from:
        return ""
    chain = xargs_inputs.pipeline_before(scanner.commands, at, within=command.within[:-1])
    is_whole = bool(chain) and all(map(listings.filters_lines, chain[1:]))
    whose = name_listings.printed_names_of(chain[0]) if is_whole else ""
    return whose if whose == "git" or (whose in _WHOLE and command.within[-1:] == ("loop",)) else ""


def forget_partial_name(scanner: Scanner, name: str, start: int, *, is_alone: bool) -> None:
    """Forget that *name*, which `read` sets in the condition of a loop, holds a whole name, unless nothing else reads the input.

    Args:
        scanner: The scanner, behind the loop.
        name: The name of the variable.
        start: The position of the first command of the loop's body.
        is_alone: Whether the condition is only that `read`.
    """
    value = scanner.set_values.get(name)
    if value is None or value.named_by not in _WHOLE:
        return
    if not (is_alone and listing_loops.leaves_loop_input(scanner.commands[start:], start, name)):
        scanner.set_values[name] = value._replace(named_by="")


def is_repository_top(scanner: Scanner, word: Word) -> bool:
    """Whether *word* is a variable that holds the top of the repository or the empty text.

    If so, the scanner notes that the line relies on it.
    """
    parts = [part for part in word.parts if part.name or part.text]
    if len(parts) != 1 or not parts[0].is_quoted or not parts[0].name.startswith(SET_MARK):
        return False
    name = parts[0].name.removeprefix(SET_MARK)
    value = scanner.set_values.get(name)
    if value is None or value.named_by != REPOSITORY_TOP:
        return False
    scanner.assumed_tops.add(name)
    return True


def may_list_outside(scanner: Scanner, word: Word) -> bool:
    """Whether bash itself, in expanding *word* of a loop, may list a folder outside of the workspace."""
    if word.pattern is not None:
        return path_violation(word.pattern, scanner.cwd, scanner.workspace, is_pattern=True) is not None
    if word.text is not None:
        return False
    # Without quotes, bash expands globs in the value of a variable and in the output of a command, too.
    return not _GLOB_SIGNS.isdisjoint(word.form) or (word.splits and not _never_globs(word))


def _never_globs(word: Word) -> bool:
    """Whether no unknown part of *word* can make bash expand a glob."""
    if word.is_number or word.named_by or _QUOTED_WHOLE.fullmatch(word.form):
        return True
    unknown = [part for part in word.parts if part.name]
    return bool(unknown) and all(part.is_quoted or part.name.endswith(EACH_ELEMENT) for part in unknown)


def loop_value(scanner: Scanner, name: str, words: Sequence[Word], positions: range) -> Value | None:
    """The value that the variable of a loop over *words* has in the loop's body; None if it is not known.

    Args:
        scanner: The scanner, behind the words.
        name: The name of the variable.
        words: The words as the source has them.
        positions: The positions of the commands in substitutions among the words.
    """
    if not (scanner.is_line and is_line_variable(name)):
        return None
    named_by = ""
    needs: frozenset[str] = frozenset()
    if len(words) == 1 and (value := array_elements.array_loop_value(scanner, words[0])) is not None:
        return value
    if len(words) == 1 and words[0].text is None and words[0].pattern is None:
        printer = scanner.commands[positions.start : positions.stop]
        if not (_ONE_OUTPUT.fullmatch(words[0].form) and name_listings.is_pipeline(printer, positions.start)):
            return None
        first, needs = _substitute_in_command(scanner, printer[0]) if printer else (None, needs)
        if first is None or not all(map(listings.filters_lines, printer[1:])) or not prints_plain_words(first):
            return None
        is_number = printer[0].words[0].text == "seq"
        named_by = name_listings.printed_names_of(first) if "IFS" not in scanner.source else ""
    elif all(word.is_literal or word.pattern is not None for word in words):
        is_number = all(word.text is not None and _DIGITS.fullmatch(word.text) for word in words)
    else:
        return None
    return Value(None, NUMBER_GLOB if is_number else None, -1, is_number, is_shown=True, needs=needs, named_by=named_by)


def substitute_texts(scanner: Scanner, words: Sequence[Word]) -> list[Word]:
    """Replace variables in *words* of a loop by the texts that the line has set before, and note that it relies on them."""
    return [one for word in words for one in _substitute_text(scanner, word)] if scanner.is_line else list(words)


def _substitute_text(scanner: Scanner, word: Word) -> list[Word]:
    names = [part.name for part in word.parts if part.name]
    held = [scanner.set_values.get(name.removeprefix(SET_MARK)) for name in names if name.startswith(SET_MARK)]
    texts = [one.text for one in held if one is not None and one.text is not None]
    if not names or len(texts) != len(names):
        return [word]
    given = iter(texts)
    if all(map(_PLAIN.fullmatch, texts)):
        found = [word_from_parts(word.parts, [next(given) if part.name else part.text for part in word.parts])]
    elif (
        len(word.parts) == 1 and not word.parts[0].is_quoted and _is_word_list(texts[0]) and "IFS" not in scanner.source
    ):
        found = [build_word([Piece(one, is_quoted=False)], one, ARGUMENT) for one in texts[0].split()]
    else:
        return [word]
    scanner.relied_on.update(
        name.removeprefix(SET_MARK) for name in names
    )  # Only a variable that is set once has a text.
    return found


def _is_word_list(text: str) -> bool:
    """Whether *text* consists of words and globs, separated only by blanks at which bash splits words."""
    return _BLANKS.issuperset(one for one in text if one.isspace()) and all(map(_ENTRY.fullmatch, text.split()))


def _substitute_in_command(scanner: Scanner, command: Command) -> tuple[Command, frozenset[str]]:
    """*command* with the known texts of its variables in place of them, and the names of these variables."""
    words: list[Word] = []
    needs: set[str] = set()
    for word in command.words:
        names = [
            part.name.removeprefix(SET_MARK) for part in word.parts if part.name and not any(map(is_glob, word.parts))
        ]
        held = [scanner.set_values.get(name) if name in scanner.set_names else None for name in names]
        texts = [one.text for one in held if one is not None and one.text is not None]
        if names and len(texts) == len(names) and all(map(_PLAIN.fullmatch, texts)):
            given = iter(texts)
            words.append(literal("".join(next(given) if part.name else part.text for part in word.parts)))
            needs.update(names)
        else:
            words.append(word)
    return command._replace(words=tuple(words)), frozenset(needs)


def prints_plain_words(command: Command) -> bool:
    """Whether bash would list no folder outside of the workspace if it expanded the output of *command* as globs.

    Names of branches, containers and pods hold no characters of a glob; the file names that git and find print are relative.
    """
    texts = [word.text or "" for word in command.words]
    if command.assignments or not all(word.is_literal for word in command.words):
        return False
    if any(one.form != "2>/dev/null" for one in command.redirections):
        return False
    line = " ".join(texts)
    return any(known.fullmatch(line) for known in _PLAIN_PRINTERS) or listings.known_output(command) is not None
