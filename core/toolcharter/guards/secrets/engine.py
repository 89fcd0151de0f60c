"""The patterns compiled, each when it is first needed: google-re2's import and every pattern cost milliseconds."""

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
"""For what is read in short matches: google-re2's automaton is for long texts."""
_GROUPS = 4096
"""Of known values whose patterns are kept: there are some log2 of the number of values, and one for each 128 KB of these."""


class Hints:
    """One search for all families. Its match is the cheapest call that google-re2 offers."""

    match: Match
    """Gives the families that may be in some bytes: none is certain, any means that they are worth scrubbing."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Compile anew when it is next needed, since something else is known by now."""
        self.match = self._compile_and_match

    def _compile_and_match(self, data: bytes) -> Sequence[int]:
        groups = known.forms()
        first, *later = groups or ((),)
        match, more = _families(first), [_one_family(group) for group in later if group]
        self.match = found = partial(_match_all, match, more) if more else match
        if known.forms() != groups:  # Another thread has made something known meanwhile.
            self.forget()
        return found(data)


hints = Hints()


def _match_all(match: Match, more: Sequence[Match], data: bytes) -> Sequence[int]:
    found = match(data)
    return [*found, Family.KNOWN] if Family.KNOWN not in found and any(one(data) for one in more) else found


@lru_cache(maxsize=2)
def _families(forms: tuple[bytes, ...]) -> Match:
    return _set_of(patterns.hints(tables.tokens(), forms))


@lru_cache(maxsize=_GROUPS)
def _one_family(forms: tuple[bytes, ...]) -> Match:
    return _set_of(["|".join(map(patterns.literal, forms))])


def _set_of(parts: Iterable[str]) -> Match:
    searched = import_module("re2").Set.SearchSet(_options())
    for part in filter(None, parts):
        searched.Add(part.encode())
    searched.Compile()
    # The set below the wrapper, which would ask each time whether it is given text.
    match: Match = getattr(searched, "_set", searched).Match
    return match


def hinted(data: bytes) -> Sequence[int]:
    """The families that may have something in *data*."""
    return hints.match(data)


def remember(values: Sequence[str]) -> None:
    """Mask *values* from now on, wherever they appear in this process.

    Args:
        values: Secrets, at least 8 bytes long in UTF-8; shorter ones, and places to fill in, are left out.
    """
    if known.add(values):
        hints.forget()


def finder(family: int) -> Callable[..., Iterator[Span]]:
    """What finds the whole matches of *family* in some bytes, from a position on, from left to right."""
    if family != Family.KNOWN:
        return _finder(family)
    return partial(_find_all, [_known(group) for group in known.forms() if group])


def _find_all(finders: Sequence[Callable[..., Iterator[Span]]], data: bytes, position: int = 0) -> Iterator[Span]:
    return chain.from_iterable(find(data, position) for find in finders)


@cache
def _finder(family: int) -> Callable[..., Iterator[Span]]:
    if family in (Family.TOKEN, Family.FLOATING):
        floating = family == Family.FLOATING
        return _compiled(patterns.token_pattern(kind for kind in tables.tokens() if bool(kind.hint) == floating))
    if family == Family.PLACED:
        return _compiled(places.PLACED, shared=b"\"'")
    return _compiled(
        {
            Family.LISTED: patterns.LISTED,
            Family.URL: patterns.URL,
            Family.COOKIE: patterns.COOKIE,
            Family.BLOCK: patterns.BLOCK,
            Family.OPENED: patterns.OPENED,
            Family.TABLE: patterns.TABLE,
            Family.WEB_KEY: patterns.KEY_OBJECT,
        }[family]
    )


@lru_cache(maxsize=_GROUPS)
def _known(forms: tuple[bytes, ...]) -> Callable[..., Iterator[Span]]:
    return _compiled("|".join(map(patterns.literal, forms)))


@cache
def cut_tokens() -> Callable[..., Iterator[Span]]:
    """What finds tokens that the end of a line cuts, with the word that the next line begins with."""
    return _compiled(cut_token_pattern() + r"[ \t]*[A-Za-z0-9_.~+/=-]+")


@cache
def cut_token_pattern() -> str:
    """Finds a line that ends in the beginning of a token."""
    return patterns.cut_token(kind for kind in tables.tokens() if not kind.hint)


@cache
def whole_tokens() -> Callable[..., Iterator[Span]]:
    """What finds tokens in their full length."""
    return _compiled(patterns.whole_token(kind for kind in tables.tokens() if not kind.hint))


@cache
def opened() -> Callable[..., Iterator[Span]]:
    """Finds keys whose value is on the lines below them; a match includes the first of these lines."""
    return _compiled(patterns.OPENED_VALUE)


def tester(pattern: str) -> Callable[[bytes], bool]:
    """A function that says whether *pattern* is found in some bytes."""
    find = _compiled(pattern)
    return lambda data: any(True for _ in find(data))


def _compiled(pattern: str, *, shared: bytes = b"") -> Callable[..., Iterator[Span]]:
    """What finds *pattern*; where a match ends with one of the bytes *shared*, the next one may begin with it."""
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
            position -= data[position - 1] in shared

    return find


def _options() -> Any:
    module = import_module("re2")
    options = module.Options()
    # In UTF-8 mode a secret next to an invalid byte is missed.
    options.encoding = module.Options.Encoding.LATIN1
    options.log_errors = False
    options.never_capture = True
    options.max_mem = 64 << 20  # In bytes: what the automaton may hold before it starts over.
    return options


@cache
def placed() -> "re.Pattern[bytes]":
    """Reads what `PLACED` found."""
    return re.compile(places.PLACED.encode())


@cache
def bare_key() -> "re.Pattern[bytes]":
    """The beginning of a private key without its first and last line."""
    return re.compile(next(kind.pattern for kind in tables.tokens() if kind.name == "der-private-key").encode())


@cache
def key_before() -> "re.Pattern[bytes]":
    """A telling key, up to where its value begins."""
    return re.compile(patterns.KEY_BEFORE.encode())
