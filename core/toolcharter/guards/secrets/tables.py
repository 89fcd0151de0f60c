"""Read the shapes of providers' tokens: text files in `tables`, one kind a line, columns two or more blanks apart.

`floating.txt` lists the tokens without a beginning of their own. It has one column more: a part of them that is
searched for first. The files are plain text and not TOML, because the first call of a process waits for them.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).with_name("tables")
_FLOATING = "floating"
_COLUMNS = re.compile(r" {2,}")


class Token(NamedTuple):
    """The shape of one kind of token."""

    family: str
    """The name of the file that lists it."""
    name: str
    provider: str
    hint: str
    """A cheap pattern that each token of this kind contains; if empty, the pattern's beginning is used."""
    pattern: str
    """In google-re2's syntax. `\\b` at its beginning requires that the token begins a word."""
    source: str
    """The publication of the shape."""


@cache
def tokens() -> tuple[Token, ...]:
    """Return all kinds of tokens, in the order of the files' names and lines."""
    return tuple(token for path in sorted(_FOLDER.glob("*.txt")) for token in _read(path))


def _read(path: Path) -> list[Token]:
    lines = (line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return [_token(path.stem, _COLUMNS.split(line)) for line in lines]


def _token(family: str, cells: list[str]) -> Token:
    if family != _FLOATING:
        cells.insert(2, "")
    return Token(family, *cells)
