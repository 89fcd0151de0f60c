"""Scrub bytes and text: a boolean search first, spans only on a hit."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from toolcharter.guards.secrets.patterns import EXACT, HINT, PREFIXED_GROUPS, QUOTED_GROUPS
from toolcharter.guards.secrets.shapes import is_masked_token, is_secret

MASK = "[REDACTED]"
"""Always the same: a mask as long as the secret would still tell its length."""

_MASK_BYTES = MASK.encode()
_SENTENCE_END = b".:!?"


def find(data: bytes) -> bool:
    """Whether *data* may hold a secret; no is certain, yes means that it is worth scrubbing.

    Args:
        data: Any bytes: text in UTF-8, also broken, or a JSON document.
    """
    return bool((_hint.match or _hint.compile())(data))


def scrub_text(text: str) -> tuple[str, int]:
    """Mask the secrets of *text*.

    Returns:
        The text, the same object if it is clean, and how many spans were masked. Keys, quotes and
        everything else stay.
    """
    # A lone surrogate may stand in a text that was decoded from a file name.
    data = text.encode("utf-8", "surrogatepass")
    masked, count = scrub_bytes(data)
    return (masked.decode("utf-8", "surrogatepass"), count) if count else (text, 0)


def scrub_bytes(data: bytes) -> tuple[bytes, int]:
    """Mask the secrets of *data*, in any encoding that contains ASCII; the same object if it is clean."""
    if not find(data):
        return data, 0
    parts: list[bytes] = []
    position = 0
    for start, end in _spans(data, 0, len(data), nested=False):
        parts += (data[position:start], _MASK_BYTES)
        position = end
    if not parts:
        return data, 0
    parts.append(data[position:])
    return b"".join(parts), len(parts) // 2


def _spans(data: bytes, begin: int, stop: int, *, nested: bool) -> Iterator[tuple[int, int]]:
    for match in _exact().finditer(data, begin, stop):
        group = match.lastindex
        start, end = match.span(group)
        if group in PREFIXED_GROUPS:
            if not is_masked_token(data[start:end]):
                yield start, end
            continue
        quoted = group in QUOTED_GROUPS
        if is_secret(data[start:end], data[match.start() : start], data[end : end + 1], quoted=quoted):
            yield start, end if quoted else start + len(data[start:end].rstrip(_SENTENCE_END))
        elif not nested:
            # Once only: a value that was let pass is looked into, and what is in there not again; more would
            # cost quadratic time.
            yield from _spans(data, start, end, nested=True)


# Imported and compiled on first use: both cost milliseconds that a start without secrets saves.


class _Hint:
    """A set of one pattern: its match is the cheapest call that google-re2 offers for yes or no."""

    match: Callable[[bytes], Sequence[int]] | None = None

    def compile(self) -> Callable[[bytes], Sequence[int]]:
        hint = import_module("re2").Set.SearchSet(_options())
        hint.Add(HINT)
        hint.Compile()
        # The set below the wrapper, which would ask each time whether it is given text.
        match: Callable[[bytes], Sequence[int]] = getattr(hint, "_set", hint).Match
        self.match = match
        return match


_hint = _Hint()


@cache
def _exact() -> Any:
    return import_module("re2").compile(EXACT, _options())


def _options() -> Any:
    re2 = import_module("re2")
    options = re2.Options()
    # In UTF-8 mode a secret next to an invalid byte is missed.
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return options
