"""The core's event sinks: descriptors, files, structlog, Python callables.

A sink takes whole lines. It never waits longer than `STALL_S` for a slow reader, avoids torn lines,
and raises its errors. The emitter counts losses, and the gate decides whether to refuse a call.
"""

import errno
import os
import select
import stat
import threading
from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

import orjson

from toolcharter._lazy import lazy
from toolcharter.api.extension import Sink
from toolcharter.errors import ConfigurationError, Fault

if TYPE_CHECKING:
    import structlog
else:
    structlog = lazy("structlog")

STALL_S = 1.0
"""How long a write may wait for the reader of a pipe, or for another writer to end its line, in seconds."""
CHECK_INTERVAL_S = 0.001
"""The interval at which a file sink checks whether its file was renamed or removed, in seconds."""
TORN_S = 0.05
"""A last line without an end counts as torn if the file does not grow for this time, in seconds."""
GROUP_SYNC_S = 0.01
"""With `sync=group`, the longest time between a write and its `fdatasync`, in seconds."""

EventFunction = Callable[[dict[str, Any]], object]
SinkLike = str | Sink | EventFunction


CORE_SCHEMES = ("stderr", "file", "structlog")


def open_sink(sink: SinkLike, extension: Callable[[str], Sink]) -> Sink:
    """Open the sink that a user has named.

    Args:
        sink: A URL (`stderr:`, `file:PATH?sync=group`, `structlog:`, or an extension's), a
            function that takes each event as a dictionary, or a ready sink.
        extension: Opens URLs with schemes that the core does not have, or raises.

    Raises:
        ConfigurationError: The URL is malformed, its file not writable, or *sink* is neither a URL, a function nor a sink.
    """
    if callable(sink):
        return FunctionSink(sink)
    if not isinstance(sink, str):
        if callable(getattr(sink, "write", None)):
            return sink
        raise _sink_error(repr(sink), "the event sink is not understood", "Give a URL, a function or a sink.")
    scheme, _, rest = sink.partition(":")
    if sink in {"stderr", "stderr:"}:
        return DescriptorSink(2)
    if sink in {"structlog", "structlog:"}:
        return StructlogSink()
    if scheme == "file" and rest:
        return _open_file(sink, rest)
    if scheme in CORE_SCHEMES:
        raise _sink_error(sink, "the event sink is not understood", "Known: stderr:, file:PATH, structlog:.")
    return extension(sink)


class DescriptorSink:
    """Writes lines to an open descriptor, such as standard error, and never closes it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._torn = False
        self._next_check = inf
        """When a write must next check whether its file was replaced, on `time.monotonic`'s clock."""
        try:
            # A reader at the other end may stop reading; a file on a disk cannot.
            self._may_stall = not stat.S_ISREG(os.fstat(descriptor).st_mode)
        except OSError:
            self._may_stall = True

    def write(self, lines: bytes) -> None:
        """Write *lines*, to a file with one system call. After a torn line, begin on a new line."""
        if self._may_stall or self._torn or monotonic() >= self._next_check:
            with self._lock:  # because of several system calls
                self._reopen_if_replaced()
                self._write_all(b"\n" + lines if self._torn else lines)
            return
        written = os.write(self._descriptor, lines)
        if written < len(lines):
            with self._lock:
                self._write_all(lines[written:], torn=True)

    def _write_all(self, lines: bytes, *, torn: bool = False) -> None:
        rest = memoryview(lines)
        give_up = monotonic() + STALL_S
        try:
            while rest:
                if self._may_stall:
                    self._wait_for_reader(give_up)
                # At most PIPE_BUF bytes never block once poll() says that a pipe is writable.
                rest = rest[os.write(self._descriptor, rest[: select.PIPE_BUF] if self._may_stall else rest) :]
        except OSError:
            self._torn = self._torn or torn or len(rest) < len(lines)
            raise
        self._torn = False

    def _reopen_if_replaced(self) -> None:
        """Switch to a new file if the current one was replaced."""

    def _wait_for_reader(self, give_up: float) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        if not poll.poll(max(0.0, give_up - monotonic()) * 1000):
            raise TimeoutError(f"the reader of the event stream took nothing for {STALL_S:g} s")

    def close(self) -> None:
        """Leave the descriptor to its owner."""


class FileSink(DescriptorSink):
    """Appends lines to a file, each half of a call with one `O_APPEND` write.

    A written line survives a crash of the process. If the file was renamed or removed, as by log rotation, the next
    line goes to a new file of the same name. The sink checks that at most every `CHECK_INTERVAL_S` seconds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._absolute_path = os.path.abspath(path)  # noqa: PTH100 - text; and the process may change its folder
        super().__init__(_open_to_append(path))
        self._has_checked_torn = False
        """Whether the sink has checked if the existing file ends with a torn line."""
        if not self._may_stall:
            os.set_blocking(self._descriptor, True)
            self._next_check = 0.0

    def _reopen_if_replaced(self) -> None:
        if self._may_stall:
            return
        try:
            is_there = os.path.samestat(os.stat(self._absolute_path), os.fstat(self._descriptor))  # noqa: PTH116 - the path is text
        except FileNotFoundError:
            is_there = False
        except PermissionError:  # The process has dropped rights since it opened the file, but may still write to it.
            is_there = True
        if is_there:
            if not self._has_checked_torn:
                self._torn, self._has_checked_torn = _is_torn(self._absolute_path), True
            self._next_check = monotonic() + CHECK_INTERVAL_S
            return
        replacement = _open_to_append(self._absolute_path)
        try:
            if not stat.S_ISREG(os.fstat(replacement).st_mode):
                raise OSError(
                    errno.EINVAL,
                    "the file of the event stream was replaced by something that is no regular file",
                    self._absolute_path,
                )
            os.set_blocking(replacement, True)
            self._finish_old_file()
            # Keep the descriptor's number, because other threads may be about to write to it.
            os.dup2(replacement, self._descriptor, inheritable=False)
        finally:
            os.close(replacement)
        self._torn, self._has_checked_torn = _is_torn(self._absolute_path), True
        self._next_check = monotonic() + CHECK_INTERVAL_S

    def _finish_old_file(self) -> None:
        """Finish the work on the file that was replaced."""

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._next_check = inf
            descriptor = self._descriptor
            self._descriptor = -1  # a late line must not go to another file that gets this number
            os.close(descriptor)


class _SyncedFileSink(FileSink):
    """Writes lines that the disk confirms; refuses a pipe or a device, which has no disk."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if self._may_stall:
            os.close(self._descriptor)
            raise OSError(errno.EINVAL, "a pipe or a device has no disk that `sync` could wait for", str(path))


class EachSyncedFileSink(_SyncedFileSink):
    """Writes each line to the disk before the call continues, so that it survives a crash of the machine."""

    def write(self, lines: bytes) -> None:
        """Append *lines* and wait for the disk."""
        super().write(lines)
        os.fdatasync(self._descriptor)


class GroupSyncedFileSink(_SyncedFileSink):
    """Writes lines to the disk in groups: a crash of the machine loses at most the last `GROUP_SYNC_S` seconds."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._dirty = threading.Event()
        self._closing = False
        self._flusher: threading.Thread | None = None
        self._failed: OSError | None = None

    def _finish_old_file(self) -> None:
        os.fdatasync(self._descriptor)

    def write(self, lines: bytes) -> None:
        """Append *lines*, to be flushed soon. Raises the error of the last flush."""
        super().write(lines)
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed
        with self._lock:
            if self._flusher is None or not self._flusher.is_alive():  # not alive in a forked child
                self._flusher = threading.Thread(target=self._flush, name="toolcharter-sync", daemon=True)
                self._flusher.start()
        self._dirty.set()

    def _flush(self) -> None:
        while not self._closing:
            self._dirty.wait()
            self._dirty.clear()
            try:
                os.fdatasync(self._descriptor)
            except OSError as error:
                self._failed = error
            sleep(GROUP_SYNC_S)

    def close(self) -> None:
        """Flush the remaining lines and close the file."""
        self._closing = True
        self._dirty.set()
        if self._flusher is not None:
            self._flusher.join()
        try:
            os.fdatasync(self._descriptor)
        finally:
            super().close()


_FIXES = {
    errno.ENXIO: "A named pipe needs a reader before it is opened.",
    errno.ENOENT: "Make its folder first.",
    errno.EISDIR: "Name a file in that folder.",
    errno.EINVAL: "Name a regular file, or leave out `?sync=`.",
}
_FILE_SINKS = {"none": FileSink, "group": GroupSyncedFileSink, "each": EachSyncedFileSink}


class FunctionSink:
    """Calls a Python function with each event as a new dictionary."""

    def __init__(self, function: EventFunction) -> None:
        self._function = function

    def write(self, lines: bytes) -> None:
        """Call the function once per line."""
        for line in lines.splitlines():
            self._function(orjson.loads(line))

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class StructlogSink:
    """Logs each event through `structlog.get_logger("toolcharter")`, as the user has configured it.

    Configures nothing itself. Source: structlog's advice for libraries.
    """

    def __init__(self) -> None:
        self._logger: Any = structlog.get_logger("toolcharter")

    def write(self, lines: bytes) -> None:
        """Log each line at its level; `event` is the message, the other fields are key-value pairs."""
        for line in lines.splitlines():
            fields: dict[str, Any] = orjson.loads(line)
            event, level = fields.pop("event"), fields.pop("level")
            getattr(self._logger, level)(event, **fields)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def _open_to_append(path: str | Path) -> int:
    # O_NONBLOCK: opening a named pipe without a reader fails instead of waiting.
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)


def _is_torn(path: str) -> bool:
    """Whether a file's last line has no end, because a process was killed while writing it or the disk was full.

    The kernel makes a long write visible page by page, so another process may just be writing that line. While the file
    still grows, check again, for `STALL_S` at most.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:  # The process may write to the file, but not read it.
        return False
    try:
        seen, give_up = -1, monotonic() + STALL_S
        while (size := os.fstat(descriptor).st_size) > 0 and os.pread(descriptor, 1, size - 1) != b"\n":
            if size == seen or monotonic() >= give_up:
                return True
            seen = size
            sleep(TORN_S)
        return False
    finally:
        os.close(descriptor)


def _open_file(url: str, rest: str) -> FileSink:
    path, _, query = rest.partition("?")
    options: Mapping[str, str] = dict(parse_qsl(query, keep_blank_values=True))
    sync = options.get("sync", "none")
    if set(options) - {"sync"} or sync not in _FILE_SINKS:
        raise _sink_error(url, f"the options {query!r} are not understood", "Known: ?sync=group, ?sync=each.")
    if path.startswith("//"):
        host, _, path = path[2:].partition("/")
        if host not in {"", "localhost"}:
            raise _sink_error(url, f"a file cannot lie on the host {host!r}", "Write file:PATH or file:///PATH.")
        path = "/" + path
    try:
        return _FILE_SINKS[sync](Path(unquote(path)))
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        fix = _FIXES.get(getattr(error, "errno", 0), "Name a file that can be created or appended to.")
        raise _sink_error(url, f"the file cannot be opened for appending: {problem}", fix) from error


def _sink_error(url: str, what: str, fix: str) -> ConfigurationError:
    return ConfigurationError([Fault("events", "", f"{what}: {url!r}" if url not in what else what, fix)])
