"""The providers' tokens as data: text files in `tables`, one token a line, columns two or more blanks apart.

`floating.txt` has the tokens that begin with nothing of their own, and a column more: the part of them to look for.
Plain text and not TOML, because the first call of a process waits for it.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).with_name("tables")
_FLOATING = "floating"
_COLUMNS = re.compile(r" {2,}")


class Token(NamedTuple):
    """What the tokens of one kind look like."""

    family: str
    """The file that holds it."""
    name: str
    provider: str
    hint: str
    """A pattern that is cheap to look for, and without which there is no such token; empty: the pattern's beginning."""
    pattern: str
    """In google-re2's syntax; `\\b` at its beginning asks for a word of its own."""
    source: str
    """Where the shape is published."""


@cache
def tokens() -> tuple[Token, ...]:
    """All kinds, in the order of the files' names and lines."""
    return tuple(token for path in sorted(_FOLDER.glob("*.txt")) for token in _read(path))


def _read(path: Path) -> list[Token]:
    lines = (line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return [_token(path.stem, _COLUMNS.split(line)) for line in lines]


def _token(family: str, cells: list[str]) -> Token:
    if family != _FLOATING:
        cells.insert(2, "")
    return Token(family, *cells)
