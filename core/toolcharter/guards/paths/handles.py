"""Open descriptors: of roots, for the life of a toolbox, and of files and folders, for one call."""

import os
from collections.abc import Callable, Iterator
from stat import S_ISDIR, S_ISLNK, S_ISREG
from threading import Lock
from types import TracebackType
from typing import Literal, Self

from toolcharter.api.paths import Entry
from toolcharter.errors import ToolboxClosed, ToolError
from toolcharter.guards.paths.faults import from_os_error
from toolcharter.guards.paths.names import Parts, absolute_parts

FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

Content = Literal["present", "any"]
Shows = Callable[[str, Content], bool]
Patterns = Callable[[], tuple[str, ...]]
Tick = Callable[[], None]


class OpenRoot:
    """An open root folder. Closed when the last reference to it is gone.

    It is never closed explicitly: a call that is still running in an abandoned thread could then
    start from another folder that has got the same descriptor number.
    """

    __slots__ = ("canonical", "fd", "parts")

    def __init__(self, path: str) -> None:
        self.fd = -1
        self.fd = os.open(path, FOLDER_FLAGS)
        self.canonical = os.path.realpath(path)
        self.parts = absolute_parts(self.canonical)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


class Root:
    """A folder beneath which paths may lie. It is opened when it is first needed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.given_parts: Parts = absolute_parts(os.path.abspath(path))
        self._handle: OpenRoot | None = None
        self._closed = False
        self._lock = Lock()

    def ensure_open(self) -> OpenRoot:
        """The open folder.

        Raises:
            ToolboxClosed: After `close`.
            ToolError: It cannot be opened, for example because it is missing or not a folder.
        """
        return self._handle or self._open()

    def _open(self) -> OpenRoot:
        with self._lock:
            if self._closed:
                raise ToolboxClosed("The toolbox was closed; its workspace is no longer open.")
            try:
                self._handle = self._handle or OpenRoot(self.path)
            except OSError as error:
                raise from_os_error(error, self.path) from error
            return self._handle

    def canonical_parts(self) -> Parts:
        """The real path of the folder; the given path if it cannot be opened."""
        try:
            return self.ensure_open().parts
        except ToolError:
            return self.given_parts

    def close(self) -> None:
        """Close the descriptor of the folder; later use fails."""
        with self._lock:
            self._closed = True
            self._handle = None


class Handle:
    """A descriptor with a path. It is closed by `with`, and at the latest when the object is deleted."""

    __slots__ = ("_fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self.path = path

    def fileno(self) -> int:
        """The descriptor, which the object closes."""
        if self._fd < 0:
            raise ValueError("The file is closed.")
        return self._fd

    def close(self) -> None:
        """Close the descriptor; a second time does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


class HeldFile(Handle):
    """A regular file, open for reading."""

    __slots__ = ("_tick", "size")

    def __init__(self, fd: int, path: str, size: int, tick: Tick) -> None:
        self._fd = fd
        self.path = path
        self.size = size
        self._tick = tick

    def read(self, max_bytes: int, offset: int = 0) -> bytes:
        """Return at most *max_bytes* from *offset*; nothing at the end of the file."""
        self._tick()
        try:
            return os.pread(self.fileno(), max_bytes, offset)
        except OSError as error:
            raise from_os_error(error, self.path) from error


class HeldFolder(Handle):
    """A folder, open for listing."""

    __slots__ = ("_hidden", "_shows", "_tick")

    def __init__(self, fd: int, path: str, shows: Shows, hidden: Patterns, tick: Tick) -> None:
        super().__init__(fd, path)
        self._shows = shows
        self._hidden = hidden
        self._tick = tick

    def shows(self, name: str, content: Content = "present") -> bool:
        """Whether neither *name*, a relative path without links, nor a folder above it is protected or hidden.

        With *content* `any`, a name that some content would hide is hidden, whatever its current content.
        """
        self._tick()
        return self._shows(name, content)

    def hidden(self) -> tuple[str, ...]:
        """Return patterns that a program may skip below the folder, in the syntax of gitignore(5), ignoring case."""
        return self._hidden()

    def is_on_disk(self) -> bool:
        """Always true: see `RoutedPaths` for virtual folders."""
        return True

    def virtual(self) -> Iterator[str]:
        """Always empty: see `RoutedPaths` for virtual files."""
        return iter(())

    def entries(self) -> Iterator[Entry]:
        """Return the entries sorted by name, without those that are protected or hidden."""
        # Opened again: a duplicate of the descriptor would share its position in the listing.
        try:
            fd = os.open(".", FOLDER_FLAGS, dir_fd=self.fileno())
            try:
                with os.scandir(fd) as listing:
                    found = [_entry(each) for each in listing if self.shows(each.name)]
            finally:
                os.close(fd)
        except OSError as error:
            raise from_os_error(error, self.path) from error
        return iter(sorted(found, key=lambda entry: entry.name))


def _entry(each: os.DirEntry[str]) -> Entry:
    try:
        status = each.stat(follow_symlinks=False)
    except FileNotFoundError:  # removed since it was listed
        return Entry(each.name, "other", 0)
    if S_ISREG(status.st_mode):
        return Entry(each.name, "file", status.st_size)
    if S_ISDIR(status.st_mode):
        return Entry(each.name, "folder", 0)
    return Entry(each.name, "link" if S_ISLNK(status.st_mode) else "other", 0)
