"""Find values in the lines below their key: below a key that opens several lines, or below the head of a table."""

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum, auto
from functools import lru_cache
from typing import NamedTuple

from toolcharter.guards.secrets import engine, wrapped
from toolcharter.guards.secrets.engine import Span
from toolcharter.guards.secrets.extract import FAR
from toolcharter.guards.secrets.heuristics import (
    is_lone_password,
    is_made_of_words,
    is_path_or_address,
    is_placeholder,
    is_secret,
    is_strong,
)
from toolcharter.guards.secrets.known import is_telling
from toolcharter.guards.secrets.obfuscation import strip_obfuscation
from toolcharter.guards.secrets.patterns import Family

_WORD_LINE = re.compile(rb"([ \t]*)([A-Za-z0-9+/_.~!@#$%^&*-]+={0,2})\\?([\"']{0,3})[ \t]*(?:\r?\n|\Z)")
_OPEN_QUOTE = re.compile(rb"[\"']([A-Za-z0-9+/_.~-]+)\\?\r?\n\Z")
_INDENTED = re.compile(rb"[|>][+-]?[0-9]?[ \t]*\r?\n\Z")
_DOCUMENT = re.compile(rb"<<[-~]?[\"']?([A-Za-z_]+)[\"']?\\?[ \t]*\r?\n\Z")
_KEY_OF_HEAD = re.compile(rb"[^\s:=\"'\\]+")
_QUOTED = re.compile(rb"\"((?:[^\"\r\n]|\"\")*)\"")
_BLANKS = (b" ", b"\t")
_LONGEST_HEAD = 4096
"""In bytes: a longer line is not treated as the head of a value or a table."""
_MOST_CACHED = 4096
_NO_HEAD = -1
_MOST_MISSED = 20
"""How many lines without a separator may follow each other, since a cell may have line breaks. More end the table."""
# A column with only this name may contain words of a language, or names of sessions.
_TOKEN_NAME = re.compile(rb"(?i)(?:token|session|auth)s?")
_TOKEN_VALUE = re.compile(rb"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}")


def values_below_keys(data: bytes) -> Iterator[Span]:
    """Find the values in the lines below a key. If the lines are not one value, each word is checked by itself."""
    known = dict[bytes, tuple[Span, ...] | None]()
    single = dict[tuple[bytes, bytes], bool]()
    for start, stop in engine.opened_key_finder()(data):
        if stop - start > _LONGEST_HEAD:
            continue
        text = data[start:stop]
        if text in known:
            spans = known[text]
        else:
            spans = _values_right_below(text)
            if len(known) < _MOST_CACHED:
                known[text] = spans
        if spans is None or data[stop : stop + 1] in _BLANKS:
            yield from _values_below(data, start, single)
        else:
            for begin, end in spans:
                yield start + begin, start + end


def _values_right_below(text: bytes) -> tuple[Span, ...] | None:
    """The values in a key's line and the line below it; None if more lines may belong to them.

    An indented block ends at the first line that is not indented, so its only line can be judged alone.
    """
    return tuple(_values_below(text, 0, {})) if _opening_of(text[: text.index(b"\n") + 1]).is_indented else None


def _values_below(data: bytes, start: int, single: dict[tuple[bytes, bytes], bool]) -> Iterator[Span]:
    """Find the values in the lines below the key at *start*. *single* caches verdicts on lone lines by key and line."""
    end = data.index(b"\n", start) + 1
    head = data[start:end]
    opening = _opening_of(head)
    words = _words(data, start, end, opening)
    values = [data[slice(*span)] for span in words]
    if opening.is_block and len(words) == 1:
        is_secret_line = single.get((head, values[0]))
        if is_secret_line is None:
            is_secret_line = _is_lone_secret(values[0], head)
            if len(single) < _MOST_CACHED:
                single[head, values[0]] = is_secret_line
        yield from words if is_secret_line else ()
    elif _is_one_value(values):
        yield words[0][0], words[-1][1]
    else:
        yield from (span for span, value in zip(words, values, strict=True) if is_strong(value))


def _is_one_value(words: Sequence[bytes]) -> bool:
    return is_strong(b"".join(words)) and not any(map(is_made_of_words, words[:-1]))


def _is_lone_secret(value: bytes, head: bytes) -> bool:
    """Whether the only line below a key is a secret. It is checked as if it were in quotes beside the key."""
    key = _KEY_OF_HEAD.match(head)
    named = key is not None and (is_secret(value, key[0] + b': "', b"", quoted=True) or is_lone_password(value, key[0]))
    return named or is_strong(value)


def _heads(data: bytes, family: int) -> Iterator[Span]:
    return ((start, end) for start, end in engine.finder(family)(data) if end - start <= _LONGEST_HEAD)


class _Opening(NamedTuple):
    """The kind of value that begins at a line that ends in a key and its separator."""

    quoted: Span | None
    """The first word of the value, if it follows a quote; relative to the beginning of the line."""
    is_indented: bool
    end: bytes | None
    """The word that ends a shell's here-document."""
    is_block: bool


@lru_cache(maxsize=64)
def _opening_of(head: bytes) -> _Opening:
    quoted = _OPEN_QUOTE.search(head)
    document = _DOCUMENT.search(head)
    indented = _INDENTED.search(head) is not None
    return _Opening(
        quoted.span(1) if quoted else None,
        indented,
        document[1] if document else None,
        indented or document is not None,
    )


def _words(data: bytes, start: int, end: int, opening: _Opening) -> list[Span]:
    """The words below the line that ends at *end*, one per line, within `FAR`; first the word after an open quote."""
    words = [(start + opening.quoted[0], start + opening.quoted[1])] if opening.quoted else []
    for line in _lines(data, opening, end):
        words.append(line.span(2))
        if line[3]:
            return words
    # A quote that is not closed is no value.
    return [] if opening.quoted else words


def _lines(data: bytes, opening: _Opening, position: int) -> Iterator["re.Match[bytes]"]:
    """Yield the lines of one word from *position* on, up to the end of the value that *opening* begins."""
    limit = position + FAR
    indentation = b""
    while (line := _WORD_LINE.match(data, position)) and line.end() <= limit:
        indentation = indentation or line[1]
        if opening.is_indented and not (line[1] and line[1].startswith(indentation)):
            return
        if opening.end is not None and line[2] == opening.end:
            return
        yield line
        position = line.end()


class _Table(NamedTuple):
    head: Span
    names: list[bytes]
    rows: list[list[Span]]
    """The cells of each row. A row may be shorter or longer than the head."""
    stop: int
    is_open: bool
    """Whether the table may continue after the end of the text."""


def table_secrets(data: bytes) -> Iterator[Span]:
    """Find the secrets in a table's columns with telling names."""
    for table in _tables(data):
        columns = [place for place, name in enumerate(table.names) if is_telling(name.decode("latin-1"))]
        for row in table.rows:
            cells = [(row[place], table.names[place]) for place in columns if place < len(row)]
            yield from (cell for cell, name in cells if _is_secret(data[slice(*cell)], name))


def open_table(data: bytes) -> bytes:
    """The head of a table that may continue after the end of *data*, with its last complete row; or nothing."""
    tables = list(_tables(data))
    if not tables or not tables[-1].is_open:
        return b""
    last = tables[-1]
    like_head = (row for row in reversed(last.rows) if len(row) == len(last.names))
    ends = (data.find(b"\n", row[-1][1]) + 1 for row in like_head)
    end = next((end for end in ends if end), 0)
    return data[slice(*last.head)] + data[data.rfind(b"\n", 0, max(0, end - 1)) + 1 : end]


def _tables(data: bytes) -> Iterator[_Table]:
    done = 0
    for head in _heads(data, Family.TABLE):
        if head[0] >= done and not data.startswith(data[slice(*head)], head[1]):  # Else a row of the table above.
            table = _table(data, head)
            done = table.stop
            yield table


def _table(data: bytes, head: Span) -> _Table:
    """Read the table below *head*. Its first row must have as many cells as the head; later lines may be broken."""
    separator = data[_separator(data, *head)]
    names = [data[slice(*cell)] for cell in _cells(data, *head, separator)]
    has_number = any(name.isdigit() for name in names)
    rows: list[list[Span]] = []
    stop = position = head[1]
    missed = 0
    while position < len(data) and missed <= _MOST_MISSED:
        begin, position = position, data.find(b"\n", position) + 1 or len(data)
        row = _cells(data, begin, position, separator)
        if rows and len(row) == 1:
            missed += 1
            continue
        values = [data[slice(*cell)] for cell in row]
        if not (rows or len(row) == len(names)) or has_number or _contains_column_name(names, values):
            return _Table(head, names, rows, stop, is_open=False)
        rows.append(row)
        stop, missed = position, 0
    return _Table(head, names, rows, stop, is_open=missed <= _MOST_MISSED)


def _separator(data: bytes, start: int, end: int) -> int:
    return min(place for sign in b",;\t" if (place := data.find(sign, start, end)) >= 0)


def _contains_column_name(names: Sequence[bytes], values: Sequence[bytes]) -> bool:
    """Whether a value is the name of a column: then the line of *names* is a row of another table."""
    return any(value in names for value in values if value)


def _is_secret(value: bytes, name: bytes) -> bool:
    if _TOKEN_NAME.fullmatch(name):
        return is_strong(value) or _TOKEN_VALUE.fullmatch(value) is not None
    return not (b" " in value or is_placeholder(value) or is_path_or_address(value)) and is_secret(
        value, name + b'="', b"", quoted=True
    )


def _cells(data: bytes, start: int, stop: int, separator: int) -> list[Span]:
    """The cells of a line, without their quotes. A cell with an unclosed quote extends to the next separator."""
    stop = start + len(data[start:stop].rstrip(b"\r\n"))
    cells: list[Span] = []
    while start <= stop:
        quoted = _QUOTED.match(data, start, stop)
        end = quoted.end() if quoted else start
        end = data.find(separator, end, stop)
        end = stop if end < 0 else end
        cells.append(quoted.span(1) if quoted else (start, end))
        start = end + 1
    return cells


class OpenValueSearch:
    """Finds the head of a value above a line, in a text that arrives in pieces. Each line is examined only once."""

    def __init__(self) -> None:
        self._distances: dict[int, int] = {}
        """For each line's end, its distance in bytes from the nearest line above that opens a value, or `_NO_HEAD`."""

    def reset(self) -> None:
        """Forget all lines, because the text now begins elsewhere."""
        self._distances.clear()

    def may_continue(self, data: bytes, end: int) -> bool:
        """Whether the line of *data* that ends at *end* may belong to a value that continues after it."""
        between: list[Span] = []
        known, walked, position = self._distances, 0, end
        while position and position not in known:
            if walked > FAR:
                return False
            start = wrapped.start_of_joined(data, position)
            line = data[start:position]
            bare = strip_obfuscation(line)
            place = max(map(_role_of_line, dict.fromkeys((line, bare))))
            if place is not _LineRole.BETWEEN:
                known[position] = 0 if place is _LineRole.HEAD else _NO_HEAD
                break
            between.append((position, len(bare)))
            walked += len(bare)
            position = start
        distance = known.get(position, _NO_HEAD)
        for stop, length in reversed(between):
            distance = distance + length if 0 <= distance <= FAR - length else _NO_HEAD
            known[stop] = distance
        return distance != _NO_HEAD


class _LineRole(IntEnum):
    """The role of a line in a value. If it can be read in several ways, the greatest counts."""

    NEITHER = auto()
    BETWEEN = auto()
    HEAD = auto()


def _role_of_line(line: bytes) -> _LineRole:
    if any(True for _ in _heads(line, Family.OPENED)):
        return _LineRole.HEAD
    return _LineRole.BETWEEN if _WORD_LINE.fullmatch(line) else _LineRole.NEITHER
