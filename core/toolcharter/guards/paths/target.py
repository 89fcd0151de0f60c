"""`WriteTarget`: a name in a folder that is held open by its descriptor, and the changes that can be made to it.

It is inspected before the tool's mark and changed after it. In between, the path is not walked again, so no exchanged
folder or link can lead elsewhere. The file that then has the name must be the one that was inspected.
"""

import errno
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import chain
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple, Protocol

from toolcharter.api.paths import OpenPlace, PlaceKind
from toolcharter.errors import ToolError
from toolcharter.guards.paths import faults
from toolcharter.guards.paths.atomic_write import FileChanged, read_content, replace_content, require_unchanged
from toolcharter.guards.paths.git_dirs import lies_in_repository, may_complete_repository
from toolcharter.guards.paths.handles import FOLDER_FLAGS, Handle, Tick
from toolcharter.guards.paths.locks import TouchedPath
from toolcharter.guards.paths.openat2 import rename_new
from toolcharter.guards.paths.place_walk import WriteLocation
from toolcharter.guards.paths.walk import STEP_FLAGS

MAX_BELOW = 100_000
"""How many names may lie below a folder that is moved."""
MAX_DEPTH = 100
"""How deep names may lie below it, and how many folders are made for one name."""


class LeaseLock(Protocol):
    """Called with the paths of a change. Returns a context for the change, or raises to refuse it."""

    def __call__(self, touched: Sequence[TouchedPath], *, exclusive: bool) -> AbstractContextManager[None]:
        """Return the context. If *exclusive*, no other caller may change anything during the change."""
        ...


class WriteGuard(NamedTuple):
    """Callbacks around a change: the tool's mark, the check of others' leases, and the lock held while writing."""

    mark_acting: Callable[[], None]
    """Called before the change; raises to refuse it."""
    check_leases: Callable[[Sequence[TouchedPath]], None]
    """Called with the paths that would be changed when a place is opened; raises to refuse it."""
    lock_leases: LeaseLock
    after_change: Callable[[], None] = lambda: None
    """Called when a change has been made."""


def no_leases(touched: Sequence[TouchedPath]) -> None:
    """Refuse nothing: the lease check for paths without leases."""


def no_lock(touched: Sequence[TouchedPath], *, exclusive: bool) -> AbstractContextManager[None]:  # noqa: ARG001 - takes what `WriteGuard` says
    """Refuse nothing and lock nothing: the context of a change for paths without leases."""
    return nullcontext()


def _refuse_write() -> None:
    raise ToolError("These paths can only be read.", reason="write_failure")


READ_ONLY = WriteGuard(_refuse_write, no_leases, no_lock)
"""The guard of views that may not change anything."""


class WriteTarget(Handle):
    """One place to write. A context manager, which closes the folder."""

    __slots__ = ("_found", "_guard", "_tick", "kind", "size")

    def __init__(self, found: WriteLocation, path: str, tick: Tick, guard: WriteGuard) -> None:
        super().__init__(found.folder, path)
        self._found = found
        self._tick = tick
        self._guard = guard
        self.kind: PlaceKind = kind_of(found.status)
        self.size = found.status.st_size if found.status is not None and self.kind == "file" else 0

    def read(self, max_bytes: int) -> bytes:
        """Return at most *max_bytes* from the file's beginning.

        Raises:
            ToolError: `changed_meanwhile`, `read_failure`.
        """
        kept, size = list[bytes](), 0
        with self._translate_errors(faults.from_os_error):
            for piece in self._content():
                kept.append(piece)
                size += len(piece)
                if size >= max_bytes:
                    break
        return b"".join(kept)[:max_bytes]

    def below(self) -> Iterator[str]:
        """Yield every name below the folder, at any depth, relative to it. Links are included but not followed.

        Raises:
            ToolError: `write_failure`, for too many names; `read_failure`; `changed_meanwhile`.
        """
        if self.kind == "folder":
            with self._translate_errors(faults.from_os_error):
                fd = os.open(self._found.name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=self.fileno())
                try:
                    for count, name in enumerate(_names_below(fd, "", 0)):
                        self._tick()
                        if count >= MAX_BELOW or name.count("/") >= MAX_DEPTH:
                            raise faults.unwritable(self.path, "contains too many names to be searched")
                        yield name
                finally:
                    os.close(fd)

    def touched(self, *, below: bool = False) -> list[TouchedPath]:
        """The paths that a change here touches: the name, with everything *below* it, and the folders made for it."""
        names = (*self._found.names, *self._found.missing)
        made = ["/".join(names[:end]) for end in range(len(self._found.names) + 1, len(names) + 1)]
        return [TouchedPath(self.path, below or self.kind == "folder"), *map(TouchedPath, made)]

    def write(self, data: bytes, *, append: bool = False) -> None:
        """Replace the file's content by *data*, or append *data* to it, atomically. Missing folders are made.

        Raises:
            ToolError: `changed_meanwhile`, `write_failure`; the old content is still there.
        """
        old = self._content() if append and self.kind == "file" else iter(())
        with self._changing() as folder:
            replace_content(folder, self._found.name, chain(old, (data,)), self._found.status, self._tick)

    def delete(self) -> None:
        """Delete the file, the link itself or the empty folder.

        Raises:
            ToolError: `changed_meanwhile`, `not_empty`, `write_failure`.
        """
        with self._changing() as folder:
            self._require_unchanged()
            remove = os.rmdir if self.kind == "folder" else os.unlink
            remove(self._found.name, dir_fd=folder)

    def move(self, target: OpenPlace) -> None:
        """Rename to *target*, which does not exist or is a file to be replaced. Its missing folders are made.

        Raises:
            ToolError: `changed_meanwhile`, `write_failure`; `invalid_path`, for a folder that would lie in itself;
                `virtual_path`, for a virtual target.
        """
        if not isinstance(target, WriteTarget):
            raise faults.virtual(target.path, "nothing can be moved to it")
        found = target._found  # noqa: SLF001 - of the same class
        if found.names[: len(self._found.place)] == self._found.place:
            raise faults.from_write_error(OSError(errno.EINVAL, ""), self.path)
        touched = [*self.touched(), *target.touched(below=self.kind == "folder")]
        with target._changing(touched) as folder:  # noqa: SLF001 - of the same class
            self._require_unchanged()
            if found.status is None:
                self._rename_new(folder, found.name)
                return
            target._require_unchanged()  # noqa: SLF001 - as above
            os.rename(self._found.name, found.name, src_dir_fd=self.fileno(), dst_dir_fd=folder)

    def make_folder(self) -> None:
        """Make the folder and its missing parents. Does nothing if it exists already.

        Raises:
            ToolError: `not_directory`, `write_failure`.
        """
        if self.kind == "folder":
            self._guard.mark_acting()
            return
        with self._changing() as folder:
            with suppress(FileExistsError):
                os.mkdir(self._found.name, dir_fd=folder)
            os.close(os.open(self._found.name, STEP_FLAGS, dir_fd=folder))

    def _rename_new(self, folder: int, name: str) -> None:
        try:
            rename_new(self.fileno(), self._found.name, folder, name)
        except FileExistsError:
            raise FileChanged from None

    def _content(self) -> Iterator[bytes]:
        assert self._found.status is not None  # noqa: S101 - of a file; for the type checkers
        return read_content(self.fileno(), self._found.name, self._found.status, self._tick)

    def _require_unchanged(self) -> None:
        assert self._found.status is not None  # noqa: S101 - as above
        require_unchanged(self.fileno(), self._found.name, self._found.status)

    def _require_no_repository(self, folder: int, name: str) -> None:
        if self._found.status is None and may_complete_repository(name) and lies_in_repository(folder, 0, name):
            raise faults.in_repository(self.path)

    @contextmanager
    def _changing(self, touched: Sequence[TouchedPath] | None = None) -> Generator[int]:
        """Make the missing folders, and yield the descriptor of the name's folder. Remove them if the change fails.

        Raises:
            Denied: `protected_path`, if the change would complete a repository of which other parts have been added
                since the place was opened; any denial of the `WriteGuard`.
        """
        self._guard.mark_acting()
        # Under a shared lock, two concurrent changes could each add one part without seeing the other's.
        exclusive = self._found.status is None and any(
            map(may_complete_repository, (*self._found.missing, self._found.name))
        )
        made: list[tuple[int, str]] = []
        opened: list[int] = []
        writing = self._guard.lock_leases(touched or self.touched(), exclusive=exclusive)
        with writing, self._translate_errors(faults.from_write_error):
            try:
                for name in self._found.missing:
                    folder = opened[-1] if opened else self.fileno()
                    self._require_no_repository(folder, name)
                    _make_missing(folder, name, made)
                    opened.append(os.open(name, STEP_FLAGS, dir_fd=folder))
                folder = opened[-1] if opened else self.fileno()
                self._require_no_repository(folder, self._found.name)
                yield folder
                self._guard.after_change()
            except BaseException:
                for folder, name in reversed(made):
                    with suppress(OSError):
                        os.rmdir(name, dir_fd=folder)
                raise
            finally:
                for folder in opened:
                    os.close(folder)

    @contextmanager
    def _translate_errors(self, fault: Callable[[OSError, str], ToolError]) -> Generator[None]:
        try:
            yield
        except FileChanged:
            raise faults.changed(self.path) from None
        except OSError as error:
            raise fault(error, self.path) from error


def kind_of(status: os.stat_result | None) -> PlaceKind:
    """The kind of file that a status shows; `missing` for None."""
    if status is None:
        return "missing"
    if S_ISREG(status.st_mode):
        return "file"
    if S_ISDIR(status.st_mode):
        return "folder"
    return "link" if S_ISLNK(status.st_mode) else "other"


def _make_missing(folder: int, name: str, made: list[tuple[int, str]]) -> None:
    with suppress(FileExistsError):  # another process was quicker; opening it shows whether it is a link
        os.mkdir(name, dir_fd=folder)
        made.append((folder, name))


def _names_below(folder: int, prefix: str, depth: int) -> Iterator[str]:
    with os.scandir(folder) as listing:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_folder in entries:
        yield prefix + name
        if is_folder and depth < MAX_DEPTH:
            fd = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
            try:
                yield from _names_below(fd, f"{prefix}{name}/", depth + 1)
            finally:
                os.close(fd)
