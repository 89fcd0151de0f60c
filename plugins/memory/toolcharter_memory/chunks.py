"""Splits documents into chunks: at blank lines, at most 1,000 characters, each with the text of one writer."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from toolcharter_memory.records import Span

MAX_CHARS = 1_000
"""How long a chunk is at most, in characters. Source: 004, internal/store/pg/memory_docs.go."""

_WORD = re.compile(r"\w+")


class Chunk(NamedTuple):
    """Some lines of a document, all of one writer."""

    start_line: int
    end_line: int
    text: str
    span: Span

    @property
    def digest(self) -> str:
        """A hash of the chunk's lines, text and span."""
        return sha256(repr((self.start_line, self.end_line, self.text, self.span)).encode()).hexdigest()[:32]


def split_chunks(content: str, spans: Sequence[Span]) -> Iterator[Chunk]:
    """Yield the chunks of a document, in order; blank lines between them belong to no chunk."""
    for number, (first, lines) in enumerate(split_by_author(content, spans)):
        for start, end, text in _pack_paragraphs(lines, first):
            yield Chunk(start, end, text, spans[number])


def split_by_author(content: str, spans: Sequence[Span]) -> Iterator[tuple[int, list[str]]]:
    """Yield, for each of *spans*, the number of its first line and its lines."""
    lines = content.removesuffix("\n").split("\n")
    starts = [span.start_line for span in spans]
    for start, following in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        yield start, lines[start - 1 : following - 1]


def _pack_paragraphs(lines: list[str], first: int) -> Iterator[tuple[int, int, str]]:
    """Join consecutive paragraphs, as many as fit into a chunk."""
    start, end, text = 0, 0, ""
    for begin, stop, paragraph in _paragraphs(lines, first):
        joined = "\n".join(lines[start - first : stop - first + 1]) if text else paragraph
        if text and (len(joined) > MAX_CHARS or begin == end):
            yield start, end, text
            text = ""
        start, text = (start, joined) if text else (begin, paragraph)
        end = stop
    if text:
        yield start, end, text


def _paragraphs(lines: list[str], first: int) -> Iterator[tuple[int, int, str]]:
    """Yield paragraphs with the numbers of their first and last line; split those that are too long."""
    start, kept = first, list[str]()
    for number, line in enumerate([*lines, ""], first):
        if line.strip() and sum(map(len, kept)) + len(kept) + len(line) <= MAX_CHARS:
            start = start if kept else number
            kept.append(line)
            continue
        if kept:
            yield start, number - 1, "\n".join(kept)
            kept = []
        if line.strip():
            *whole, rest = _split_line(line)
            for piece in whole:
                yield number, number, piece
            start, kept = number, [rest]


def _split_line(line: str) -> list[str]:
    """Split a line into pieces of at most `MAX_CHARS`, at blanks if possible."""
    return re.findall(rf"(?s:.{{1,{MAX_CHARS}}}(?= |$)|.{{1,{MAX_CHARS}}})", line) or [line]


def words_of(text: str) -> list[str]:
    """Return the words of *text* without case and accents, as stores compare them."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return _WORD.findall("".join(each for each in parts if not unicodedata.combining(each)).casefold())
