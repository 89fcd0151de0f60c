"""Parses words and assignments.

Source: bash(1), "QUOTING", "PARAMETERS"; POSIX.1-2024, shell command language, 2.2 and 2.3.
"""

import re
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.arrays import ArrayAssignment
from toolcharter.guards.shell.charset import check_unquoted
from toolcharter.guards.shell.nodes import PROCESS_SUBSTITUTION, Assignment, Word
from toolcharter.guards.shell.parse.braces import expand_braces
from toolcharter.guards.shell.parse.expansions import (
    read_backticks,
    read_dollar,
    read_double_quoted,
    read_single_quoted,
)
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.source import read_substitution
from toolcharter.guards.shell.parse.word_parts import (
    ARGUMENT,
    MAX_HINTS,
    VALUE,
    Mode,
    Piece,
    build_word,
    literal,
)

if TYPE_CHECKING:
    from toolcharter.guards.shell.parse import subscripts
else:
    subscripts = lazy("toolcharter.guards.shell.parse.subscripts")

_RUN = re.compile(r"[^ \t\n|&;()<>'\"\\$`]+")
# Literal words: of characters that `shlex.quote` does not quote, or within one pair of quotes.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*(?=[ \t\n|&;)]|\Z)")
_QUOTED = re.compile(r"""(?:'([^']*)'|"([^"\\$`]*)")(?=[ \t\n|&;)]|\Z)""")
_ASSIGNS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_DECLARING = frozenset({"declare", "typeset", "local"})


def read_words(scanner: Scanner, mode: Mode = ARGUMENT) -> list[Word]:
    """Read one word of the source; return the words that it expands to, possibly none."""
    start = scanner.at
    if (
        scanner.set_names
        and mode is ARGUMENT
        and not scanner.names_program
        and (texts := _read_array_words(scanner)) is not None
    ):
        return texts
    if found := _PLAIN.match(scanner.source, start):
        scanner.at = found.end()
        scanner.record_span(start)
        text = found.group()
        return [Word(text, text, None, text)]
    if found := _QUOTED.match(scanner.source, start):
        scanner.at = found.end()
        scanner.check_body()
        scanner.record_span(start)
        return [literal(found.group(1) or found.group(2) or "")]
    pieces = _read_pieces(scanner)
    if not pieces:
        raise scanner.fail("A word is missing.")
    written = scanner.source[start : scanner.at]
    if "{" in written and ("," in written or ".." in written):
        _check_braces(scanner, pieces)
    words = expand_braces(pieces, written, mode)
    scanner.record_span(start, max(1, len(words)))
    return words


def _read_array_words(scanner: Scanner) -> list[Word] | None:
    """Read `"${a[@]}"`, if it comes next and the line has set the array."""
    start = scanner.at
    found = scanner.arrays.find_all_elements(
        scanner.source, start, scanner.set_names, ordered=scanner.looping_at != scanner.depth
    )
    if found is None:
        return None
    scanner.at, texts = found
    scanner.check_body()
    scanner.record_span(start, max(1, len(texts)))
    return [literal(text) for text in texts]


def read_word(scanner: Scanner, mode: Mode = VALUE) -> Word:
    """Read one word in a place where bash does not expand it to several."""
    start = scanner.at
    words = read_words(scanner, mode)
    return words[0] if len(words) == 1 else Word(scanner.source[start : scanner.at], splits=True)


def _read_pieces(scanner: Scanner) -> list[Piece]:
    """Read the pieces of one word; empty if no word comes next."""
    pieces: list[Piece] = []
    while scanner.at < len(scanner.source):
        if found := _RUN.match(scanner.source, scanner.at):
            scanner.at = found.end()
            pieces.append(_plain_piece(found.group()))
        elif not _read_special(scanner, pieces):
            break
    scanner.check_body()
    return pieces


def _check_braces(scanner: Scanner, pieces: list[Piece]) -> None:
    if any("{" in piece.text for piece in pieces if not piece.is_quoted):
        scanner.bash_only("A word of braces")


def _plain_piece(text: str) -> Piece:
    if not text.isascii():
        check_unquoted(text)
    return Piece(text, is_quoted=False)


def _read_special(scanner: Scanner, pieces: list[Piece]) -> bool:
    """Read one piece that begins with a special character; whether there is one."""
    character = scanner.source[scanner.at]
    if character == "\\":
        pieces.append(_read_escape(scanner))
    elif character == "'":
        pieces.append(read_single_quoted(scanner))
    elif character == '"':
        pieces += read_double_quoted(scanner)
    elif character == "$":
        pieces.append(read_dollar(scanner, quoted=False))
    elif character == "`":
        pieces.append(read_backticks(scanner, quoted=False))
    elif scanner.source.startswith(("<(", ">("), scanner.at):
        pieces.append(_read_process_substitution(scanner, pieces))
    else:
        return False
    return True


def _read_escape(scanner: Scanner) -> Piece:
    character = scanner.source[scanner.at + 1 : scanner.at + 2]
    if not character:
        raise scanner.fail("A backslash ends the command line.")
    if character == "\n":
        # Bash joins lines before it recognises reserved words and operators: `{\` is a brace.
        raise scanner.fail("A word is continued on the next line.")
    scanner.at += 2
    return Piece(character)


def _read_process_substitution(scanner: Scanner, pieces: list[Piece]) -> Piece:
    if pieces:
        raise scanner.fail("A process substitution stands within a word.")
    scanner.bash_only("A process substitution")
    outer, kind = scanner.process_substitutions, scanner.source[scanner.at]
    scanner.at += 2
    positions = read_substitution(scanner)
    (outer.inputs if kind == "<" else outer.outputs).extend(positions)
    return Piece("", is_known=False, pattern=PROCESS_SUBSTITUTION if kind == "<" else None)


def read_assignment(scanner: Scanner, *, declares: bool | None = None) -> Assignment | None:
    """Read an assignment, if one comes next.

    Args:
        scanner: The scanner.
        declares: Whether it is an argument of `declare -A`; None if it is no argument of such a builtin.
    """
    start = scanner.at
    if _SUBSCRIPT.match(scanner.source, start):
        return _read_element_assignment(scanner)
    found = _ASSIGNS.match(scanner.source, start)
    if found is None:
        return None
    scanner.at = found.end()
    if scanner.notes is not None:
        scanner.notes.named.add(found.span(1))
    name, operator = found.groups()
    if operator == "+=":
        scanner.bash_only("An assignment with '+='")
    value = _read_assigned_value(scanner, name, is_associative=bool(declares))
    scanner.record_span(start)
    form = f"{name}={value.form}" if value.is_literal and operator == "=" else scanner.source[start : scanner.at]
    if value.form.startswith("(") and value.splits:
        is_again, keys = form in scanner.arrays.pending, tuple(scanner.arrays.keys)
        setting = ArrayAssignment(tuple(scanner.array_words), keys, operator == "+=", is_element=False)
        scanner.arrays.pending[form] = None if is_again else setting
    scanner.learn(name, value, adds=operator == "+=")
    return Assignment(name, value, form)


def _read_element_assignment(scanner: Scanner) -> Assignment:
    """Read `name[key]=value`, where `name[` comes next."""
    start, target = scanner.at, subscripts.read_target(scanner)
    value = read_value(scanner)
    scanner.record_span(start)
    form = scanner.source[start : scanner.at]
    setting = ArrayAssignment((value,), (target.key,), target.adds, is_element=True)
    scanner.arrays.pending[form] = None if form in scanner.arrays.pending else setting
    scanner.learn(target.name, value)
    return Assignment(target.name, value, form)


def read_declared(scanner: Scanner, words: list[Word]) -> Word | None:
    """Read `name=(...)` behind *words* such as `declare` or `declare -A`, if it comes next."""
    texts = [word.text for word in words]
    if texts[0] not in _DECLARING or texts[1:] not in ([], ["-a"], ["-A"]):
        return None
    start, is_associative = scanner.at, texts[1:] == ["-A"]
    assignment = read_assignment(scanner, declares=is_associative)
    if assignment is None:
        return None
    return Word(scanner.source[start : scanner.at], splits=True, hints=assignment.value.hints)


def _read_assigned_value(scanner: Scanner, name: str, *, is_associative: bool) -> Word:
    start = scanner.at
    if scanner.source.startswith("(", start):
        words = _read_array(scanner, name, is_associative=is_associative)
        if not scanner.is_word_end():
            raise scanner.fail("Something follows the end of an array.")
        hints = tuple(word.text for word in words if word.text is not None)[:MAX_HINTS]
        return Word(scanner.source[start : scanner.at], splits=True, hints=hints)
    return read_value(scanner)


def read_value(scanner: Scanner) -> Word:
    """Read the value of an assignment, which bash does not split."""
    start = scanner.at
    pieces = [piece._replace(splits=False) if piece.splits else piece for piece in _read_pieces(scanner)]
    return build_word(pieces, scanner.source[start : scanner.at])


def _read_array(scanner: Scanner, name: str, *, is_associative: bool) -> list[Word]:
    scanner.bash_only("An array")
    words: list[Word] = []
    keys: list[Word | None] = []
    scanner.at += 1
    scanner.skip_newlines()
    while not scanner.take(")"):
        if scanner.source.startswith("[", scanner.at):
            start = scanner.at
            keys.append(subscripts.read_key(scanner, name, is_associative=is_associative))
            words.append(read_value(scanner))
            scanner.record_span(start)
        else:
            found = read_words(scanner)
            words += found
            keys += [None] * len(found)
        scanner.skip_newlines()
    scanner.array_words, scanner.arrays.keys = words, keys
    return words
