"""`Spool`: keeps lines on disk from the moment they are written until they are delivered, even if the process dies.

Each process appends to its own file, and holds a lock on it while it lives. Other processes adopt files without a lock.
"""

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

SEGMENT_BYTES = 8 * 1024 * 1024
"""The size from which a delivered file is replaced by a new file, in bytes."""
MAX_BYTES = 256 * 1024 * 1024
"""The most bytes that may wait."""
CHUNK_BYTES = 1024 * 1024


class Segment:
    """One file of the spool."""

    def __init__(self, path: Path, *, adopted: bool) -> None:
        self.path, self.name = path, path.stem
        self.adopted = adopted
        """Whether another process wrote it, and may have delivered part of it."""
        self.may_be_filed = adopted
        """Whether the day file may have more of it than `filed` says."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | (0 if adopted else os.O_CREAT | os.O_EXCL)
        self.descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(self.descriptor).st_nlink:  # Delivered and removed before the lock was free.
                raise FileNotFoundError(path)
        except OSError:
            os.close(self.descriptor)
            raise
        self.filed = int(self._offset_file.read_text() or 0) if self._offset_file.exists() else 0
        """The offset up to which the day file has it."""
        self.stored: int | None = None
        """The offset up to which the store has it; None if the store has to be asked."""

    @property
    def _offset_file(self) -> Path:
        return self.path.with_suffix(".filed")

    def size(self) -> int:
        """Return the size in bytes."""
        return os.fstat(self.descriptor).st_size

    def read_lines(self, offset: int, until: int) -> bytes:
        """Read complete lines between *offset* and *until*, about `CHUNK_BYTES` of them; empty if there is none."""
        wanted = CHUNK_BYTES
        while True:
            data = os.pread(self.descriptor, max(0, min(wanted, until - offset)), offset)
            end = data.rfind(b"\n") + 1
            if end or len(data) < wanted:
                return data[:end]
            wanted *= 2

    def save_filed(self, offset: int) -> None:
        """Store the offset up to which the day file has it."""
        # Overwritten in place with a fixed length: on a full disk, the former offset stays.
        side = os.open(self._offset_file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.pwrite(side, b"%020d" % offset, 0)
        finally:
            os.close(side)
        self.filed = offset

    def remove(self) -> None:
        """Delete the file after everything is delivered."""
        for path in (self.path, self._offset_file):
            path.unlink(missing_ok=True)
        os.close(self.descriptor)


class Spool:
    """The spool in *folder*, which has to exist and be private to its owner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._has_torn_line = False
        self._current: Segment | None = None
        self._adopted: list[Segment] = []

    def append(self, lines: bytes) -> None:
        """Write *lines*. They survive the death of the process.

        Raises:
            OSError: The disk is full, or too many lines wait.
        """
        with self._lock:
            current = self._current
            if current is None:
                current = self._current = Segment(self.folder / f"{uuid4().hex}.spool", adopted=False)
            data = b"\n" + lines if self._has_torn_line else lines
            if current.size() > MAX_BYTES:
                raise OSError(f"{current.size()} bytes of usage wait for the store already")
            written = os.write(current.descriptor, data)
            self._has_torn_line = written < len(data)
        if written < len(data):
            raise OSError("there is no room for the record of the call's usage")

    def segments(self) -> list[Segment]:
        """Return all segments, those of dead processes first."""
        with self._lock:
            return [*self._adopted, *([self._current] if self._current else ())]

    def adopt(self) -> None:
        """Take over the files of dead processes."""
        with self._lock:
            mine = {segment.path for segment in (*self._adopted, self._current) if segment}
            for path in sorted(self.folder.glob("*.spool")):
                if path not in mine:
                    with suppress(OSError):  # Its process lives, or another process was faster.
                        self._adopted.append(Segment(path, adopted=True))

    def retire(self, segment: Segment, *, offset: int, even_small: bool) -> bool:
        """Delete *segment*; the current segment only if it ends at *offset*, and is large or *even_small* is true."""
        with self._lock:
            if segment is self._current:
                if segment.size() != offset or not (even_small or offset > SEGMENT_BYTES):
                    return False
                self._current = None
            else:
                self._adopted.remove(segment)
            segment.remove()
            return True
