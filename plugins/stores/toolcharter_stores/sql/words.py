"""Splits full text into words to index: the same way for every database, instead of by the database's own parser."""

import re
import unicodedata

MAX_BYTES = 500_000
"""The most bytes of a record's words that are indexed; later words are not found. A `tsvector` holds up to 1 MiB."""
MAX_WORD_CHARS = 100
_WORD = re.compile(r"\w+")
_COST = 8
"""The most bytes that a `tsvector` needs for a word in addition to its letters."""


def words_of(text: str) -> list[str]:
    """Return the words of *text* in order, without case and accents."""
    found: list[str] = []
    room = MAX_BYTES
    for word in _WORD.findall(_plain(text)):
        cut = word[:MAX_WORD_CHARS]
        room -= len(cut.encode(errors="replace")) + _COST
        if room < 0:
            break
        found.append(cut)
    return found


def text_place(scope: int, kind: str) -> str:
    """Return the word that marks a scope and a kind in the full-text index."""
    return f"s{scope}k{kind}"


def _plain(text: str) -> str:
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in parts if not unicodedata.combining(each)).casefold()
