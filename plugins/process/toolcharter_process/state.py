"""Logs and records on disk: they survive a restart, are bounded, and are readable only for their owner."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from toolcharter import StateFolder, ToolError, UnsafeState, state_path
from toolcharter_process.policy import ProcessReason

HANDLE = re.compile(r"p-[0-9a-f]{8}")
_RECORD = re.compile(r"(p-[0-9a-f]{8})\.json")
_MAX_RECORD_BYTES = 1_048_576
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_BEGINNING = re.compile(rb"(?<=\n)|(?<=\r)(?!\n)|(?=\x1b\[[0-9;]*[Hf])")
"""The beginning of a line, or of text at another place on the terminal. Source: ECMA-48, CUP and HVP."""
_ENDS = b"\r\n"


class KeptRecord(BaseModel):
    """The additional record of a process that may outlive its session."""

    model_config = ConfigDict(strict=True, extra="forbid")

    owners: str
    """A digest of who may use the process after its session."""
    origin_pid: int
    """The harness that requested the process."""
    origin_started: str
    is_free: bool = False
    """Whether the toolbox that requested the process has been closed."""
    notices: list[dict[str, str]] = []
    """The notices that no session had taken when the process ended."""
    notices_dropped: int = 0

    def is_inherited(self) -> bool:
        """Return whether its toolbox is gone, so that its owners may take it over."""
        return self.is_free or process_started(self.origin_pid) != self.origin_started


class Record(BaseModel):
    """The record of one process."""

    model_config = ConfigDict(strict=True, extra="forbid")

    handle: str
    command: str
    session: str
    """A digest of its session."""
    started_at: str
    """The time in UTC, as in RFC 3339."""
    rows: int
    columns: int
    harness_pid: int
    """The number of its parent process: the harness of its toolbox, or its supervisor."""
    harness_started: str
    """When the parent was started, in the kernel's count: process numbers are reused."""
    ended_at: str | None = None
    ended: str | None = None
    """How it ended: `exited`, `killed`, `expired` (its runtime), `abandoned` (its session), `closed` (the toolbox),
    `lost`, or the runner's reason."""
    exit_code: int | None = None
    log_lost: bool = False
    """Whether some of its output could not be written."""
    kept: KeptRecord | None = None
    """None if it ends with its session."""

    def has_owner(self) -> bool:
        """Return whether its harness or supervisor is still alive."""
        return process_started(self.harness_pid) == self.harness_started != ""


def socket_name(handle: str) -> str:
    """Return the name of the socket on which a kept process's supervisor listens."""
    return f"{handle}.sock"


def session_digest(session: str | None) -> str:
    """Return the digest that identifies a session on disk."""
    return hashlib.sha256(repr(session).encode()).hexdigest()[:32]


def process_started(pid: int) -> str:
    """Return when a process was started, in the kernel's count; empty if none is alive. Source: proc_pid_stat(5)."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        # A process that has ended keeps its number until its parent has reaped it.
        return "" if found[0] in {"Z", "X"} else found[19]
    except (OSError, IndexError):
        return ""


class ProcessState:
    """The records and logs of one workspace's processes.

    Args:
        base: The policy's folder; None for the user's state folder.
        workspace: The workspace; the folder must not be inside it, where processes may write.
    """

    def __init__(self, base: Path | None, workspace: Path) -> None:
        self._base = base
        self._workspace = Path(os.path.realpath(workspace))

    def with_fixed_path(self) -> "ProcessState":
        """Return the same folder with a fixed path, for another process's environment; raises as `default_folder`."""
        return ProcessState(self._base or default_folder(), self._workspace)

    def path(self, name: str) -> Path:
        """Return the path of a file in the folder."""
        digest = hashlib.sha256(os.fsencode(self._workspace)).hexdigest()[:16]
        return (self._base or default_folder()) / digest / name

    def prepare(self) -> None:
        """Make the folder if it is missing.

        Raises:
            ToolError: `state_unavailable`: the folder cannot be made, or tools or other users could write there.
        """
        folder, parts = self.path(""), tuple[str, ...]()
        if self._base is None:
            base, parts, setting = folder.parent.parent, (folder.parent.name, folder.name), "XDG_STATE_HOME"
        else:
            base, parts, setting = Path(os.path.realpath(self._base)), (folder.name,), "`state_dir`"
        try:
            with StateFolder(base, *parts, workspace=self._workspace, setting=setting).made():
                return
        except UnsafeState as error:
            raise unavailable(f"their folder {error.what}", error.fix) from error
        except OSError as error:
            raise unavailable(f"the folder {str(folder)!r} cannot be made: {error.strerror}") from error

    def save(self, record: Record) -> None:
        """Write a record atomically.

        Raises:
            OSError: The record cannot be written.
        """
        path = self.path(f"{record.handle}.json")
        temporary = path.with_suffix(".new")
        with suppress(FileNotFoundError):
            temporary.unlink()
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600)
        with open(file, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor
            stream.write(record.model_dump_json())
        temporary.replace(path)

    def records(self) -> Iterator[Record]:
        """Yield all readable records, in no order."""
        try:
            names = os.listdir(self.path(""))  # noqa: PTH208 - only names are needed
        except OSError:
            return
        for name in names:
            if found := _RECORD.fullmatch(name):
                record = self.load(found[1])
                if record is not None:
                    yield record

    def load(self, handle: str) -> Record | None:
        """Read one record; None if it is missing or unreadable."""
        try:
            file = os.open(self.path(f"{handle}.json"), os.O_RDONLY | os.O_NONBLOCK | _NO_LINK)
            with open(file, "rb") as stream:  # noqa: PTH123 - a descriptor
                record = Record.model_validate_json(stream.read(_MAX_RECORD_BYTES))
        except (OSError, ValueError):
            return None
        return record if record.handle == handle else None

    def forget(self, handle: str) -> None:
        """Remove a record and its log."""
        for name in (f"{handle}.json", *(f"{handle}.log{end}" for end in ("", ".1", ".new")), socket_name(handle)):
            with suppress(OSError):
                self.path(name).unlink()

    def log(self, handle: str, max_bytes: int) -> bytes:
        """Return the end of a process's output, from the beginning of a line on."""
        data = _end_of(self.path(f"{handle}.log"), max_bytes + 1)
        before = self.path(f"{handle}.log.1")
        is_cut = len(data) > max_bytes or _is_empty(before)
        if not is_cut:
            data = _end_of(before, max_bytes + 1 - len(data)) + data
            is_cut = len(data) > max_bytes
        return _from_line_start(data[-max_bytes:]) if is_cut else data


class Log:
    """A log of at most *max_bytes*, in two files: when a file holds half of that, the older file is dropped.

    The rest of a line that began in the dropped file is dropped, too: half a secret, or a secret without its name,
    would not be recognized.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._half = max_bytes // 2
        self._file = _new_file(path)
        self._size = 0
        self._is_cut = False
        """Whether the file begins within a line."""
        self._ends = True
        """Whether the last byte written ends a line."""

    def append(self, data: bytes) -> None:
        """Write *data* at the end.

        Raises:
            OSError: Some of the data cannot be written.
        """
        left = memoryview(data)
        while left:
            if self._size >= self._half:
                self._rotate()
            written = os.write(self._file, left[: self._half - self._size])
            self._size += written
            self._ends = left[written - 1] in _ENDS
            left = left[written:]

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _rotate(self) -> None:
        with suppress(FileNotFoundError):  # an earlier turn that failed half-way has moved it already
            if self._is_cut:
                self._drop_partial_line()
            self._path.replace(self._path.with_suffix(".log.1"))
        self.close()
        self._file = _new_file(self._path)
        self._size, self._is_cut = 0, not self._ends

    def _drop_partial_line(self) -> None:
        """Drop the rest of a line at the start of the file: the file with its beginning is about to be replaced."""
        whole = _from_line_start(self._path.read_bytes())
        new = self._path.with_suffix(".log.new")
        with os.fdopen(_new_file(new), "wb") as file:
            file.write(whole)
        new.replace(self._path)


def default_folder() -> Path:
    """Return the folder of logs and records in the user's state folder.

    Raises:
        ToolError: `state_unavailable`, for a user without a home folder.
    """
    folder = state_path("processes", os.environ)
    if folder is None:
        raise unavailable("the user has no home folder", "Set `state_dir`.")
    return folder


def unavailable(why: str, fix: str = "") -> ToolError:
    """Make the error for a folder that cannot be used; *fix* is a sentence."""
    message = f"Processes cannot be recorded: {why}. {fix}".rstrip()
    return ToolError(message, reason=ProcessReason.STATE_UNAVAILABLE)


def _new_file(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | _NO_LINK, 0o600)


def _from_line_start(data: bytes) -> bytes:
    """Return *data* from the first beginning of a line on, because its own beginning is lost.

    If no line follows, only its line break is left.
    """
    found = _BEGINNING.search(data)
    return b"" if found is None else data[found.start() :] or data[-1:]


def _is_empty(path: Path) -> bool:
    """Return whether *path* is an empty file: a log file that held only the rest of a line is left empty."""
    with suppress(OSError):
        return not path.stat().st_size
    return False


def _end_of(path: Path, max_bytes: int) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK)
    except OSError:
        return b""
    with open(file, "rb") as stream:  # noqa: PTH123 - a descriptor
        size = os.fstat(file).st_size
        stream.seek(max(0, size - max_bytes))
        return stream.read(max(0, max_bytes))
