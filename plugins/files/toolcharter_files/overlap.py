"""Find a path that two globs both match. The search walks through both globs at once."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from toolcharter_files.globs import Glob, expand_braces

Ranges = tuple[tuple[int, int], ...]
Position = tuple[int, int]
"""An index into each of the two sequences."""
Steps = Callable[[Position], Iterator[tuple[Position, str]]]
"""Yields the positions that can follow a position, each with the text of that step."""
# Every character of a name: no NUL, no slash.
_ANY: Ranges = ((0x20, 0x2E), (0x30, 0x10FFFF), (0x01, 0x1F))
_DOUBLE_STAR = "**"


class Star(NamedTuple):
    """Any number of characters in a name."""


Token = Ranges | Star


def common_path(one: Glob, other: Glob) -> str | None:
    """Return a path that both globs match; None if there is none.

    Args:
        one: A glob from `parse_whole_glob`.
        other: Another glob from `parse_whole_glob`.
    """
    for first in _split_alternatives(one):
        for second in _split_alternatives(other):
            found = _common_match(first, second)
            if found is not None:
                return found
    return None


@lru_cache(1024)
def _split_alternatives(glob: Glob) -> tuple[tuple[str, ...], ...]:
    """The components of each alternative. `**` matches any number of components, also none."""
    return tuple(tuple(_components(text, anchored=glob.anchored)) for text in expand_braces(glob.rest))


def _components(text: str, *, anchored: bool) -> Iterator[str]:
    if not anchored:
        yield _DOUBLE_STAR
    yield from text.split("/")
    if text.rpartition("/")[2] == _DOUBLE_STAR:
        yield "*"  # a final `**` matches at least one component


def _common_match(one: Sequence[str], other: Sequence[str]) -> str | None:
    def steps(at: Position) -> Iterator[tuple[Position, str]]:
        first, second = at
        left = one[first] if first < len(one) else None
        right = other[second] if second < len(other) else None
        if left == _DOUBLE_STAR:
            yield (first + 1, second), ""
        if right == _DOUBLE_STAR:
            yield (first, second + 1), ""
        if left is None or right is None:
            return
        name = _common_name(left, right)
        if name is not None:
            yield (first + (left != _DOUBLE_STAR), second + (right != _DOUBLE_STAR)), name

    names = _shortest_steps((0, 0), (len(one), len(other)), steps)
    return None if names is None else "/".join(name for name in names if name)


@lru_cache(4096)
def _common_name(left: str, right: str) -> str | None:
    """A name that both components match, with `**` read as `*`; None if there is none."""
    one, other = _tokens(left), _tokens(right)

    def steps(at: Position) -> Iterator[tuple[Position, str]]:
        first, second = at
        a = one[first] if first < len(one) else None
        b = other[second] if second < len(other) else None
        if isinstance(a, Star):
            yield (first + 1, second), ""
        if isinstance(b, Star):
            yield (first, second + 1), ""
        if a is None or b is None:
            return
        char = _common_character(_ANY if isinstance(a, Star) else a, _ANY if isinstance(b, Star) else b)
        if char is not None and not (isinstance(a, Star) and isinstance(b, Star)):
            yield (first + (not isinstance(a, Star)), second + (not isinstance(b, Star))), char

    found = _shortest_steps((0, 0), (len(one), len(other)), steps)
    # Two stars alone also match the empty text, which is not a name.
    return None if found is None else "".join(found) or "x"


def _shortest_steps(start: Position, end: Position, steps: Steps) -> list[str] | None:
    """The texts of the steps on a shortest way from *start* to *end*, in order; None if there is no way."""
    previous: dict[Position, tuple[Position, str]] = {start: (start, "")}
    queue = deque([start])
    while queue:
        at = queue.popleft()
        if at == end:
            return _steps_to(previous, at)
        for after, text in steps(at):
            if after not in previous:
                previous[after] = (at, text)
                queue.append(after)
    return None


def _steps_to(previous: dict[Position, tuple[Position, str]], at: Position) -> list[str]:
    texts = list[str]()
    while previous[at][0] != at:
        at, text = previous[at]
        texts.append(text)
    return texts[::-1]


@lru_cache(1024)
def _tokens(name: str) -> tuple[Token, ...]:
    """The tokens of one component, parsed as `globs.name_expression` parses it."""
    found, at = list[Token](), 0
    while at < len(name):
        char = name[at]
        at += 1
        if char == "*":
            found.append(Star())
        elif char == "?":
            found.append(_ANY)
        elif char == "[" and (end := name.find("]", at + 1 + (name[at : at + 1] == "!"))) > 0:
            found.append(_parse_class(name[at:end]))
            at = end + 1
        else:
            if char == "\\" and at < len(name):
                char, at = name[at], at + 1
            found.append(((ord(char), ord(char)),))
    return tuple(found)


def _parse_class(inner: str) -> Ranges:
    negated = inner[:1] in {"!", "^"}
    ranges, at, body = list[tuple[int, int]](), 0, inner[negated:]
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            ranges.append((ord(body[at]), ord(body[at + 2])))
            at += 3
        else:
            ranges.append((ord(body[at]), ord(body[at])))
            at += 1
    return tuple(_subtract(_ANY, ranges)) if negated else tuple(ranges)


def _subtract(ranges: Ranges, taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    left = list(ranges)
    for low, high in taken:
        left = [part for start, end in left for part in ((start, min(end, low - 1)), (max(start, high + 1), end))]
        left = [(start, end) for start, end in left if start <= end]
    yield from left


def _common_character(one: Ranges, other: Ranges) -> str | None:
    for low, high in one:
        for start, end in other:
            for first, last in _ANY:
                char = max(low, start, first)
                if char <= min(high, end, last):
                    return chr(char)
    return None
