"""The words that full text is searched by: the same for each database, whose own parsers never see the text."""

import re
import unicodedata

MAX_BYTES = 500_000
"""How much of a record's words is indexed; what comes behind is not found. A `tsvector` of PostgreSQL holds 1 MiB."""
MAX_WORD_CHARS = 100
_WORD = re.compile(r"\w+")
_COST = 8
"""What a word takes beside its letters in a `tsvector`, in bytes, at most."""


def words_of(text: str) -> list[str]:
    """The words of *text* in order, without case and accents."""
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
    """The word for a scope and a kind in the index of full text."""
    return f"s{scope}k{kind}"


def _plain(text: str) -> str:
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in parts if not unicodedata.combining(each)).casefold()
