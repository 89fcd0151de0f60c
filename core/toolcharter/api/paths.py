"""The protocols of `rt.paths`, by which a tool reads, lists and changes files beneath its workspace.

`toolcharter.guards.paths` implements them. `read_regular` reads one file without them.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self

PlaceUse = Literal["write", "delete", "move", "receive", "make"]
"""What a caller wants to do at a path: write a file, delete the entry, move it away, receive a moved entry, or make a
folder."""
PlaceKind = Literal["missing", "file", "folder", "link", "other"]


class _Managed(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class OpenFile(_Managed, Protocol):
    """A regular file beneath the workspace, open for reading. A context manager."""

    path: str
    """Relative to the workspace, with `/`; absolute below an extra root."""
    size: int
    """In bytes, when it was opened."""

    def fileno(self) -> int:
        """Return the descriptor; closed with the file."""
        ...

    def read(self, max_bytes: int, offset: int = 0) -> bytes:
        """Return at most *max_bytes* from *offset*."""
        ...


class OpenFolder(_Managed, Protocol):
    """A folder beneath the workspace, held by its descriptor. A context manager."""

    path: str
    """Relative to the workspace, with `/`; `.` for the workspace itself."""

    def fileno(self) -> int:
        """Return the descriptor; closed with the folder."""
        ...

    def shows(self, name: str, content: Literal["present", "any"] = "present") -> bool:
        """Whether a tool may show *name*: no part of that path is protected.

        Args:
            name: A relative path without links.
            content: Some files are hidden because of their content. `present` decides by the content on the disk;
                `any`, for versions of the file that lie elsewhere, is true only if the file is shown whatever it
                contains.
        """
        ...

    def hidden(self) -> tuple[str, ...]:
        """Patterns of paths below the folder that a program may skip, in the syntax of gitignore(5), ignoring case.

        They save work and protect nothing: check each path that a program has found with `shows`.
        """
        ...

    def entries(self) -> Iterator["Entry"]:
        """Yield the folder's entries by name, without the protected ones."""
        ...

    def is_on_disk(self) -> bool:
        """Whether the folder lies on the disk, so that a program can look into it."""
        ...

    def virtual(self) -> Iterator[str]:
        """Yield the paths of the virtual files below the folder, at any depth, relative to it. No program sees them."""
        ...


class Entry(NamedTuple):
    """One name in a folder; links are named, never followed."""

    name: str
    kind: str
    """`file`, `folder`, `link` or `other`."""
    size: int
    """In bytes; 0 for anything but a file."""


class OpenPlace(_Managed, Protocol):
    """A name in a folder beneath the workspace, opened for a change. A context manager.

    Each change is refused before the mark of a staged body. A change raises `ToolError` with `changed_meanwhile` if the
    entry was replaced after it was opened, and with `write_failure` if the system refuses. Then nothing was changed.
    """

    path: str
    """Relative to the workspace, with `/`, links resolved."""
    kind: PlaceKind
    """`missing`, `file`, `folder`, `link` or `other`, when it was opened."""
    size: int
    """In bytes; 0 for anything but a file."""

    def read(self, max_bytes: int) -> bytes:
        """Return at most *max_bytes* from the file's beginning."""
        ...

    def below(self) -> Iterator[str]:
        """Yield the paths of all entries below a folder, at any depth, relative to it; none if this is no folder."""
        ...

    def write(self, data: bytes, *, append: bool = False) -> None:
        """Replace the file's content by *data*, or append *data*, atomically; missing folders are made."""
        ...

    def delete(self) -> None:
        """Delete the file, the link itself or the empty folder."""
        ...

    def move(self, target: Any) -> None:
        """Rename the entry to *target*, another `OpenPlace` of the same `Paths`; missing folders are made."""
        ...

    def make_folder(self) -> None:
        """Make a folder, and those above it that are missing. A folder that exists already is no error."""
        ...


class Paths(Protocol):
    """Opens files and folders beneath the workspace, and nothing else, whatever the path says.

    Every method raises `Denied` (`path_outside_workspace`, `protected_path`) for what is
    forbidden and `ToolError` (`path_not_found`, `not_directory`, `is_directory`, `not_regular`,
    `invalid_path`, `read_failure`) for what is malformed or missing.
    """

    def narrowed(
        self, *, read_roots: Sequence[Path] = (), protected: Sequence[str] = (), read_only: Sequence[str] = ()
    ) -> "Paths":
        """Return the same workspace with extra roots to read from, and extra globs of protected and read-only names."""
        ...

    def changeable(self, path: str) -> bool:
        """Whether *path* may be changed, for example by a program: nothing at, above or below it is protected."""
        ...

    def open_file(self, path: str) -> OpenFile:
        """Open a regular file for reading."""
        ...

    def open_folder(self, path: str = ".") -> OpenFolder:
        """Open a folder."""
        ...

    def open_place(self, path: str, use: PlaceUse = "write") -> OpenPlace:
        """Find *path* for a change, and keep its folder open; changes nothing yet.

        An entry that is unfit for *use* is refused here, before the mark. The reasons are those above, and
        `path_exists`, `not_empty` and `hard_link`. A path that is read-only is refused with `protected_path`, even if
        nothing exists there.
        """
        ...


def read_regular(path: str | Path, most: int, *, follow: bool = False) -> bytes:
    """Return the first *most* bytes of a regular file. Never blocks, whatever lies at *path*.

    A program in the workspace may have replaced the file by a pipe, where opening it waits for a writer, or by a
    device, which may react to being opened.

    Args:
        path: The file.
        most: In bytes.
        follow: Whether a link as the last part of *path* is followed.

    Raises:
        OSError: The system's error; also for a pipe, a socket, a device or a folder, and for a link unless *follow*.
        ValueError: No file can have this path.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{os.fspath(path)!r} is no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)
