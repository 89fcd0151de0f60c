"""Read a range of lines: detect a file's encoding, refuse binary files, and decode the lines."""

import codecs
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from toolcharter import OpenFile
from toolcharter_files.common import cut_between_tokens

CHUNK_BYTES = 65_536
FALLBACK = "latin-1"
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: this mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Control characters that do not occur in text; the same set as in file(1).
NON_TEXT_BYTES = bytes(byte for byte in range(32) if byte not in b"\a\b\t\n\f\r\x1b")
Encoding = Literal[
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1250", "cp1251", "cp1252", "iso8859-15",
    "koi8-r", "shift_jis", "euc_jp", "euc_kr", "gb18030", "big5",
]  # fmt: skip


_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class NotText(Exception):
    """The file is binary, or not in the given encoding."""


class TextSlice(NamedTuple):
    """Some lines of a file."""

    content: str
    encoding: str
    start_line: int
    end_line: int
    """One less than `start_line` if the slice has no lines."""
    total_lines: int | None
    """None if the file was not read to its end."""
    truncated: bool


def candidate_encodings(head: bytes) -> tuple[str, ...]:
    """Return the possible encodings of a file that begins with *head*, the likeliest first.

    Raises:
        NotText: *head* holds a NUL.
    """
    for mark, encoding in BOMS:
        if head.startswith(mark):
            return (encoding,)
    if b"\0" in head:
        raise NotText
    return ("utf-8",) if set(NON_TEXT_BYTES) & set(head) else ("utf-8", FALLBACK)


def read_lines(file: OpenFile, encoding: str | None, first: int, last: float, max_bytes: int) -> TextSlice:
    """Read the lines *first* to *last* of *file*, both counted from 1 and included.

    Args:
        file: The file; read only as far as needed.
        encoding: None to detect it: by a byte-order mark, else UTF-8, else Latin-1.
        first: The first line, at least 1.
        last: The last line; may be infinite.
        max_bytes: The limit for the content, in bytes of UTF-8.

    Raises:
        NotText: The part that was read holds a NUL or does not decode.
    """
    for each in (encoding,) if encoding else candidate_encodings(file.read(CHUNK_BYTES)):
        try:
            return _select_lines(_decode_chunks(file, each), each, first, last, max_bytes)
        except UnicodeError:  # not UnicodeDecodeError: `utf-16` without a mark raises the base class
            continue
    raise NotText


def _decode_chunks(file: OpenFile, encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    offset = 0
    while chunk := file.read(CHUNK_BYTES, offset):
        offset += len(chunk)
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _select_lines(pieces: Iterator[str], encoding: str, first: int, last: float, max_bytes: int) -> TextSlice:
    line, kept, size, seen = 1, [], 0, ""
    for piece in pieces:
        if "\0" in piece:
            raise NotText
        seen = piece[-1:] or seen
        for part in _LINE.findall(piece):
            if first <= line:
                kept.append(part)
                size += len(part.encode())
            line += part.endswith("\n")
            if size > max_bytes:
                return _cut_slice("".join(kept), encoding, first, max_bytes)
            if line > last:
                return TextSlice("".join(kept), encoding, first, line - 1, None, truncated=False)
    total = line - (seen in {"", "\n"})
    return TextSlice("".join(kept), encoding, first, max(total, first - 1), total, truncated=False)


def _cut_slice(content: str, encoding: str, first: int, max_bytes: int) -> TextSlice:
    """Keep the whole lines that fit; if not even the first fits, keep its beginning."""
    fits = content.encode()[:max_bytes].decode(errors="ignore")
    whole = fits[: fits.rfind("\n") + 1]
    kept = whole or cut_between_tokens(content, len(fits))
    return TextSlice(kept, encoding, first, first + kept.count("\n") - bool(whole), None, truncated=True)
