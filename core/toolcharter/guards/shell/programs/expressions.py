"""Collects the requirements of expressions: those of find and of test.

Source: find(1) of findutils 4.9; POSIX.1-2024, test, and bash(1), "CONDITIONAL EXPRESSIONS".
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolcharter.guards.shell import places
from toolcharter.guards.shell.nodes import CHECKED_NAME, Word
from toolcharter.guards.shell.programs.collector import RequirementCollector
from toolcharter.guards.shell.programs.operands import assign
from toolcharter.guards.shell.programs.options import divide
from toolcharter.guards.shell.programs.table import Role, Table, Takes

_SYNTAX: Final = frozenset({"(", ")", "!", ","})
_JOINING: Final = frozenset({*_SYNTAX, "-not", "-o", "-or", "-exec", "-execdir", "-ok", "-okdir", "-follow"})
"""If one of these precedes a command, some tests before the command need not hold."""
_TESTS: Final = frozenset(
    """-amin -atime -cmin -ctime -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime
    -name -newer -path -perm -regex -samefile -size -type -user -wholename -xtype""".split()
)
"""Tests with one operand."""
_FLAGS: Final = frozenset("-a -and -depth -empty -executable -print -print0 -prune -readable -true -writable".split())
_UNCLEAR: Final = frozenset("/[\\")
_MAX_POINTS: Final = 8
_HERE: Final = Word(".", ".", prefix=".")
_NO_POINT: Final = Word("")
_VARIABLE: Final = re.compile(r'"?\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*(?::?[-+])?\})"?')
_OF_TEXT: Final = frozenset({"-n", "-z"})
_BETWEEN_TEXTS: Final = frozenset({"=", "==", "!=", "=~"})
_BETWEEN_NUMBERS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_STATUSES: Final = frozenset({"$?", '"$?"', "$#", '"$#"'})
_OPERATORS: Final = frozenset({"(", ")", "!", "-a", "-o", "]"})


def find(words: Sequence[Word], table: Table, asking: RequirementCollector) -> None:
    """Collect the requirements of find's *words*: options, starting points, then predicates with their values."""
    start = _leading(words, table)
    divided = divide(words[:start], table, asking)
    begin = start
    while begin < len(words) and not _begins_expression(words[begin]):
        begin += 1
    points = [*divided.operands, *words[start:begin]]
    assign(points, table.operands, asking)
    # The options that a rule has to mention follow links: then no test determines where a path leads.
    tail = "/**" if any(table.options[name].is_named for name in divided.given) else None
    _predicates(words[begin:], points, table, asking, tail)


def _leading(words: Sequence[Word], table: Table) -> int:
    """The number of words that are options before the starting points."""
    place = 0
    while place < len(words):
        text = words[place].text
        takes = table.options.get(text or "")
        if takes is not None:
            place += 1 + (0 if takes.is_attached else len(takes.roles))
        elif text and text[:2] in table.options and table.options[text[:2]].roles and text not in table.predicates:
            place += 1
        elif text == "--":
            return place + 1
        else:
            return place
    return min(place, len(words))


def _begins_expression(word: Word) -> bool:
    text = word.prefix if word.text is None else word.text
    return text in _SYNTAX or (text[:1] == "-" and len(text) > 1)


def _predicates(
    words: Sequence[Word], points: Sequence[Word], table: Table, asking: RequirementCollector, tail: str | None
) -> None:
    place = 0
    tests: dict[str, str | None] = {}
    while place < len(words):
        word = words[place]
        place += 1
        takes = table.predicates.get(word.text or "")
        if word.text in _SYNTAX:
            continue
        if takes is None:
            asking.need(word, "is not known to be harmless in an expression" if word.text else "cannot be determined")
            continue
        if takes.is_named:
            asking.need(word, "is a part of an expression that a rule has to mention")
        if any(role.kind == "exec" for role in takes.roles):
            tail = tail_of(words[: place - 1], tests) if tail is None else "/**"
            place = _exec(words, place, points, tail, asking)
            continue
        for role in takes.roles:
            if place < len(words):
                tests[word.text or takes.name] = words[place].text
                asking.value(role, words[place], may_grow=True)  # For find, more words than one would be an error.
                place += 1


def _exec(words: Sequence[Word], start: int, points: Sequence[Word], tail: str, asking: RequirementCollector) -> int:
    """Collect the command in *words* from *start* on; return the position at which the expression continues."""
    end = start
    while end < len(words) and not (words[end].text == ";" or _is_batch(words, end)):
        end += 1
    # Each starting point needs a pattern of its own, and a word has at most one.
    many = end < len(words) and _is_batch(words, end)
    for point in points if 0 < len(points) <= _MAX_POINTS else (_NO_POINT if points else _HERE,):
        asking.command([_found(word, point, tail, many=many) for word in words[start:end]])
    return end + 1


def _is_batch(words: Sequence[Word], place: int) -> bool:
    return words[place].text == "+" and words[place - 1].text == "{}"


def tail_of(words: Sequence[Word], tests: Mapping[str, str | None]) -> str:
    """A pattern for the part of the found paths behind their starting point, so that links among them can be checked.

    Args:
        words: The words of the expression so far.
        tests: The tests among them, with their values.

    A test narrows the pattern only if it has to hold: behind the last `-o`, without `!`, and with no parentheses in *words*.
    """
    held = _held(words)
    if held is not None:
        tests = {name: held[name] for name in tests if name in held}
    elif not _JOINING.isdisjoint(word.text for word in words):
        return "/**"
    if tests.get("-type") == "f":  # No link, unless an option such as -L is given.
        return ""
    name = tests.get("-name")
    # find and the guard's globs may treat brackets and backslashes in different ways.
    return "/**" if name is None or not _UNCLEAR.isdisjoint(name) else f"/**/{name}"


def _held(words: Sequence[Word]) -> Mapping[str, str | None] | None:
    """The tests that hold whenever find reaches the end of *words*; None if that takes more than reading them in order."""
    rest = iter([word.text or "" for word in words])
    held: dict[str, str | None] = {}
    for word in rest:
        is_denied = word in {"!", "-not"}
        text = next(rest, "") if is_denied else word
        if text in _TESTS:
            value = next(rest, "")
            held.update({} if is_denied else {text: value})
        elif text in {"-o", "-or"} and not is_denied:
            held.clear()
        elif text not in _FLAGS:
            return None
    return held


def _found(word: Word, point: Word, tail: str, *, many: bool) -> Word:
    """*word* of a command that find starts for paths below *point*; with *many* (`+`), `{}` becomes several paths."""
    if word.text is None or "{}" not in word.text:
        return word
    base = point.pattern if point.text is None else places.escaped(point.text)
    if word.text != "{}" or base is None:
        return Word(word.form)
    return Word(word.form, pattern=f"{base.rstrip('/')}{tail}" or "/", prefix=point.prefix, splits=many)


def _compares_texts(words: Sequence[Word]) -> bool:
    """Whether *words* are one comparison of texts that the line itself makes, so that none of its operands can be an operator.

    Source: POSIX.1-2024, test, "OPERANDS": a single operand is tested for the empty text; of two words the first is the
    operator, of three the second.
    """
    if words and words[-1].text in {"]", "]]"}:
        words = words[:-1]
    if words and words[0].text == "!":
        words = words[1:]
    texts = [word.text for word in words]
    is_of_one = len(texts) > 1 and not texts[2:]
    if is_of_one and texts[0] in _OF_TEXT and not words[1].splits and _VARIABLE.fullmatch(words[1].form):
        return True  # It reveals whether a variable is set, but not its value.
    is_one = (
        len(texts) == 1
        or (len(texts[1:]) == 1 and texts[0] in _OF_TEXT)
        or (len(texts[1:-1]) == 1 and texts[1] in _BETWEEN_TEXTS)
    )
    return is_one and all(not word.splits and (word.is_literal or word.is_output or word.is_shown) for word in words)


def test(words: Sequence[Word], table: Table, asking: RequirementCollector) -> None:
    """Collect the requirements of `test`'s words without parsing them: each operator gives its neighbours a role."""
    if _compares_texts(words):
        return
    for place, word in enumerate(words):
        text = word.text
        takes = None if text is None else table.options.get(text)
        if text == "-v" and [one.named_by for one in words[place + 1 : place + 2]] == [CHECKED_NAME]:
            continue
        if takes is not None:
            _neighbour(word, takes, words, (place + 1,), asking)
        takes = None if text is None else table.predicates.get(text)
        if takes is not None:
            _neighbour(word, takes, words, (place - 1, place + 1), asking)
        if text is None and not (_is_number(word) and _is_compared(words, place)):
            asking.value(Role("text"), word, may_grow=True)


def _is_number(word: Word) -> bool:
    """Whether *word* is a number or empty."""
    return word.is_number or word.form in _STATUSES


def _is_compared(words: Sequence[Word], place: int) -> bool:
    """Whether the word at *place* is an operand of a comparison of numbers."""
    return any(
        one.text in _BETWEEN_NUMBERS for one in (*words[max(0, place - 1) : place], *words[place + 1 : place + 2])
    )


def _neighbour(
    operator: Word, takes: Takes, words: Sequence[Word], places: Sequence[int], asking: RequirementCollector
) -> None:
    if takes.is_named:
        asking.need(operator, "is a part of an expression that a rule has to mention")
    for place in places:
        word = words[place] if 0 <= place < len(words) else operator
        # The caller has already collected words that are no literals.
        is_seen = word.text is None and (takes.roles[0].kind in {"text", "read"} or _is_number(word))
        if word is not operator and word.text not in _OPERATORS and not is_seen:
            asking.value(takes.roles[0], word, may_grow=True)
