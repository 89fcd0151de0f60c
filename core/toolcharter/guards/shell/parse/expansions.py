"""Parses the expansions in a word: parameters, substitutions, arithmetic.

Source: bash(1), "EXPANSION"; POSIX.1-2024, shell command language, 2.6.
"""

import re
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.arrays import element_variable, end_of_count
from toolcharter.guards.shell.assignments import is_line_variable
from toolcharter.guards.shell.nodes import Word
from toolcharter.guards.shell.parameter_expansions import apply_to_glob
from toolcharter.guards.shell.parse.ansi import decode_escapes
from toolcharter.guards.shell.parse.parameters import SHOWN, is_number_with, parameter_piece, possible_texts
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.source import read_backtick_text, read_substitution
from toolcharter.guards.shell.parse.substitutions import names_piece, substitution_piece
from toolcharter.guards.shell.parse.word_parts import MAX_HINTS, SET_MARK, Piece, combine_texts
from toolcharter.guards.shell.setters import Arithmetic, parse_arithmetic
from toolcharter.guards.shell.variable_values import EXPANSION_MARK, NUMBER_GLOB, REMATCH, arithmetic_value

if TYPE_CHECKING:
    from toolcharter.guards.shell.parse import subscripts
else:
    subscripts = lazy("toolcharter.guards.shell.parse.subscripts")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_BRACED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_VALUE_OPERATOR = re.compile(r":?[-+]|%%?|##?")
_ASSIGNING = re.compile(r":?=")
# Replacements, changes of case, substrings: `variable_values` applies them to known values.
_CHANGES = re.compile(
    r"(?://?[#%]?(?:[A-Za-z0-9_.,:;@+= *?-]|\\[/.]|\[[A-Za-z0-9_., :-]+\])+/?[A-Za-z0-9_.,:;@+= /-]*|\^\^?|,,?|:(?:[0-9]{1,4}| -[0-9]{1,4})?(?::-?[0-9]{1,4})?)"
    r"(?=\})"
)
_QUOTED = re.compile(r'[^"\\$`]+')
_BODY = re.compile(r"[^\\$`]+")
_OPERAND = re.compile(r"[^\"'\\$`{}<>]+")
_ARITHMETIC = re.compile(r"[0-9A-Za-z_ \t\n+\-*/%<>=!&|^~?:,#\[\]]+")
_NUMBERS_ONLY = re.compile(r"[0-9 \t\n+\-*/%<>=!&|^~?:,()]*")
# No operator that subtracts, complements, shifts or raises to a power: the result never begins with a dash.
_ARITHMETIC_COUNT = re.compile(r"(?:[0-9 \t\n+/%>=!&|^?:,()]|<(?!<)|\*(?!\*))*")
_NO_NUMBER = "$"
"""Replaces an operand of an expression that may be no number."""
_MAX_DIGITS = 15
"""The most digits in an expression: with them, sums and products stay below 2^63."""
_REMATCH_INDEX = re.compile(r"\[[0-9]{1,2}\]\}")
_STATUSES = re.compile(r"\[(?:[@*]|[0-9]{1,2})\]\}")
_WORD_CHARACTER = re.compile(r"\w")


def read_dollar(scanner: Scanner, *, quoted: bool) -> Piece:
    """Read the expansion that begins with the `$` here."""
    start = scanner.at
    piece = _read_expansion(scanner, quoted=quoted)
    if scanner.notes is not None:
        scanner.notes.note_expansion(scanner.source, start, scanner.at, quoted=quoted)
    return piece._replace(splits=False) if start == scanner.tested_at and piece.splits else piece


def _read_expansion(scanner: Scanner, *, quoted: bool) -> Piece:
    follows = scanner.source[scanner.at + 1 : scanner.at + 2]
    if scanner.source.startswith("\\\n", scanner.at + 1):
        raise scanner.fail("An expansion is parted by a joined line.")
    if follows == "(":
        return _read_parenthesis(scanner, quoted=quoted)
    if follows == "{":
        return _read_braced(scanner, quoted=quoted)
    if follows == "[":
        raise scanner.fail("Arithmetic is written in a way that bash calls obsolete.")
    if not quoted and follows in {"'", '"'}:
        return _read_dollar_quoted(scanner, follows)
    if found := _NAME.match(scanner.source, scanner.at + 1):
        scanner.at = found.end()
        return parameter_piece(scanner, found.group(), quoted=quoted)
    scanner.at += 1
    return Piece("$", quoted)


def read_backticks(scanner: Scanner, *, quoted: bool) -> Piece:
    """Read a substitution between backticks."""
    start = scanner.at + 1
    end = start
    while (character := scanner.source[end : end + 1]) != "`":
        if not character:
            raise scanner.fail("A backtick is not closed.")
        end += 1 + (character == "\\")
    text = scanner.source[start:end]
    if "\\\n" in text:
        # Bash joins such lines before it parses the text, even within single quotes.
        raise scanner.fail("A line is joined between backticks.")
    if quoted and '\\"' in text:
        raise scanner.fail("A quote is escaped between backticks within quotes.")
    scanner.at = end + 1
    scanner.check_body()
    return substitution_piece(scanner, read_backtick_text(scanner, re.sub(r"\\([$`\\])", r"\1", text)), quoted=quoted)


def read_double_quoted(scanner: Scanner) -> list[Piece]:
    """Read a double-quoted text."""
    scanner.at += 1
    pieces = _read_expanded_text(scanner, len(scanner.source), _QUOTED)
    scanner.expect('"')
    scanner.check_body()
    return pieces


def read_here_text(scanner: Scanner, end: int) -> list[Piece]:
    """Read the body of a here-document from here to *end*."""
    pieces = _read_expanded_text(scanner, end, _BODY)
    if scanner.at != end:
        raise scanner.fail("An expansion in a here-document is not closed.")
    return pieces


def _read_expanded_text(scanner: Scanner, end: int, run: re.Pattern[str]) -> list[Piece]:
    """Read text with expansions, to *end* or to a character that *run* excludes and that begins no expansion."""
    pieces = [Piece("")]
    escapable = '$`"\\\n' if run is _QUOTED else "$`\\\n"
    while scanner.at < end:
        if found := run.match(scanner.source, scanner.at, end):
            scanner.at = found.end()
            pieces.append(Piece(found.group()))
        elif (character := scanner.source[scanner.at]) == "$":
            pieces.append(read_dollar(scanner, quoted=True))
        elif character == "`":
            pieces.append(read_backticks(scanner, quoted=True))
        elif character == "\\":
            if run is _BODY and scanner.source.startswith(("$", "`"), scanner.at + 1):
                scanner.escape_positions.append(scanner.at)
            pieces.append(Piece(_read_escape(scanner, escapable)))
        else:
            break
    return pieces


def _read_escape(scanner: Scanner, escapable: str) -> str:
    character = scanner.source[scanner.at + 1 : scanner.at + 2]
    scanner.at += 2
    if character == "\n":
        return ""
    return character if character and character in escapable else "\\" + character


def _read_dollar_quoted(scanner: Scanner, mark: str) -> Piece:
    scanner.bash_only("A quote behind a dollar")
    scanner.at += 1
    if mark == '"':
        # Bash takes the translation from a catalogue that variables name.
        scanner.mark_unsupported('A text is to be translated (`$"..."`).')
        pieces = read_double_quoted(scanner)
        if all(piece.is_known for piece in pieces):
            return Piece("".join(piece.text for piece in pieces))
        return Piece("", is_known=False)
    end = scanner.at + 1
    while (character := scanner.source[end : end + 1]) != "'":
        if not character:
            raise scanner.fail("A quote is not closed.")
        end += 1 + (character == "\\")
    body, scanner.at = scanner.source[scanner.at + 1 : end], end + 1
    scanner.check_body()
    return Piece(decode_escapes(body))


def _read_braced(scanner: Scanner, *, quoted: bool) -> Piece:
    scanner.at += 2
    if scanner.take("#"):
        return _read_length(scanner, quoted=quoted)
    is_indirect = scanner.take("!")
    name = _read_braced_name(scanner)
    if not is_indirect and scanner.take("}"):
        return parameter_piece(scanner, name, quoted=quoted)
    element = None if scanner.names_program else _read_subscript(scanner, name, quoted=quoted, keys=is_indirect)
    if (found := element or (None if is_indirect else _read_change(scanner, name, quoted=quoted))) is not None:
        return found
    if is_indirect or not (operator := _VALUE_OPERATOR.match(scanner.source, scanner.at)):
        scanner.mark_unsupported("An expansion does more than to insert a value.")
        _read_operand(scanner, quoted=quoted)
        return Piece("", quoted, is_known=False, splits=True)
    start, scanner.at = scanner.at, operator.end()
    operand = _read_operand(scanner, quoted=quoted)
    splits = not quoted or name == "@" or any(piece.splits for piece in operand)
    hints = possible_texts(scanner, name)
    if operator.group().endswith("-"):
        hints = (*hints, *combine_texts((piece.text,) if piece.is_known else piece.hints for piece in operand))
    derived, is_output = "", False
    pattern = apply_to_glob(scanner.patterns.get(name, ""), scanner.source[start : scanner.at - 1]) if quoted else None
    if all(one.is_known for one in operand):
        if is_number_with(scanner, name, scanner.source[start : scanner.at - 1]):
            derived = SET_MARK + name
        elif name in scanner.set_names:
            derived = SET_MARK + EXPANSION_MARK + name + EXPANSION_MARK + scanner.source[start : scanner.at - 1]
        is_output = name in SHOWN and name not in scanner.values
    piece = Piece("", quoted, is_known=False, splits=splits, hints=hints[:MAX_HINTS], pattern=pattern)
    return piece._replace(name=derived, is_output=is_output)


def _read_change(scanner: Scanner, name: str, *, quoted: bool) -> Piece | None:
    """Read `//a/b}`, `^^}`, `:1:2}` or a similar operation, or `:=text}`, if one of them comes next."""
    if found := _CHANGES.match(scanner.source, scanner.at):
        scanner.at = found.end() + 1
        scanner.check_body()
        derived = SET_MARK + EXPANSION_MARK + name + EXPANSION_MARK + found.group() if name in scanner.set_names else ""
        return Piece("", quoted, is_known=False, splits=not quoted or name == "@", name=derived)
    if is_line_variable(name) and (found := _ASSIGNING.match(scanner.source, scanner.at)):
        return _read_assign_default(scanner, name, found.end(), quoted=quoted)
    return None


def _read_assign_default(scanner: Scanner, name: str, end: int, *, quoted: bool) -> Piece:
    """Read from behind `${name:=`, which may set the variable to the text that follows: its value is unknown from here on."""
    scanner.at = end
    operand = _read_operand(scanner, quoted=quoted)
    texts = combine_texts((piece.text,) if piece.is_known else piece.hints for piece in operand)
    scanner.learn(name, Word("", hints=texts))
    scanner.set_value(name, None)
    hints = (*possible_texts(scanner, name), *texts)[:MAX_HINTS]
    return Piece("", quoted, is_known=False, splits=not quoted or any(one.splits for one in operand), hints=hints)


def _read_subscript(scanner: Scanner, name: str, *, quoted: bool, keys: bool) -> Piece | None:
    """Read the subscript of an element that the line has set, such as `[0]}`, or of a status; with *keys*, also `[@]}`."""
    if not scanner.source.startswith("[", scanner.at):
        return None
    if keys:
        return subscripts.read_keys(scanner, name, quoted=quoted)
    if name == "PIPESTATUS" and (statuses := _STATUSES.match(scanner.source, scanner.at)):
        scanner.at = statuses.end()
        splits = "IFS" in scanner.source
        # There is at least one status; `[@]` becomes several words if there are more.
        pattern = NUMBER_GLOB if statuses.group() == "[0]}" and not splits else None
        return Piece("", quoted, is_known=False, splits=splits, pattern=pattern, is_output=True, is_number=not splits)
    if name == REMATCH and name in scanner.set_names and (match := _REMATCH_INDEX.match(scanner.source, scanner.at)):
        scanner.at = match.end()
        derived = SET_MARK + EXPANSION_MARK + name + EXPANSION_MARK + match.group()
        return Piece("", quoted, is_known=False, splits=not quoted, name=derived)
    return subscripts.read_element(scanner, name, quoted=quoted)


def _read_braced_name(scanner: Scanner) -> str:
    found = _BRACED_NAME.match(scanner.source, scanner.at)
    if found is None:
        raise scanner.fail("A parameter in braces is not understood.")
    scanner.at = found.end()
    return found.group()


def _read_length(scanner: Scanner, *, quoted: bool) -> Piece:
    if not scanner.take("}"):
        name = _read_braced_name(scanner)
        if (end := end_of_count(scanner.source, scanner.at)) is not None:
            scanner.at = end
            is_number = "IFS" not in scanner.source
            splits = not (quoted or is_number)
            return Piece("", quoted, is_known=False, splits=splits, pattern=NUMBER_GLOB, is_number=is_number)
        if scanner.take("}"):
            # The length of a variable that the line has set is no secret; that of one from the environment may be.
            pattern = NUMBER_GLOB if name in scanner.set_names and "IFS" not in scanner.source else None
            return Piece("", quoted, is_known=False, splits=not quoted and pattern is None, pattern=pattern)
        scanner.mark_unsupported("An expansion does more than to insert a value.")
        _read_operand(scanner, quoted=quoted)
    return Piece("", quoted, is_known=False, splits=not quoted)


def _read_operand(scanner: Scanner, *, quoted: bool) -> list[Piece]:
    """Read up to the brace that closes the expansion."""
    pieces: list[Piece] = []
    with scanner.nested():
        while not scanner.take("}"):
            pieces += _read_operand_piece(scanner, quoted=quoted)
    scanner.check_body()
    return pieces


def _read_operand_piece(scanner: Scanner, *, quoted: bool) -> list[Piece]:
    character = scanner.source[scanner.at : scanner.at + 1]
    if found := _OPERAND.match(scanner.source, scanner.at):
        scanner.at = found.end()
        return [Piece(found.group())]
    if character == "$":
        return [read_dollar(scanner, quoted=quoted)]
    if character == "`":
        return [read_backticks(scanner, quoted=quoted)]
    if character == '"' and not quoted:
        return read_double_quoted(scanner)
    if character == "'" and not quoted:
        return [read_single_quoted(scanner)]
    # Bash's versions differ in what quotes, braces and backslashes mean here.
    raise scanner.fail("An expansion in braces is not understood.")


def read_single_quoted(scanner: Scanner) -> Piece:
    """Read a single-quoted text."""
    end = scanner.source.find("'", scanner.at + 1)
    if end < 0:
        raise scanner.fail("A quote is not closed.")
    text, scanner.at = scanner.source[scanner.at + 1 : end], end + 1
    scanner.check_body()
    return Piece(text)


def _read_parenthesis(scanner: Scanner, *, quoted: bool) -> Piece:
    if scanner.source.startswith("$((", scanner.at):
        begin, scanner.at = scanner.at, scanner.at + 3
        start = scanner.at
        found = read_arithmetic(scanner)
        digits = _ARITHMETIC_COUNT.fullmatch(scanner.source, start, scanner.at - 2)
        pattern = None if digits is None or _may_overflow(digits.group()) else NUMBER_GLOB
        if found is not None:
            scanner.arithmetic[scanner.source[begin : scanner.at]] = found
        splits = "IFS" in scanner.source
        return Piece("", quoted, is_known=False, splits=splits, pattern=pattern, is_output=True, is_number=True)
    begin, takes_names, scanner.takes_names = scanner.at, scanner.takes_names and not quoted, False
    is_whole, scanner.at = quoted or scanner.at == scanner.tested_at, scanner.at + 2
    positions = read_substitution(scanner)
    if takes_names:
        scanner.takes_names = True
        if (names := names_piece(scanner, scanner.source[begin : scanner.at], positions)) is not None:
            return names
    return substitution_piece(scanner, positions, quoted=is_whole)


def read_arithmetic(scanner: Scanner) -> Arithmetic | None:
    """Read an expression up to its `))`; return what it reads and sets, or None if it has only numbers or may do more.

    Raises:
        NotUnderstood: It is no expression, so that bash would parse it as commands.
    """
    start, open_ = scanner.at, 2
    texts: list[str] = []
    if scanner.notes is not None:
        scanner.notes.arithmetic += 1
    with scanner.nested():
        while open_:
            open_ += _read_arithmetic_part(scanner, open_, texts)
    if scanner.notes is not None:
        scanner.notes.arithmetic -= 1
    scanner.check_body()
    if _NUMBERS_ONLY.fullmatch(scanner.source, start, scanner.at):
        return None
    return record_arithmetic(scanner, "".join(texts))


def record_arithmetic(scanner: Scanner, text: str) -> Arithmetic | None:
    """Record the variables that an expression reads and sets. Bash evaluates their values, so they all have to be numbers."""
    found = parse_arithmetic(text)
    read = frozenset[str]() if found is None else found.names - (found.certain if found.sets_alone else frozenset())
    if found is None or not read <= scanner.set_names:
        scanner.mark_unsupported("An arithmetic expression holds more than numbers.")
        return None
    scanner.numeric_names |= found.names
    for name in found.assigned:
        scanner.learn(name, Word(""))
        scanner.set_value(name, arithmetic_value(found))
    return found


def _read_arithmetic_part(scanner: Scanner, open_: int, texts: list[str]) -> int:
    character = scanner.source[scanner.at : scanner.at + 1]
    if found := _ARITHMETIC.match(scanner.source, scanner.at):
        scanner.at = found.end()
        texts.append(found.group())
        if scanner.notes is not None:
            scanner.notes.note_arithmetic(found.start(), found.group())
        return 0
    if character in {"$", "`"}:
        is_apart = not texts or _WORD_CHARACTER.match(texts[-1][-1:]) is None
        piece = read_dollar(scanner, quoted=True) if character == "$" else read_backticks(scanner, quoted=True)
        is_apart = is_apart and _WORD_CHARACTER.match(scanner.source, scanner.at) is None
        if piece.name.endswith("]") and EXPANSION_MARK not in piece.name:
            # An element of an array: all its elements have to be numbers.
            array = piece.name.removeprefix(SET_MARK)
            scanner.numeric_names.add(element_variable(array.partition("[")[2][:-1]) if array == piece.name else array)
            piece = piece._replace(is_number=True)
        texts.append(_arithmetic_operand(piece) if is_apart else _NO_NUMBER)
        return 0
    if character == "(":
        scanner.at += 1
        texts.append(character)
        return 1
    if character == ")" and open_ > 2:  # noqa: PLR2004 - the two parentheses of `((`
        scanner.at += 1
        texts.append(character)
        return -1
    scanner.expect("))")
    return -2


def _arithmetic_operand(piece: Piece) -> str:
    """*piece* of an expression as a name or a number; `_NO_NUMBER` if it may be anything else."""
    if piece.is_number or piece.pattern == NUMBER_GLOB:
        return " 1 "
    name = piece.name.removeprefix(SET_MARK)
    return f" {name} " if name != piece.name and EXPANSION_MARK not in name else _NO_NUMBER


def _may_overflow(text: str) -> bool:
    return sum(character.isdigit() for character in text) > _MAX_DIGITS
