"""Reads event files line by line: plain, compressed, or standard input; a long file in little memory."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import bz2
    import gzip
    import lzma
else:
    bz2 = lazy("bz2")
    gzip = lazy("gzip")
    lzma = lazy("lzma")

LONGEST_LINE = 1 << 24
"""In bytes. A longer line is handed on in pieces, none of which is an event."""
_STEP = 2000
_NOT_READ = (".zst", ".lz4", ".Z")


class Line(NamedTuple):
    """One line of a file."""

    file: str
    number: int
    """From 1 on."""
    raw: bytes


def lines_of(files: Sequence[str]) -> Iterator[Line]:
    """The lines of all *files* in their order; `-` is standard input. On a terminal a bar shows how far it is.

    Raises:
        UsageError: If a file cannot be read, or is compressed in a way that Python does not read.
    """
    sizes = {name: _size(name) for name in files}
    with click.progressbar(length=sum(sizes.values()), file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for name in files:
            yield from _lines_of(name, bar)


def _lines_of(name: str, bar: Any) -> Iterator[Line]:
    done = 0
    with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
        stream = _plain(name, file)
        try:
            for number, raw in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), 1):
                yield Line(name, number, raw)
                if number % _STEP == 0 and name != "-":
                    bar.update(file.tell() - done)
                    done = file.tell()
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise click.UsageError(f"{name}: cannot be read to its end: {error}") from error


def _plain(name: str, file: BinaryIO) -> Any:
    match Path(name).suffix:
        case ".gz":
            return gzip.open(file)
        case ".bz2":
            return bz2.open(file)
        case ".xz":
            return lzma.open(file)
        case _:
            return file


def _size(name: str) -> int:
    if name == "-":
        return 0
    if Path(name).suffix in _NOT_READ:
        raise click.UsageError(f"{name}: decompress it first, and read it from standard input: '-'.")
    try:
        return Path(name).stat().st_size
    except OSError as error:
        raise click.UsageError(f"{name}: {error.strerror}") from error
