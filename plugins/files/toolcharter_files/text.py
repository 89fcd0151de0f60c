"""Bytes to lines: which encoding a file is in, whether it is text at all, and a range of its lines."""

import codecs
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from toolcharter import OpenFile
from toolcharter_files.common import cut_at_border

CHUNK_BYTES = 65_536
FALLBACK = "latin-1"
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# As file(1) takes them: what stands in no text but a control character of its own use.
NO_TEXT = bytes(byte for byte in range(32) if byte not in b"\a\b\t\n\f\r\x1b")
Encoding = Literal[
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1250", "cp1251", "cp1252", "iso8859-15",
    "koi8-r", "shift_jis", "euc_jp", "euc_kr", "gb18030", "big5",
]  # fmt: skip


_PARTS = re.compile(r"[^\n]*\n|[^\n]+")


class NotText(Exception):
    """The file is binary, or not in the encoding that was said."""


class Slice(NamedTuple):
    """Some lines of a file."""

    content: str
    encoding: str
    start_line: int
    end_line: int
    """One less than `start_line` if there is no line."""
    total_lines: int | None
    """None if the file was not read to its end."""
    truncated: bool


def candidates(head: bytes) -> tuple[str, ...]:
    """The encodings a file that begins with *head* may be in, the likeliest first.

    Raises:
        NotText: It holds a NUL.
    """
    for mark, encoding in BOMS:
        if head.startswith(mark):
            return (encoding,)
    if b"\0" in head:
        raise NotText
    return ("utf-8",) if set(NO_TEXT) & set(head) else ("utf-8", FALLBACK)


def read_lines(file: OpenFile, encoding: str | None, first: int, last: float, max_bytes: int) -> Slice:
    """Lines *first* to *last* of *file*, both counted from 1 and included.

    Args:
        file: Read only as far as needed.
        encoding: None to find out: by a byte-order mark, else UTF-8, else Latin-1.
        first: The first line, at least 1.
        last: The last line; may be infinite.
        max_bytes: Of the content as UTF-8.

    Raises:
        NotText: A NUL among what was read, or bytes that do not decode.
    """
    for each in (encoding,) if encoding else candidates(file.read(CHUNK_BYTES)):
        try:
            return _take(_pieces(file, each), each, first, last, max_bytes)
        except UnicodeError:  # `utf-16` without its mark is one that is no UnicodeDecodeError
            continue
    raise NotText


def _pieces(file: OpenFile, encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    offset = 0
    while chunk := file.read(CHUNK_BYTES, offset):
        offset += len(chunk)
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _take(pieces: Iterator[str], encoding: str, first: int, last: float, max_bytes: int) -> Slice:
    line, kept, size, seen = 1, [], 0, ""
    for piece in pieces:
        if "\0" in piece:
            raise NotText
        seen = piece[-1:] or seen
        for part in _PARTS.findall(piece):
            if first <= line:
                kept.append(part)
                size += len(part.encode())
            line += part.endswith("\n")
            if size > max_bytes:
                return _cut("".join(kept), encoding, first, max_bytes)
            if line > last:
                return Slice("".join(kept), encoding, first, line - 1, None, truncated=False)
    total = line - (seen in {"", "\n"})
    return Slice("".join(kept), encoding, first, max(total, first - 1), total, truncated=False)


def _cut(content: str, encoding: str, first: int, max_bytes: int) -> Slice:
    """Whole lines as far as they go; the beginning of the first line if not even that fits."""
    fits = content.encode()[:max_bytes].decode(errors="ignore")
    whole = fits[: fits.rfind("\n") + 1]
    kept = whole or cut_at_border(content, len(fits))
    return Slice(kept, encoding, first, first + kept.count("\n") - bool(whole), None, truncated=True)
