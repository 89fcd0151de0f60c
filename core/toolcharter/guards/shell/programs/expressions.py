"""Collects the requirements of expressions: those of find and of test.

Source: find(1) of findutils 4.9; POSIX.1-2024, test, and bash(1), "CONDITIONAL EXPRESSIONS".
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from toolcharter.guards.shell import path_checks
from toolcharter.guards.shell.nodes import CHECKED_NAME, Word
from toolcharter.guards.shell.programs.collector import RequirementCollector
from toolcharter.guards.shell.programs.operands import assign_roles
from toolcharter.guards.shell.programs.options import parse_options
from toolcharter.guards.shell.programs.table import OptionSpec, Role, Table

_SYNTAX: Final = frozenset({"(", ")", "!", ","})
_COMBINING: Final = frozenset({*_SYNTAX, "-not", "-o", "-or", "-exec", "-execdir", "-ok", "-okdir", "-follow"})
"""If one of these precedes a command, some tests before the command need not hold."""
_TESTS: Final = frozenset(
    """-amin -atime -cmin -ctime -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime
    -name -newer -path -perm -regex -samefile -size -type -user -wholename -xtype""".split()
)
"""Tests with one operand."""
_FLAGS: Final = frozenset("-a -and -depth -empty -executable -print -print0 -prune -readable -true -writable".split())
_AMBIGUOUS: Final = frozenset("/[\\")
_MAX_POINTS: Final = 8
_HERE: Final = Word(".", ".", prefix=".")
_NO_POINT: Final = Word("")
_VARIABLE: Final = re.compile(r'"?\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*(?::?[-+])?\})"?')
_TEXT_TESTS: Final = frozenset({"-n", "-z"})
_TEXT_COMPARISONS: Final = frozenset({"=", "==", "!=", "=~"})
_NUMBER_COMPARISONS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_STATUSES: Final = frozenset({"$?", '"$?"', "$#", '"$#"'})
_OPERATORS: Final = frozenset({"(", ")", "!", "-a", "-o", "]"})


def collect_find(words: Sequence[Word], table: Table, collector: RequirementCollector) -> None:
    """Collect the requirements of find's *words*: options, starting points, then predicates with their values."""
    start = _count_leading_options(words, table)
    parsed = parse_options(words[:start], table, collector)
    begin = start
    while begin < len(words) and not _begins_expression(words[begin]):
        begin += 1
    points = [*parsed.operands, *words[start:begin]]
    assign_roles(points, table.operands, collector)
    # The options that a rule has to mention follow links: then no test determines where a path leads.
    tail = "/**" if any(table.options[name].needs_mention for name in parsed.given) else None
    _collect_predicates(words[begin:], points, table, collector, tail)


def _count_leading_options(words: Sequence[Word], table: Table) -> int:
    """The number of words that are options before the starting points."""
    place = 0
    while place < len(words):
        text = words[place].text
        spec = table.options.get(text or "")
        if spec is not None:
            place += 1 + (0 if spec.is_attached else len(spec.roles))
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


def _collect_predicates(
    words: Sequence[Word], points: Sequence[Word], table: Table, collector: RequirementCollector, tail: str | None
) -> None:
    place = 0
    tests: dict[str, str | None] = {}
    while place < len(words):
        word = words[place]
        place += 1
        spec = table.predicates.get(word.text or "")
        if word.text in _SYNTAX:
            continue
        if spec is None:
            collector.require(
                word, "is not known to be harmless in an expression" if word.text else "cannot be determined"
            )
            continue
        if spec.needs_mention:
            collector.require(word, "is a part of an expression that a rule has to mention")
        if any(role.kind == "exec" for role in spec.roles):
            tail = pattern_tail(words[: place - 1], tests) if tail is None else "/**"
            place = _collect_exec(words, place, points, tail, collector)
            continue
        for role in spec.roles:
            if place < len(words):
                tests[word.text or spec.name] = words[place].text
                collector.add_value(
                    role, words[place], may_repeat=True
                )  # For find, more words than one would be an error.
                place += 1


def _collect_exec(
    words: Sequence[Word], start: int, points: Sequence[Word], tail: str, collector: RequirementCollector
) -> int:
    """Collect the command in *words* from *start* on; return the position at which the expression continues."""
    end = start
    while end < len(words) and not (words[end].text == ";" or _is_batch(words, end)):
        end += 1
    # Each starting point needs a pattern of its own, and a word has at most one.
    many = end < len(words) and _is_batch(words, end)
    for point in points if 0 < len(points) <= _MAX_POINTS else (_NO_POINT if points else _HERE,):
        collector.add_command([_replace_placeholder(word, point, tail, many=many) for word in words[start:end]])
    return end + 1


def _is_batch(words: Sequence[Word], place: int) -> bool:
    return words[place].text == "+" and words[place - 1].text == "{}"


def pattern_tail(words: Sequence[Word], tests: Mapping[str, str | None]) -> str:
    """A pattern for the part of the found paths behind their starting point, so that links among them can be checked.

    Args:
        words: The words of the expression so far.
        tests: The tests among them, with their values.

    A test narrows the pattern only if it has to hold: behind the last `-o`, without `!`, and with no parentheses in *words*.
    """
    held = _required_tests(words)
    if held is not None:
        tests = {name: held[name] for name in tests if name in held}
    elif not _COMBINING.isdisjoint(word.text for word in words):
        return "/**"
    if tests.get("-type") == "f":  # No link, unless an option such as -L is given.
        return ""
    name = tests.get("-name")
    # find and the guard's globs may treat brackets and backslashes in different ways.
    return "/**" if name is None or not _AMBIGUOUS.isdisjoint(name) else f"/**/{name}"


def _required_tests(words: Sequence[Word]) -> Mapping[str, str | None] | None:
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


def _replace_placeholder(word: Word, point: Word, tail: str, *, many: bool) -> Word:
    """*word* of a command that find starts for paths below *point*; with *many* (`+`), `{}` becomes several paths."""
    if word.text is None or "{}" not in word.text:
        return word
    base = point.pattern if point.text is None else path_checks.escape_glob(point.text)
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
    if is_of_one and texts[0] in _TEXT_TESTS and not words[1].splits and _VARIABLE.fullmatch(words[1].form):
        return True  # It reveals whether a variable is set, but not its value.
    is_one = (
        len(texts) == 1
        or (len(texts[1:]) == 1 and texts[0] in _TEXT_TESTS)
        or (len(texts[1:-1]) == 1 and texts[1] in _TEXT_COMPARISONS)
    )
    return is_one and all(not word.splits and (word.is_literal or word.is_output or word.is_shown) for word in words)


def collect_test(words: Sequence[Word], table: Table, collector: RequirementCollector) -> None:
    """Collect the requirements of `test`'s words without parsing them: each operator gives its neighbours a role."""
    if _compares_texts(words):
        return
    for place, word in enumerate(words):
        text = word.text
        spec = None if text is None else table.options.get(text)
        if text == "-v" and [one.named_by for one in words[place + 1 : place + 2]] == [CHECKED_NAME]:
            continue
        if spec is not None:
            _collect_neighbours(word, spec, words, (place + 1,), collector)
        spec = None if text is None else table.predicates.get(text)
        if spec is not None:
            _collect_neighbours(word, spec, words, (place - 1, place + 1), collector)
        if text is None and not (_is_number(word) and _is_number_operand(words, place)):
            collector.add_value(Role("text"), word, may_repeat=True)


def _is_number(word: Word) -> bool:
    """Whether *word* is a number or empty."""
    return word.is_number or word.form in _STATUSES


def _is_number_operand(words: Sequence[Word], place: int) -> bool:
    """Whether the word at *place* is an operand of a comparison of numbers."""
    return any(
        one.text in _NUMBER_COMPARISONS for one in (*words[max(0, place - 1) : place], *words[place + 1 : place + 2])
    )


def _collect_neighbours(
    operator: Word, spec: OptionSpec, words: Sequence[Word], places: Sequence[int], collector: RequirementCollector
) -> None:
    if spec.needs_mention:
        collector.require(operator, "is a part of an expression that a rule has to mention")
    for place in places:
        word = words[place] if 0 <= place < len(words) else operator
        # The caller has already collected words that are no literals.
        is_seen = word.text is None and (spec.roles[0].kind in {"text", "read"} or _is_number(word))
        if word is not operator and word.text not in _OPERATORS and not is_seen:
            collector.add_value(spec.roles[0], word, may_repeat=True)
