"""Values that stand in the lines below what tells of them: below a key that opens several, or the head of a table."""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum, auto

from toolcharter.guards.secrets import engine, wrapped
from toolcharter.guards.secrets.engine import Span
from toolcharter.guards.secrets.judged import FAR
from toolcharter.guards.secrets.known import is_telling
from toolcharter.guards.secrets.patterns import Family
from toolcharter.guards.secrets.shapes import is_fill_in, is_named, is_place, is_secret, is_strong
from toolcharter.guards.secrets.veils import bare_of

_WORD_LINE = re.compile(rb"([ \t]*)([A-Za-z0-9+/_.~!@#$%^&*-]+={0,2})\\?([\"']{0,3})[ \t]*(?:\r?\n|\Z)")
_OPEN_QUOTE = re.compile(rb"[\"']([A-Za-z0-9+/_.~-]+)\\?\r?\n\Z")
_INDENTED = re.compile(rb"[|>][+-]?[0-9]?[ \t]*\r?\n\Z")
_DOCUMENT = re.compile(rb"<<[-~]?[\"']?([A-Za-z_]+)[\"']?\\?[ \t]*\r?\n\Z")
_CELL = re.compile(rb"\"((?:[^\"\r\n]|\"\")*)\"|([^,;\t\r\n\"]*)")
_SEPARATOR = re.compile(rb"[,;\t]")
_LONGEST_HEAD = 4096
"""In bytes: a longer line tells of nothing below it."""
_NO_HEAD = -1
_TOKEN_NAME = re.compile(rb"(?i)token|session|auth")


def opened(data: bytes) -> Iterator[Span]:
    """The values whose lines follow a key; each word for itself if they are not one value."""
    for start, end in _heads(data, Family.OPENED):
        words = _words(data, start, end)
        if _is_one([data[slice(*span)] for span in words]):
            yield words[0][0], words[-1][1]
        else:
            yield from (span for span in words if is_strong(data[slice(*span)]))


def _is_one(words: Sequence[bytes]) -> bool:
    return is_strong(b"".join(words)) and not any(map(is_named, words[:-1]))


def _heads(data: bytes, family: int) -> Iterator[Span]:
    return ((start, end) for start, end in engine.finder(family)(data) if end - start <= _LONGEST_HEAD)


def _words(data: bytes, start: int, end: int) -> list[Span]:
    """The words below the line that ends at *end*, one a line, within reach; with the first one behind a quote."""
    quoted = _OPEN_QUOTE.search(data, start, end)
    words = [quoted.span(1)] if quoted else []
    for line in _lines(data, start, end):
        words.append(line.span(2))
        if line[3]:
            return words
    # A quote that nothing closes is no value.
    return [] if quoted else words


def _lines(data: bytes, start: int, position: int) -> Iterator["re.Match[bytes]"]:
    """The lines of one word below the one from *start* to *position*, up to the end of what it opens."""
    limit = position + FAR
    indentation = b""
    indented = _INDENTED.search(data, start, position)
    document = _DOCUMENT.search(data, start, position)
    while (line := _WORD_LINE.match(data, position)) and line.end() <= limit:
        indentation = indentation or line[1]
        if indented and not (line[1] and line[1].startswith(indentation)):
            return
        if document and line[2] == document[1]:
            return
        yield line
        position = line.end()


def tabled(data: bytes) -> Iterator[Span]:
    """The values in the columns of a table whose names tell."""
    done = 0
    for start, end in _heads(data, Family.TABLE):
        if start < done:  # A row of the table above.
            continue
        names = [data[slice(*cell)] for cell in _cells(data, start, end)]
        columns = [place for place, name in enumerate(names) if is_telling(name.decode("latin-1"))]
        for row in _rows(data, start, end):
            values = [data[slice(*cell)] for cell in row]
            if not _is_head(names, values):
                break
            done = row[-1][1]
            yield from (row[place] for place in columns if _is_secret(values[place], names[place]))


def _is_head(names: Sequence[bytes], values: Sequence[bytes]) -> bool:
    """Yes if *names* stand above a table, and are not a row of one themselves."""
    return not any(name.isdigit() for name in names) and not any(value in names for value in values if value)


def _is_secret(value: bytes, name: bytes) -> bool:
    if _TOKEN_NAME.search(name):
        return is_strong(value)
    return not (b" " in value or is_fill_in(value) or is_place(value)) and is_secret(
        value, name + b'="', b"", quoted=True
    )


def _rows(data: bytes, start: int, end: int) -> Iterator[Sequence[Span]]:
    """The lines behind a head, up to the first that has another number of cells."""
    count = len(_cells(data, start, end))
    limit = end + FAR
    while end < len(data) and (stop := data.find(b"\n", end) + 1 or len(data)) <= limit:
        row = _cells(data, end, stop)
        if not row or len(row) != count:
            return
        yield row
        end = stop


def _cells(data: bytes, start: int, stop: int) -> list[Span]:
    stop = start + len(data[start:stop].rstrip(b"\r\n"))
    cells: list[Span] = []
    while start <= stop and (cell := _CELL.match(data, start, stop)):
        cells.append(cell.span(cell.lastindex or 0))
        start = cell.end() + 1
        if start <= stop and not _SEPARATOR.match(data, cell.end(), stop):
            return []
    return cells


class Upwards:
    """What the lines of a text that arrives in pieces go on with: each is looked at once, however often it is asked for."""

    def __init__(self) -> None:
        self._below: tuple[dict[int, int], ...] = ({}, {})
        """By where a line ends: how far below the nearest head it does; `_NO_HEAD`. For values, and for tables."""

    def forget(self) -> None:
        """The text begins elsewhere from now on."""
        for known in self._below:
            known.clear()

    def goes_on(self, data: bytes, end: int) -> bool:
        """Whether the line of *data* that ends at *end* may belong to a value, or a table, with what follows."""
        return any(
            self._distance(data, end, *each) != _NO_HEAD
            for each in zip(self._below, (_in_value, _in_table), strict=True)
        )

    def _distance(self, data: bytes, end: int, known: dict[int, int], place_of: Callable[[bytes], "_Place"]) -> int:
        between: list[Span] = []
        walked = 0
        while end and end not in known:
            if walked > FAR:
                return _NO_HEAD
            start = wrapped.start_of(data, end)
            line = data[start:end]
            bare = bare_of(line)
            place = max(map(place_of, dict.fromkeys((line, bare))))
            if place is not _Place.BETWEEN:
                known[end] = 0 if place is _Place.HEAD else _NO_HEAD
                break
            between.append((end, len(bare)))
            walked += len(bare)
            end = start
        distance = known.get(end, _NO_HEAD)
        for stop, length in reversed(between):
            distance = distance + length if 0 <= distance <= FAR - length else _NO_HEAD
            known[stop] = distance
        return distance


class _Place(IntEnum):
    """What a line may be to a value; the greatest counts, if it can be read in several ways."""

    NEITHER = auto()
    BETWEEN = auto()
    HEAD = auto()


def _in_value(line: bytes) -> _Place:
    if any(True for _ in _heads(line, Family.OPENED)):
        return _Place.HEAD
    return _Place.BETWEEN if _WORD_LINE.fullmatch(line) else _Place.NEITHER


def _in_table(line: bytes) -> _Place:
    if not _SEPARATOR.search(line):
        return _Place.NEITHER
    return _Place.HEAD if any(True for _ in _heads(line, Family.TABLE)) else _Place.BETWEEN
