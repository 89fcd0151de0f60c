"""The standard streams of the command: what holds when one is closed at the start, or full later."""

import os
import sys
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class OutputLost(OSError):
    """Standard output cannot be written; other files fail with a plain `OSError`."""


class _Output(FileIO):
    """A descriptor whose failures can be distinguished from those of other files."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # A reader that stops gets no message: click sees to it.
            raise
        except OSError as error:
            raise OutputLost(error.errno, error.strerror) from error


def hold_standard_streams() -> None:
    """Keep closed standard streams from becoming some file that is opened later.

    Event lines on descriptor 2 would go into it. Writing to what is opened here instead fails, so
    that the loss is counted.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115 - pathlib is a twelfth of the start; open as long as the process lives
    if sys.stdout is None:
        tell("it is closed")
        sys.exit(1)
    own = sys.__stdout__
    if own is not None and sys.stdout is own:  # Else other code of this process reads along.
        sys.stdout = telling(own)
        _opened.append(sys.stdout)


_opened: list[TextIOWrapper] = []
"""Our standard output. After a broken pipe, click puts a wrapper that hides failures in its place."""


def finish() -> None:
    """Write what is still held back: the interpreter would do so when no status can be given any more.

    Raises:
        OutputLost: It cannot be written.
        BrokenPipeError: Its reader has gone.
    """
    for stream in (*_opened, sys.stdout):
        stream.flush()


def tell(cause: object) -> None:
    """Say on standard error why there is no answer."""
    with suppress(OSError):  # Not by `sys.stderr`: what that cannot write, it tries again at the end.
        os.write(2, f"toolcharter: standard output cannot be written: {cause}\n".encode())


def drop_output() -> None:
    """Let what is still held back go nowhere, so that the interpreter's own last flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def telling(stream: TextIOWrapper) -> TextIOWrapper:
    """Open the descriptor of *stream* again, in its encoding and buffering, so that `OutputLost` names its failures."""
    raw = _Output(stream.fileno(), "wb", closefd=False)
    return TextIOWrapper(
        BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
