"""Values in columns whose name is a key: below the head of a table with bars, and in the rows that SQL inserts."""

import re
from collections.abc import Iterator

from toolcharter.guards.secrets import engine
from toolcharter.guards.secrets.engine import Span
from toolcharter.guards.secrets.heuristics import is_path_or_address, is_placeholder, is_secret, is_strong
from toolcharter.guards.secrets.known import is_telling
from toolcharter.guards.secrets.patterns import Family

_AROUND = b' \t\r\n*`"[]'
_DASHES = re.compile(rb"\n[ \t|:+]*--")
_LINE = re.compile(rb"[^\r\n]*\|[^\r\n]*(?:\r?\n|\Z)")
_CELL = re.compile(rb"[^|\r\n]+")
_NAMES = re.compile(rb"\(([^()]*)\)")
_ROW = re.compile(rb"[\s,]*+\(")
_VALUE = re.compile(
    rb"\s*+(?:[A-Za-z]{0,2}'((?:[^'\\]|\\.|'')*+)'|[^,()']*+(?:\([^()]*+\))?+[^,()']*+)\s*+([,)])", re.DOTALL
)
_PASSWORD = re.compile(rb"(?i)pass|pwd")
_MIXED = re.compile(rb"(?=.*[A-Za-z])(?=.*[0-9])(?=.*[!@#$%^*~?])")


def column_secrets(data: bytes) -> Iterator[Span]:
    """The values of both kinds."""
    done = 0
    for start, end in engine.finder(Family.COLUMNS)(data):
        if start >= done:  # Else it stands in a value above.
            is_table = _DASHES.search(data, start, end) is not None
            found, done = _bar_table_values(data, start, end) if is_table else _sql_insert_values(data, start, end)
            yield from found


def open_table_head(data: bytes) -> bytes:
    """The head of a table with bars that may go on after the end of *data*."""
    heads = [head for head in engine.finder(Family.COLUMNS)(data) if _DASHES.search(data, *head)]
    return data[slice(*heads[-1])] if heads and _bar_table_values(data, *heads[-1])[1] == len(data) else b""


def _bar_table_values(data: bytes, start: int, end: int) -> tuple[list[Span], int]:
    """The values below the head from *start* to *end*, and where the table ends."""
    names = [data[slice(*cell)] for cell in _cells(data, start, data.index(b"\n", start) + 1)]
    places = [(place, name) for place, name in enumerate(names) if is_telling(name.decode("latin-1"))]
    found: list[Span] = []
    while line := _LINE.match(data, end):
        cells = _cells(data, *line.span())
        values = [(cells[place], name) for place, name in places if place < len(cells)]
        found += (cell for cell, name in values if _is_secret_cell(data[slice(*cell)], name))
        end = line.end()
    return found, end


def _cells(data: bytes, start: int, end: int) -> list[Span]:
    """The cells of a line with bars, without blanks, quotes and marks around them."""
    line = data[start:end]
    first = len(line) - len(line.lstrip(b" \t|"))
    cells: list[Span] = []
    for cell in _CELL.finditer(data, start + first, end):
        begin = cell.end() - len(cell[0].lstrip(_AROUND))
        cells.append((begin, max(begin, cell.start() + len(cell[0].rstrip(_AROUND)))))
    return cells


def _is_secret_cell(value: bytes, name: bytes) -> bool:
    """A table of a manual has words, options and keys of a keyboard in such a column."""
    if b" " in value or is_placeholder(value) or is_path_or_address(value):
        return False
    return is_strong(value) or (_PASSWORD.search(name) is not None and _MIXED.match(value) is not None)


def _sql_insert_values(data: bytes, start: int, end: int) -> tuple[list[Span], int]:
    """The values of the rows behind the names from *start* to *end*, and where the rows end."""
    listed = _NAMES.search(data, start, end)
    names = [name.strip(_AROUND) for name in listed[1].split(b",")] if listed else []
    columns = [(name, is_telling(name.decode("latin-1"))) for name in names]
    found: list[Span] = []
    while row := _ROW.match(data, end):
        end = row.end()
        for name, is_key in columns:
            value = _VALUE.match(data, end)
            if value is None:
                return found, end
            end = value.end()
            if is_key and value[1] and is_secret(value[1], name + b'="', b"'", quoted=True):
                found.append(value.span(1))
            if value[2] == b")":
                break
    return found, end
