"""Compile the patterns, each when it is first needed: google-re2's import and every pattern cost milliseconds."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from importlib import import_module
from itertools import chain
from typing import Any

from toolcharter.guards.secrets import known, patterns, places, tables
from toolcharter.guards.secrets.patterns import Family

Span = tuple[int, int]
Match = Callable[[bytes], Sequence[int]]
expression = re.compile
"""Compiles patterns that are used on short matches. Long texts are searched with google-re2's automaton."""
_GROUPS = 4096
"""For how many groups of known values patterns are cached: there are about log2 *n*, and one per 128 KB of values."""


class Hints:
    """One search for all families. Its match is the cheapest call that google-re2 offers."""

    match: Match
    """Returns the families that may occur in some bytes. If it returns none, the bytes contain no secret."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Compile again at the next use, since the known values have changed."""
        self.match = self._compile_and_match

    def _compile_and_match(self, data: bytes) -> Sequence[int]:
        groups = known.forms()
        first, *later = groups or ((),)
        match, more = _families_match(first), [_known_group_match(group) for group in later if group]
        self.match = found = partial(_match_all, match, more) if more else match
        if known.forms() != groups:  # Another thread has added a known value meanwhile.
            self.reset()
        return found(data)


hints = Hints()


def _match_all(match: Match, more: Sequence[Match], data: bytes) -> Sequence[int]:
    found = match(data)
    return [*found, Family.KNOWN] if Family.KNOWN not in found and any(one(data) for one in more) else found


@lru_cache(maxsize=2)
def _families_match(forms: tuple[bytes, ...]) -> Match:
    return _compile_set(patterns.hints(tables.tokens(), forms))


@lru_cache(maxsize=_GROUPS)
def _known_group_match(forms: tuple[bytes, ...]) -> Match:
    return _compile_set(["|".join(map(patterns.escape_literal, forms))])


def _compile_set(parts: Iterable[str]) -> Match:
    searched = import_module("re2").Set.SearchSet(_options())
    for part in filter(None, parts):
        searched.Add(part.encode())
    searched.Compile()
    # The set below the wrapper, which would check the argument's type at each call.
    match: Match = getattr(searched, "_set", searched).Match
    return match


def hinted_families(data: bytes) -> Sequence[int]:
    """Return the families that may occur in *data*."""
    return hints.match(data)


def add_secrets(values: Sequence[str]) -> None:
    """Mask *values* from now on, wherever they appear in this process.

    Args:
        values: Secrets. Those shorter than 8 bytes in UTF-8, and placeholders, are ignored.
    """
    if known.add(values):
        hints.reset()


def finder(family: int) -> Callable[..., Iterator[Span]]:
    """Return a function that finds the matches of *family* in some bytes, from left to right, from a position on."""
    if family != Family.KNOWN:
        return _family_finder(family)
    return partial(_find_all, [_known_finder(group) for group in known.forms() if group])


def _find_all(finders: Sequence[Callable[..., Iterator[Span]]], data: bytes, position: int = 0) -> Iterator[Span]:
    return chain.from_iterable(find(data, position) for find in finders)


@cache
def _family_finder(family: int) -> Callable[..., Iterator[Span]]:
    if family in (Family.TOKEN, Family.FLOATING):
        floating = family == Family.FLOATING
        return _compile_finder(patterns.token_pattern(kind for kind in tables.tokens() if bool(kind.hint) == floating))
    if family == Family.PLACED:
        return _compile_finder(places.PLACED, shared=b"\"'")
    return _compile_finder(
        {
            Family.LISTED: patterns.LISTED,
            Family.URL: patterns.URL,
            Family.COOKIE: patterns.COOKIE,
            Family.BLOCK: patterns.BLOCK,
            Family.OPENED: patterns.OPENED,
            Family.TABLE: patterns.TABLE,
            Family.WEB_KEY: patterns.KEY_OBJECT,
            Family.COLUMNS: patterns.COLUMNS,
        }[family]
    )


@lru_cache(maxsize=_GROUPS)
def _known_finder(forms: tuple[bytes, ...]) -> Callable[..., Iterator[Span]]:
    return _compile_finder("|".join(map(patterns.escape_literal, forms)))


@cache
def cut_token_finder() -> Callable[..., Iterator[Span]]:
    """Return a function that finds tokens that a line break cuts, with the first word of the next line."""
    return _compile_finder(cut_token_pattern() + r"[ \t]*[A-Za-z0-9_.~+/=-]+")


@cache
def cut_token_pattern() -> str:
    """The pattern of a line that ends in the beginning of a token."""
    return patterns.cut_token(kind for kind in tables.tokens() if not kind.hint)


@cache
def whole_token_finder() -> Callable[..., Iterator[Span]]:
    """Return a function that finds tokens in their full length."""
    return _compile_finder(patterns.whole_token(kind for kind in tables.tokens() if not kind.hint))


@cache
def opened_key_finder() -> Callable[..., Iterator[Span]]:
    """Return a function that finds keys whose value is on the lines below. A match includes the first such line."""
    return _compile_finder(patterns.OPENED_VALUE)


def tester(pattern: str) -> Callable[[bytes], bool]:
    """Return a function that says whether *pattern* is found in some bytes."""
    find = _compile_finder(pattern)
    return lambda data: any(True for _ in find(data))


def _compile_finder(pattern: str, *, shared: bytes = b"") -> Callable[..., Iterator[Span]]:
    """Return a function that finds *pattern*. A byte in *shared* that ends a match may begin the next match, too."""
    module = import_module("re2")
    # Below the wrapper: a match object would cost more than the match.
    match = module.compile(pattern.encode(), _options())._regexp.Match  # noqa: SLF001
    anchor = module._Anchor.UNANCHORED  # noqa: SLF001

    def find(data: bytes, position: int = 0) -> Iterator[Span]:
        stop = len(data)
        while position < stop:
            span = match(anchor, data, position, stop)[0]
            position = span[1]
            if position < 0:
                return
            yield span
            if shared and data[position - 1] in shared:
                position -= 1

    return find


def _options() -> Any:
    module = import_module("re2")
    options = module.Options()
    # In UTF-8 mode a secret next to an invalid byte is missed.
    options.encoding = module.Options.Encoding.LATIN1
    options.log_errors = False
    options.never_capture = True
    options.max_mem = 64 << 20  # In bytes: how large the automaton may become before it is built again.
    return options


@cache
def placed_expression() -> "re.Pattern[bytes]":
    """The expression that reads the value from a match of `PLACED`."""
    return re.compile(places.PLACED.encode())


@cache
def bare_key_expression() -> "re.Pattern[bytes]":
    """The expression for the beginning of a private key without its first and last line."""
    return re.compile(next(kind.pattern for kind in tables.tokens() if kind.name == "der-private-key").encode())


@cache
def key_before_expression() -> "re.Pattern[bytes]":
    """The expression for a telling key, up to the beginning of its value."""
    return re.compile(places.KEY_BEFORE.encode())
