"""Reads event files line by line, in little memory: plain, rotated or compressed files, or standard input."""

import io
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.errors import ConfigurationError, Fault

if TYPE_CHECKING:
    import bz2
    import gzip
    import lzma

    from _typeshed import WriteableBuffer
else:
    bz2 = lazy("bz2")
    gzip = lazy("gzip")
    lzma = lazy("lzma")

MAX_LINE_BYTES = 1 << 24
"""In bytes. A longer line is returned in pieces, none of which is an event."""
MAX_XZ_MEMORY = 1 << 28
"""The memory limit of decompression, in bytes. A file that requires more is not read; it could ask for gigabytes."""
STANDARD_INPUT = "-"
_PROGRESS_LINES = 2000
_BLOCK_BYTES = 1 << 16
_UNSUPPORTED_SUFFIXES = (".zst", ".lz4", ".Z")
_COMPRESSED_SUFFIX = r"(?:\.(?:gz|bz2|xz|zst|lz4|Z))?"


class EventLine(NamedTuple):
    """One line of a file."""

    file: str
    number: int
    """Counts from 1."""
    raw: bytes


def event_lines(files: Sequence[str], on_progress: Callable[[int], object] | None = None) -> Iterator[EventLine]:
    """Yield the lines of all *files* in order, whether they are events or not.

    Args:
        files: Paths; `-` is standard input. Files that end in .gz, .bz2 or .xz are decompressed as they are read.
        on_progress: Called from time to time with the number of bytes read since its last call; of compressed files,
            the compressed bytes count.

    Raises:
        ConfigurationError: A file is missing, damaged, or compressed in a way that Python does not read.
    """
    for name in files:
        file_size(name)  # Raises for a file that cannot be read, before the first line is yielded.
    for name in files:
        yield from _read_lines(name, on_progress)


def file_size(name: str) -> int:
    """Return the size of a file on disk in bytes; 0 for standard input.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    if name == STANDARD_INPUT:
        return 0
    if Path(name).suffix in _UNSUPPORTED_SUFFIXES:
        raise unreadable(
            name, "this compression is not supported.", "Decompress it, and read it from standard input: '-'."
        )
    try:
        there = Path(name).stat()
    except OSError as error:
        raise unreadable(name, f"{error.strerror}.") from error
    if not stat.S_ISREG(there.st_mode):
        raise unreadable(name, "it is no regular file.", "Read a pipe from standard input: '-'.")
    return there.st_size


def with_rotated(name: str) -> list[str]:
    """Return the rotated files of the event file *name*, the oldest first, and then *name* itself.

    Rotated files lie in the same folder: `name.2.gz`, `name.1`, or `name-20261123.gz`.
    """
    path = Path(name)
    begins = (f"{path.name}.", f"{path.name}-")
    beside = [other.name for other in path.parent.glob("*") if other.name.startswith(begins)]
    if not beside:  # the usual case: a toolbox calls this for each file that it writes to
        return [name]
    form = re.compile(rf"{re.escape(path.name)}(?:\.(\d{{1,4}})|[.-](\d{{4}}-?\d\d-?\d\d[\d-]*)){_COMPRESSED_SUFFIX}")
    found = [match for other in beside if (match := form.fullmatch(other))]
    dated = sorted(match[0] for match in found if match[2])
    numbered = sorted((match for match in found if match[1]), key=lambda match: -int(match[1]))
    return [*(str(path.with_name(one)) for one in (*dated, *(match[0] for match in numbered))), name]


def is_compressed(name: str) -> bool:
    """Whether the file is compressed, by its name."""
    return Path(name).suffix in {".gz", ".bz2", ".xz"}


def unreadable(name: str, what: str, fix: str = "") -> ConfigurationError:
    """Return the error for an event file that cannot be read."""
    return ConfigurationError([Fault(name, "", what, fix)])


def _read_lines(name: str, on_progress: Callable[[int], object] | None) -> Iterator[EventLine]:
    done = 0
    with ExitStack() as stack:
        file = sys.stdin.buffer if name == STANDARD_INPUT else stack.enter_context(Path(name).open("rb"))
        stream = _open_decompressed(name, file)
        try:
            for number, raw in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES), b""), 1):
                yield EventLine(name, number, raw)
                if on_progress is not None and number % _PROGRESS_LINES == 0 and name != STANDARD_INPUT:
                    on_progress(file.tell() - done)
                    done = file.tell()
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise unreadable(name, f"cannot be read to its end: {error}.") from error


def _open_decompressed(name: str, file: BinaryIO) -> BinaryIO | io.BufferedIOBase:
    match Path(name).suffix:
        case ".gz":
            return gzip.open(file)
        case ".bz2":
            return bz2.open(file)
        case ".xz":
            return io.BufferedReader(_XzReader(file), _BLOCK_BYTES)
        case _:
            return file


class _XzReader(io.RawIOBase):
    """Decompresses the streams of an .xz file with a memory limit, which `lzma.open` does not have."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start_stream(b"")

    def _start_stream(self, rest: bytes) -> None:
        self._rest = rest
        self._stream = lzma.LZMADecompressor(memlimit=MAX_XZ_MEMORY)

    def readable(self) -> bool:
        """Return True, for `BufferedReader`."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Decompress no more than fits into *buffer*."""
        view = memoryview(buffer)
        while True:
            if self._stream.eof:
                rest = self._next_stream(self._stream.unused_data)
                if not rest:
                    return 0
                self._start_stream(rest)
            if self._stream.needs_input and not self._rest:
                self._rest = self._file.read(_BLOCK_BYTES)
                if not self._rest:
                    raise EOFError("it ends within compressed data")
            found, self._rest = self._stream.decompress(self._rest, len(view)), b""
            if found:
                view[: len(found)] = found
                return len(found)

    def _next_stream(self, rest: bytes) -> bytes:
        """Skip the zeros that may follow a stream. Returns the beginning of the next stream; empty at the end."""
        while not (rest := rest.lstrip(b"\0")):
            if not (rest := self._file.read(_BLOCK_BYTES)):
                return b""
        return rest
