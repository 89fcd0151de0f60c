"""Bundles: the files of one tool, read whole without following links out of its folder, and their hash."""

import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_MAX_DEPTH = 16
_EXECUTABLE = 0o111
_BACKUPS = ("~", ".bak", ".orig", ".rej", ".swp", ".swo", ".swx", ".tmp", ".temp", ".old", ".save", ".pyc")
_CACHES = frozenset({"__pycache__", ".git", ".hg", ".svn"})


class UnusableTool(Exception):
    """A tool cannot be used. Has a stable word for the reason and a message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class BundleFile(NamedTuple):
    """One file of a tool."""

    data: bytes
    is_executable: bool


class Limits(NamedTuple):
    """The limits for the files of one tool."""

    files: int
    size: int
    """The size of all files together, in bytes."""


class Bundle(NamedTuple):
    """The files of one tool by their paths, which are relative to its folder and contain no links."""

    files: Mapping[str, BundleFile]

    @property
    def hash(self) -> str:
        """The SHA-256 of all names, contents and executable bits, in hexadecimal."""
        digest = sha256()
        for path, bundle_file in sorted(self.files.items()):
            name = os.fsencode(path)
            head = f"{len(name)} {len(bundle_file.data)} {bundle_file.is_executable:d}\n"
            digest.update(head.encode() + name + bundle_file.data)
        return digest.hexdigest()


def is_ignored(name: str) -> bool:
    """Return whether *name* belongs to an editor's backup, a version control folder or an interpreter's cache."""
    lower = name.lower()
    return lower.endswith(_BACKUPS) or name.startswith(("#", ".#", ".~")) or name in _CACHES


@contextmanager
def open_folder(path: Path, *, below: Path | None = None) -> Generator[int]:
    """Open a folder and yield its descriptor.

    Args:
        path: The folder. Below *below*, it must have no links.
        below: An absolute path that is trusted, with links followed; by default *path* itself.

    Raises:
        OSError: The path is missing, is not a folder, or has a link below *below*.
    """
    trusted = path if below is None else below
    parts = () if below is None else path.relative_to(below).parts
    descriptor = os.open(trusted, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            inner = os.open(part, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def read_folder(parent: int, name: str, limits: Limits) -> Bundle:
    """Read the folder *name* in the folder of the descriptor *parent*.

    Raises:
        UnusableTool: The folder is too large, holds a link that leads out of it or nowhere, or holds something that is
            neither a file nor a folder.
        OSError: The folder cannot be read.
    """
    descriptor = os.open(name, _FOLDER, dir_fd=parent)
    try:
        reader = _FolderReader(descriptor, limits)
        reader.read_folder(descriptor, ())
        return Bundle(reader.files)
    finally:
        os.close(descriptor)


def read_file(path: Path, limits: Limits) -> Bundle:
    """Read one file as the only file of its tool; links to it are followed.

    Raises:
        UnusableTool: As for `read_folder`.
        OSError: The file cannot be read.
    """
    real = Path(os.path.realpath(path, strict=True))
    with open_folder(real.parent) as folder:
        reader = _FolderReader(folder, limits)
        reader.read_file(folder, real.name, path.name)
        return Bundle(reader.files)


class _FolderReader:
    """Reads all files below one folder, within limits."""

    def __init__(self, root: int, limits: Limits) -> None:
        self._root = root
        self._limits = limits
        self._left = limits.size
        self.files: dict[str, BundleFile] = {}

    def read_folder(self, folder: int, parts: tuple[str, ...]) -> None:
        """Read all files in *folder*."""
        if len(parts) > _MAX_DEPTH:
            raise UnusableTool("too_large", f"folders are nested more than {_MAX_DEPTH} deep")
        for name in sorted(os.listdir(folder)):
            if is_ignored(name):
                continue
            here = "/".join((*parts, name))
            kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISDIR(kind):
                self._descend(folder, name, (*parts, name))
            elif stat.S_ISLNK(kind):
                self._follow(os.readlink(name, dir_fd=folder), parts, here)
            else:
                self.read_file(folder, name, here)

    def _descend(self, folder: int, name: str, parts: tuple[str, ...]) -> None:
        inner = os.open(name, _FOLDER, dir_fd=folder)
        try:
            self.read_folder(inner, parts)
        finally:
            os.close(inner)

    def _follow(self, target: str, parts: tuple[str, ...], here: str) -> None:
        """Read the target of a link, which must lie in the same tool."""
        path = os.path.normpath("/".join((*parts, target)))
        if target.startswith("/") or path == ".." or path.startswith("../"):
            raise UnusableTool("link_leads_outside", f"the link {here!r} leads out of the tool's folder")
        *folders, name = path.split("/")
        descriptor = os.dup(self._root)
        try:
            for folder in folders:
                inner = os.open(folder, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            self.read_file(descriptor, name, here)
        except OSError as error:
            raise UnusableTool(
                "link_leads_nowhere", f"the link {here!r} does not lead to a file of the tool"
            ) from error
        finally:
            os.close(descriptor)

    def read_file(self, folder: int, name: str, here: str) -> None:
        """Read one file."""
        descriptor = os.open(name, _FILE, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise UnusableTool("not_regular", f"{here!r} is neither a file nor a folder")
            data = file.read(self._left + 1)
        self._left -= len(data)
        if self._left < 0 or len(self.files) >= self._limits.files:
            most = f"{self._limits.files} files and {self._limits.size} bytes"
            raise UnusableTool("too_large", f"the tool is larger than {most}")
        self.files[here] = BundleFile(data, bool(mode & _EXECUTABLE))
