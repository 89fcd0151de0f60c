"""Finding the first glob that matches, beside matching one after the other, on subjects that match few or none."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from random import Random
from string import ascii_lowercase, digits

from toolcharter.policy.index import GlobIndex
from toolcharter.profile.globs import parse_glob

FEW, MANY = 10, 10_000
STEMS = (
    "build",
    "cargo",
    "curl",
    "deploy",
    "docker",
    "git",
    "kubectl",
    "npm",
    "pip",
    "push",
    "secret",
    "test",
    "token",
)
SHAPES = ("{} {}", "{} {} *", "*{}*")

choose = Random(1)


def word() -> str:
    """A stem that many share and a few characters of its own."""
    return choose.choice(STEMS) + "".join(choose.choices(ascii_lowercase + digits, k=choose.randint(3, 6)))


def rules(shapes: Sequence[str], number: int) -> list[str]:
    """So many globs, the shapes in turn."""
    return [shapes[ordinal % len(shapes)].format(word(), word()) for ordinal in range(number)]


def indexed(texts: Sequence[str]) -> GlobIndex:
    """What a profile does with its rules when it is built."""
    return GlobIndex([parse_glob(text) for text in texts])


def regular(text: str) -> str:
    """The glob as a regular expression."""
    return ".*".join(map(re.escape, text.split("*")))


def asking(first: Callable[[str], object]) -> Callable[[], None]:
    """An operation that asks for one subject after the other."""
    following: Iterator[str] = cycle(subjects)

    def ask() -> None:
        first(next(following))

    return ask


mixed, starred = rules(SHAPES, MANY), rules(SHAPES[-1:], MANY)
mixed_patterns = [regular(text) for text in mixed]
starred_compiled = [re.compile(regular(text), re.DOTALL) for text in starred]
subjects = [f"{word()} {word()} --{word()}={number}" for number in range(20_000)]


def one_by_one(subject: str) -> int | None:
    """Linear matching, with patterns compiled beforehand."""
    for ordinal, pattern in enumerate(starred_compiled):
        if pattern.fullmatch(subject):
            return ordinal
    return None


def build() -> None:
    """Read and index the rules."""
    indexed(mixed)


def compile_each() -> None:
    """Compile their regular expressions, which are there already."""
    re.purge()
    for pattern in mixed_patterns:
        re.compile(pattern, re.DOTALL)


OPERATIONS = {
    "few": asking(indexed(mixed[:FEW]).first),
    "many": asking(indexed(mixed).first),
    "few starred": asking(indexed(starred[:FEW]).first),
    "many starred": asking(indexed(starred).first),
    "one by one": asking(one_by_one),
    "build": build,
    "compile": compile_each,
}
