"""Protects the command's standard streams: one may be closed at the start, or become unwritable later."""

import os
import sys
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class OutputLost(OSError):
    """Standard output cannot be written. A failure of another file is a plain `OSError`."""


class _Output(FileIO):
    """A descriptor whose failures can be distinguished from those of other files."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # click exits quietly when the reader has gone.
            raise
        except OSError as error:
            raise OutputLost(error.errno, error.strerror) from error


def hold_standard_streams() -> None:
    """Fill the descriptors of closed standard streams, so that no file opened later gets one of them.

    Otherwise the event lines for descriptor 2 would be written into that file. The replacement is read-only: a write to
    it fails, and the loss is counted.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115 - pathlib is a twelfth of the start; open as long as the process lives
    if sys.stdout is None:
        report_lost_output("it is closed")
        sys.exit(1)
    own = sys.__stdout__
    if own is not None and sys.stdout is own:  # Otherwise other code in this process captures the output.
        sys.stdout = reopen_output(own)
        _own_output.append(sys.stdout)


_own_output: list[TextIOWrapper] = []
"""Our standard output. After a broken pipe, click replaces `sys.stdout` by a wrapper that hides failures."""


def flush_output() -> None:
    """Flush standard output. The interpreter's own flush comes too late to set an exit status.

    Raises:
        OutputLost: Standard output cannot be written.
        BrokenPipeError: Its reader has closed the pipe.
    """
    for stream in (*_own_output, sys.stdout):
        stream.flush()


def report_lost_output(cause: object) -> None:
    """Report on standard error that standard output cannot be written, and why."""
    with suppress(OSError):  # Not `sys.stderr`: it would retry a failed write at exit.
        os.write(2, f"toolcharter: standard output cannot be written: {cause}\n".encode())


def drop_output() -> None:
    """Discard buffered output, so that the interpreter's last flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def reopen_output(stream: TextIOWrapper) -> TextIOWrapper:
    """Reopen the descriptor of *stream*, in its encoding and buffering, so that failures are raised as `OutputLost`."""
    raw = _Output(stream.fileno(), "wb", closefd=False)
    return TextIOWrapper(
        BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
