"""Parses subscripts: `a[0]=x`, `m[key]=x`, `([key]=x)`, `${m[$k]}`, `[[ -v m[key] ]]`.

In an array that may be indexed, bash evaluates a subscript as arithmetic, which can run the value of a variable: `a[x]` where
`x` is `b[$(reboot)]`. So such a subscript has to be a number. The subscript of an associative array is a text that bash expands
once; but in arithmetic, and behind `-v` and `unset`, bash expands it again, so there it has to be literal.
Source: bash(1), "Arrays", "ARITHMETIC EVALUATION", `unset`, "CONDITIONAL EXPRESSIONS".
"""

import re
from typing import Final, NamedTuple

from toolcharter.guards.shell.arrays import CUT, DEFAULT, KEY, element_variable, key_variable
from toolcharter.guards.shell.nodes import CHECKED_NAME, Word
from toolcharter.guards.shell.parse.parameters import parameter_piece, possible_texts
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.word_parts import MAX_HINTS, SET_MARK, Piece, build_word, literal
from toolcharter.guards.shell.variable_values import EACH_ELEMENT, EXPANSION_MARK

_NAME: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[")
_TEXT: Final = re.compile(rf"(?P<key>{KEY})\]")
_VARIABLE: Final = re.compile(
    r"(?P<quote>\"?)(?P<variable>\$(?:[a-z_][A-Za-z0-9_]*|[1-9]|\{[a-z_][A-Za-z0-9_]*\}))(?P=quote)\]"
)
_OPERATOR: Final = re.compile(r"\+?=(?!\()")
_ALL: Final = re.compile(rf"\[(?P<all>[@*])\](?:{CUT})?\}}")
_END: Final = re.compile(rf"(?P<default>{DEFAULT})?\}}")
_INDEX: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,3})")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_TESTED: Final = re.compile(r"(?P<name>[a-z_][A-Za-z0-9_]*)(?:\[(?P<key>[A-Za-z0-9_.-]+)\])?")
_WHY: Final = "A subscript is evaluated as arithmetic."


class Target(NamedTuple):
    """The part of `name[key]=value` before the value."""

    name: str
    key: Word
    adds: bool


def read_target(scanner: Scanner) -> Target:
    """Read `name[key]=` or `name[key]+=`, where `name[` comes next."""
    start, found = scanner.at, _NAME.match(scanner.source, scanner.at)
    if found is None or not scanner.is_line:
        raise scanner.fail(_WHY)
    name, scanner.at = found[1], found.end() - 1
    key = _read_bracketed_key(scanner)
    operator = None if key is None else _OPERATOR.match(scanner.source, scanner.at)
    if key is None or operator is None or not _is_permitted(scanner, name, key):
        scanner.at = start
        raise scanner.fail(_WHY)
    scanner.bash_only("An array")
    if scanner.notes is not None:
        scanner.notes.named.add(found.span(1))
    scanner.at = operator.end()
    return Target(name, key, operator.group() == "+=")


def read_key(scanner: Scanner, name: str, *, is_associative: bool) -> Word:
    """Read `[key]=`, which begins here, among the words of the array *name*; `declare -A` may precede it."""
    start = scanner.at
    key = _read_bracketed_key(scanner) if scanner.is_line else None
    if key is None or not (is_associative or _is_permitted(scanner, name, key)) or not scanner.take("="):
        scanner.at = start
        raise scanner.fail(_WHY)
    return key


def _read_bracketed_key(scanner: Scanner) -> Word | None:
    """Read `[key]`, where the key is a text or a variable; None if it is anything else."""
    start = scanner.at + 1
    if found := _TEXT.match(scanner.source, start):
        scanner.at = found.end()
        return literal(found["key"].strip("'\""))
    if found := _VARIABLE.match(scanner.source, start):
        name = found["variable"].strip("${}")
        scanner.compared_names.add(name)
        if scanner.notes is not None:
            scanner.notes.note_expansion(scanner.source, *found.span("variable"), quoted=True)
        scanner.at = found.end()
        return build_word([parameter_piece(scanner, name, quoted=True)], found["variable"])
    return None


def _is_permitted(scanner: Scanner, name: str, key: Word) -> bool:
    """Whether bash takes *key* for a plain text or number in the array *name*; if a variable has to be one, that is recorded."""
    if key_variable(name) in scanner.set_names or (key.text is not None and _INDEX.fullmatch(key.text)):
        return True
    variable = _variable_in_key(key)
    if variable not in scanner.set_names:
        return False
    scanner.numeric_names.add(variable)
    return True


def _variable_in_key(key: Word) -> str:
    """The variable in *key*, or the one that its text names in arithmetic."""
    return key.form.strip("${}") if key.text is None else key.text


def mark_checked_name(scanner: Scanner, word: Word) -> Word:
    """Mark *word*, an argument of `-v` or `unset`, as `CHECKED_NAME` if bash evaluates nothing in it."""
    found = _TESTED.fullmatch(word.text or "")
    if found is None or not scanner.is_line:
        return word
    is_plain = found["key"] is None or _is_permitted(scanner, found["name"], literal(found["key"]))
    return word._replace(named_by=CHECKED_NAME) if is_plain else word


def read_element(scanner: Scanner, name: str, *, quoted: bool) -> Piece | None:
    """Read from the `[` in `${name[key]}`; None, with the position unchanged, if it is not understood."""
    start = scanner.at
    piece = _read_all_elements(scanner, name, quoted=quoted) or _read_one_element(scanner, name, quoted=quoted)
    if piece is None:
        scanner.at = start
    else:
        scanner.check_body()
    return piece


def read_keys(scanner: Scanner, name: str, *, quoted: bool) -> Piece | None:
    """Read from the `[` in `${!name[@]}`; None if the array is not certainly associative."""
    found = _ALL.match(scanner.source, scanner.at)
    if found is None or ":" in found.group() or key_variable(name) not in scanner.set_names:
        return None
    scanner.at = found.end()
    return _all_elements_piece(key_variable(name), found["all"], quoted=quoted)


def _read_all_elements(scanner: Scanner, name: str, *, quoted: bool) -> Piece | None:
    found = _ALL.match(scanner.source, scanner.at)
    if found is None or element_variable(name) not in scanner.set_names:
        return None
    scanner.at = found.end()
    return _all_elements_piece(element_variable(name), found["all"], quoted=quoted)._replace(
        hints=possible_texts(scanner, name)
    )


def _all_elements_piece(variable: str, sign: str, *, quoted: bool) -> Piece:
    """All elements or keys of an array: one word between quotes, or with `@` one word for each."""
    if quoted and sign == "@":
        return Piece("", is_quoted=False, is_known=False, splits=True, name=SET_MARK + variable + EACH_ELEMENT)
    return Piece("", quoted, is_known=False, splits=not quoted, name=SET_MARK + variable)


def _read_one_element(scanner: Scanner, name: str, *, quoted: bool) -> Piece | None:
    key = _read_bracketed_key(scanner)
    end = None if key is None else _END.match(scanner.source, scanner.at)
    if key is None or end is None or not _is_permitted(scanner, name, key):
        return None
    scanner.at, default = end.end(), end["default"] or ""
    text = _element_text(scanner, name, key)
    if text is not None and not default.lstrip(":").startswith("+") and (text or not default):
        return Piece(text) if quoted or _PLAIN.fullmatch(text) else None
    variable = _variable_in_key(key)
    texts = [scanner.arrays.element(name, one, scanner.set_names) for one in scanner.loops.get(variable, ())]
    if key.text is None and texts and all(texts) and not default:
        hints = tuple(one for one in texts if one)[:MAX_HINTS]
        return Piece("", quoted, is_known=False, splits=not quoted, name=f"{variable}[{name}]", hints=hints)
    if element_variable(name) not in scanner.set_names:
        return None
    # The default for an empty element may be no number.
    is_number = not default or re.fullmatch(r":?-[0-9]+", default) is not None
    held = (
        SET_MARK + element_variable(name)
        if is_number
        else SET_MARK + EXPANSION_MARK + element_variable(name) + EXPANSION_MARK + default
    )
    return Piece("", quoted, is_known=False, splits=not quoted, name=held, hints=possible_texts(scanner, name))


def _element_text(scanner: Scanner, name: str, key: Word) -> str | None:
    """The text of the element *key*; None if it is not known. If a variable has to keep its value for that, it is recorded."""
    if key.text is not None:
        return scanner.arrays.element(name, key.text, scanner.set_names)
    variable = _variable_in_key(key)
    value = scanner.set_values.get(variable) if variable in scanner.set_names else None
    text = None if value is None or value.text is None else scanner.arrays.element(name, value.text, scanner.set_names)
    if text is not None:
        scanner.relied_on.add(variable)
    return text
