"""Logs and records on disk: readable after a restart, bounded, and for nobody but their owner."""

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
"""Where a line begins, or text elsewhere on the terminal. Source: ECMA-48, CUP and HVP."""
_ENDS = b"\r\n"


class Kept(BaseModel):
    """What is remembered of a process that may outlive its session."""

    model_config = ConfigDict(strict=True, extra="forbid")

    owners: str
    """Who has it after its session: a digest."""
    origin_pid: int
    """The harness that asked for it."""
    origin_started: str
    is_free: bool = False
    """The toolbox that asked for it has been closed."""
    notices: list[dict[str, str]] = []
    """What was not told before its end."""
    notices_dropped: int = 0

    def is_inherited(self) -> bool:
        """Whether its toolbox is gone, so that only its owners can take it over."""
        return self.is_free or process_started(self.origin_pid) != self.origin_started


class Record(BaseModel):
    """One process as it is remembered."""

    model_config = ConfigDict(strict=True, extra="forbid")

    handle: str
    command: str
    session: str
    """Of whose session it is: a digest."""
    started_at: str
    """RFC 3339, in UTC."""
    rows: int
    columns: int
    harness_pid: int
    """The process that has it: the harness of its toolbox, or its supervisor."""
    harness_started: str
    """When that one was started, in the kernel's count: numbers are used again."""
    ended_at: str | None = None
    ended: str | None = None
    """How: `exited`, `killed`, `expired` (its time), `abandoned` (its session's), `closed` (the toolbox)."""
    exit_code: int | None = None
    log_lost: bool = False
    """Some of its output could not be written."""
    kept: Kept | None = None
    """None if it ends with its session."""

    def has_owner(self) -> bool:
        """Whether the process that has it is still there."""
        return process_started(self.harness_pid) == self.harness_started != ""


def socket_name(handle: str) -> str:
    """Of the socket where a kept process's supervisor listens."""
    return f"{handle}.sock"


def session_digest(session: str | None) -> str:
    """What stands for a session on disk."""
    return hashlib.sha256(repr(session).encode()).hexdigest()[:32]


def process_started(pid: int) -> str:
    """When a process was started, in the kernel's count; empty if there is none that lives. Source: proc_pid_stat(5)."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        # One that has ended keeps its number until its parent has heard of it.
        return "" if found[0] in {"Z", "X"} else found[19]
    except (OSError, IndexError):
        return ""


class ProcessState:
    """The records and logs of one workspace's processes.

    Args:
        base: The policy's folder; None for the user's state folder.
        workspace: Its processes may write there.
    """

    def __init__(self, base: Path | None, workspace: Path) -> None:
        self._base = base
        self._workspace = Path(os.path.realpath(workspace))

    def fixed(self) -> "ProcessState":
        """The same folder for a process with another environment; errors as of `default_folder`."""
        return ProcessState(self._base or default_folder(), self._workspace)

    def path(self, name: str) -> Path:
        """Where a file of the folder lies."""
        digest = hashlib.sha256(os.fsencode(self._workspace)).hexdigest()[:16]
        return (self._base or default_folder()) / digest / name

    def prepare(self) -> None:
        """Make the folder if it is missing.

        Raises:
            ToolError: `state_unavailable`: it cannot be made, tools could write there, or other users.
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
        """Write a record, all or nothing.

        Raises:
            OSError: It cannot be written.
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
        """All records that can be read, in no order."""
        try:
            names = os.listdir(self.path(""))  # noqa: PTH208 - names, and no objects
        except OSError:
            return
        for name in names:
            if found := _RECORD.fullmatch(name):
                record = self.load(found[1])
                if record is not None:
                    yield record

    def load(self, handle: str) -> Record | None:
        """One record; None if there is none that can be read."""
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
        """The end of what a process has printed, from the beginning of a line on."""
        data = _end_of(self.path(f"{handle}.log"), max_bytes + 1)
        before = self.path(f"{handle}.log.1")
        is_cut = len(data) > max_bytes or _is_empty(before)
        if not is_cut:
            data = _end_of(before, max_bytes + 1 - len(data)) + data
            is_cut = len(data) > max_bytes
        return _from_a_beginning(data[-max_bytes:]) if is_cut else data


class Log:
    """A growing log of at most *max_bytes*: when half of that is written, what came before it is dropped.

    The rest of a line that began there is dropped, too: half a secret, or one without its name, would not be recognised.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._half = max_bytes // 2
        self._file = _new_file(path)
        self._size = 0
        self._is_cut = False
        """The file begins within a line."""
        self._ends = True
        """What was written last ends a line."""

    def append(self, data: bytes) -> None:
        """Write *data* at the end.

        Raises:
            OSError: Some of it cannot be written.
        """
        left = memoryview(data)
        while left:
            if self._size >= self._half:
                self._turn()
            written = os.write(self._file, left[: self._half - self._size])
            self._size += written
            self._ends = left[written - 1] in _ENDS
            left = left[written:]

    def close(self) -> None:
        """Write no more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _turn(self) -> None:
        with suppress(FileNotFoundError):  # a turn that failed half-way has moved it already
            if self._is_cut:
                self._mend()
            self._path.replace(self._path.with_suffix(".log.1"))
        self.close()
        self._file = _new_file(self._path)
        self._size, self._is_cut = 0, not self._ends

    def _mend(self) -> None:
        """Drop the rest of a line whose beginning is about to be dropped."""
        whole = _from_a_beginning(self._path.read_bytes())
        new = self._path.with_suffix(".log.new")
        with os.fdopen(_new_file(new), "wb") as file:
            file.write(whole)
        new.replace(self._path)


def default_folder() -> Path:
    """Where logs are kept.

    Raises:
        ToolError: `state_unavailable`, for a user without a home.
    """
    folder = state_path("processes", os.environ)
    if folder is None:
        raise unavailable("the user has no home folder", "Set `state_dir`.")
    return folder


def unavailable(why: str, fix: str = "") -> ToolError:
    """The error for a folder that cannot be used; *fix* is a sentence."""
    message = f"Nothing can be remembered of processes: {why}. {fix}".rstrip()
    return ToolError(message, reason=ProcessReason.STATE_UNAVAILABLE)


def _new_file(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | _NO_LINK, 0o600)


def _from_a_beginning(data: bytes) -> bytes:
    """*data* from the first place where a line begins, since its own beginning is lost; its line break alone if no line follows."""
    found = _BEGINNING.search(data)
    return b"" if found is None else data[found.start() :] or data[-1:]


def _is_empty(path: Path) -> bool:
    """Whether *path* is an empty file: a log that was the rest of one line is left empty."""
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
