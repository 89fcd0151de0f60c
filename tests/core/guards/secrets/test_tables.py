"""The providers' tokens: data that holds together, and each kind found wherever it stands.

No token is written down: each is made from its pattern when the tests run.
"""

import re
from base64 import b64encode
from importlib import import_module
from random import Random
from typing import Any

import pytest
from tests.rows import each_row, failing_rows

from toolcharter.guards.secrets import MASK, scrub_text
from toolcharter.guards.secrets.engine import hinted_families
from toolcharter.guards.secrets.patterns import Family, encoded_hint, literal_heads
from toolcharter.guards.secrets.tables import Token, tokens

_parser: Any = import_module("re._parser")
"""What it reads is what examples are made from; private, so that no stub names it."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_SEEN_ALONE = 4
AROUND = {
    "alone": "{}",
    "sentence": "Found {} in env.",
    "quotes": 'call("{}")',
    "brackets": "[{}] <{}>",
    "cjk": "鍵は{}。次",
    "json-escape": '"line\\n{}\\n"',
    "colour": "\x1b[32m{}\x1b[0m",
    "lines": "one\n{}\ntwo\n",
    "url": "https://example.com/?a={}&b=1",
}

each_kind = each_row("kind", [pytest.param(kind, id=kind.name) for kind in tokens()])


def example(pattern: str, random: Random) -> str:
    """A text that *pattern* matches, with as few repetitions as it permits."""
    return _said(_parser.parse(pattern), random)


def _said(items: Any, random: Random) -> str:
    return "".join(_part(str(operator), argument, random) for operator, argument in items)


def _part(operator: str, argument: Any, random: Random) -> str:
    if operator == "MAX_REPEAT":
        least, most, inner = argument
        return "".join(_said(inner, random) for _ in range(random.randint(least, most) if most == 1 else least))
    if operator == "BRANCH":
        return _said(random.choice(argument[1]), random)
    if operator == "SUBPATTERN":
        return _said(argument[3], random)
    if operator == "IN":
        return random.choice(_letters(argument))
    return chr(argument) if operator == "LITERAL" else ""  # A border of a word is no character.


def _letters(items: Any) -> str:
    found = ""
    for operator, argument in items:
        found += "".join(map(chr, range(argument[0], argument[1] + 1))) if str(operator) == "RANGE" else chr(argument)
    # A sign at the end of a token would meet no border of a word.
    return "".join(letter for letter in found if letter in LETTERS) or found


def test_there_are_many_providers() -> None:
    """At least a hundred, and every kind has a name of its own."""
    kinds = tokens()

    assert len({kind.provider for kind in kinds}) >= 100
    assert len({kind.name for kind in kinds}) == len(kinds)


def test_kinds_are_complete() -> None:
    """Each has a pattern without groups that count, and says where it is published."""

    def is_complete(kind: Token) -> bool:
        words = (kind.name, kind.provider, kind.pattern, kind.source)
        return (
            not re.compile(kind.pattern).groups and "" not in words and bool(kind.hint) == (kind.family == "floating")
        )

    assert failing_rows(tokens(), is_complete) == []


@pytest.mark.slow
@each_kind
def test_kind_is_hinted_at(kind: Token) -> None:
    """The first, boolean search sees every token."""
    random = Random(kind.name)
    family = Family.FLOATING if kind.hint else Family.TOKEN

    assert all(family in hinted_families(f" {example(kind.pattern, random)} ".encode()) for _ in range(20))


@pytest.mark.slow
@each_kind
def test_token_is_masked(kind: Token) -> None:
    """The token goes wherever it stands, and nothing else does."""
    token = example(kind.pattern, Random(kind.name))

    masked = {name: scrub_text(around.replace("{}", token))[0] for name, around in AROUND.items()}

    assert masked == {name: around.replace("{}", MASK) for name, around in AROUND.items()}


@pytest.mark.parametrize("before", [b"", b"a", b"ab"], ids=["first", "second", "third"])
def test_the_beginning_of_each_token_is_seen_in_base64(before: bytes) -> None:
    """In each of the three ways that it may be aligned; a short one with each letter behind it that may follow."""
    beginnings = sorted(literal_heads(tokens()))
    longer = [head + letter for head in beginnings for letter in (LETTERS if len(head) < _SEEN_ALONE else [""])]

    looked_for = re.compile(encoded_hint(beginnings))

    assert [one for one in longer if not looked_for.search(b64encode(before + one.encode() + b"==").decode())] == []
