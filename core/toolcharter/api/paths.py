"""The protocols of `rt.paths`: what a tool reads, lists and changes beneath its workspace.

`toolcharter.guards.paths` implements them. `read_regular` reads one file without them.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self

PlaceUse = Literal["write", "delete", "move", "receive", "make"]
"""What a place is for: to write a file, to delete what lies there, to move it, to receive what is moved, to make a
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
        """The descriptor; closed with the file."""
        ...

    def read(self, max_bytes: int, offset: int = 0) -> bytes:
        """At most *max_bytes* from *offset*."""
        ...


class OpenFolder(_Managed, Protocol):
    """A folder beneath the workspace, held by its descriptor. A context manager."""

    path: str
    """Relative to the workspace, with `/`; `.` for the workspace itself."""

    def fileno(self) -> int:
        """The descriptor; closed with the folder."""
        ...

    def shows(self, name: str, content: Literal["present", "any"] = "present") -> bool:
        """Whether nothing protected lies on the way to *name*, a relative path without links.

        Args:
            name: The path.
            content: Some files are hidden for what they hold: judge by what is there at `present`, or, for versions of the
                file that lie elsewhere, show it only if it is shown with `any` content.
        """
        ...

    def hidden(self) -> tuple[str, ...]:
        """What a program may skip below the folder, in the syntax of gitignore(5) without case.

        Spares work and protects nothing: what a program found is for `shows` to judge.
        """
        ...

    def entries(self) -> Iterator["Entry"]:
        """The folder's entries by name, without those that are protected."""
        ...

    def is_on_disk(self) -> bool:
        """Whether the folder lies on the disk, so that a program can look into it."""
        ...

    def virtual(self) -> Iterator[str]:
        """The files at any depth below the folder that lie on no disk, by their paths relative to it. No program sees them."""
        ...


class Entry(NamedTuple):
    """One name in a folder; links are named, never followed."""

    name: str
    kind: str
    """`file`, `folder`, `link` or `other`."""
    size: int
    """In bytes; 0 for anything but a file."""


class OpenPlace(_Managed, Protocol):
    """A name in a folder beneath the workspace, held to be changed. A context manager.

    Each change is refused before the mark of a staged body. It raises `ToolError`: `changed_meanwhile`, if what lies
    there is not what was looked at; `write_failure`, if the system refuses. What was there is then as it was.
    """

    path: str
    """Relative to the workspace, with `/`, links resolved."""
    kind: PlaceKind
    """`missing`, `file`, `folder`, `link` or `other`, when it was opened."""
    size: int
    """In bytes; 0 for anything but a file."""

    def read(self, max_bytes: int) -> bytes:
        """At most *max_bytes* from the file's beginning."""
        ...

    def below(self) -> Iterator[str]:
        """What lies below the folder, at any depth, relative to it; nothing for anything else."""
        ...

    def write(self, data: bytes, *, append: bool = False) -> None:
        """Make *data* the file's content, or its end, all at once; missing folders are made."""
        ...

    def delete(self) -> None:
        """Take the file, the link itself or the empty folder away."""
        ...

    def move(self, target: Any) -> None:
        """Rename it to *target*, another place of the same paths; missing folders are made."""
        ...

    def make_folder(self) -> None:
        """Make a folder, and those above it that are missing; one that is there will do."""
        ...


class Paths(Protocol):
    """Opens what lies beneath the workspace, and nothing else, whatever the path says.

    Every method raises `Denied` (`path_outside_workspace`, `protected_path`) for what is
    forbidden and `ToolError` (`path_not_found`, `not_directory`, `is_directory`, `not_regular`,
    `invalid_path`, `read_failure`) for what is malformed or missing.
    """

    def narrowed(
        self, *, read_roots: Sequence[Path] = (), protected: Sequence[str] = (), read_only: Sequence[str] = ()
    ) -> "Paths":
        """The same workspace with extra roots to read from, extra protected name globs, and extra ones to read only."""
        ...

    def changeable(self, path: str) -> bool:
        """Whether *path* may be changed, by a program for example: nothing protected lies there, above or below."""
        ...

    def open_file(self, path: str) -> OpenFile:
        """Open a regular file for reading."""
        ...

    def open_folder(self, path: str = ".") -> OpenFolder:
        """Open a folder."""
        ...

    def open_place(self, path: str, use: PlaceUse = "write") -> OpenPlace:
        """Find where something is to be changed, and hold its folder; changes nothing yet.

        What the use cannot be made of is refused here, before the mark: besides the reasons above `path_exists`,
        `not_empty`, `hard_link`, and `protected_path` for what may be read only, though it does not exist yet.
        """
        ...


def read_regular(path: str | Path, most: int, *, follow: bool = False) -> bytes:
    """The first *most* bytes of a regular file. Never waits, whatever lies at *path*.

    A program in the workspace may have exchanged it for a pipe, whose opening waits for a writer, or for a device, which
    may act on being opened.

    Args:
        path: The file.
        most: In bytes.
        follow: Whether a link in the last place is followed.

    Raises:
        OSError: As the system says; also for a pipe, a socket, a device or a folder, and for a link unless *follow*.
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
