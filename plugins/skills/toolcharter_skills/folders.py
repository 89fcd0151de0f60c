"""Reads the folder of a skill without following links, and computes a hash of its files."""

import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from toolcharter_skills.manifest import FILE, Manifest, UnusableSkill, parse_manifest

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_MAX_DEPTH = 16
_EXECUTABLE = 0o111


class Limits(NamedTuple):
    """How large one skill may be."""

    files: int
    size: int
    """The size of all files together, in bytes."""


class SkillFolder(NamedTuple):
    """A skill as it is now."""

    path: Path
    manifest: Manifest
    hash: str
    """SHA-256, in hexadecimal, of all names, contents and executable bits."""
    files: tuple[str, ...]
    """The files' paths, relative to the folder."""


class SkippedPath(NamedTuple):
    """A path that is no usable skill, and the reason."""

    path: Path
    word: str
    """A short, stable word for the reason, such as `no_manifest`."""
    message: str

    def __str__(self) -> str:
        return f"{self.path} is left out ({self.word}): {self.message}."


def scan_skills(root: Path, below: Path | None, limits: Limits, most: int) -> Iterator[SkillFolder | SkippedPath]:
    """Yield the skills in the folder *root*, by name, and the entries that are no skills.

    Args:
        root: A folder of skills, which need not exist.
        below: The folder below which no part of *root* may be a link; None if links are allowed.
        limits: How large each skill may be.
        most: How many entries are read.
    """
    try:
        descriptor = _open_folder(root, below)
    except FileNotFoundError:
        return
    except OSError as error:
        yield SkippedPath(root, "unreadable", f"it cannot be read: {error.strerror}")
        return
    try:
        names = sorted(name for name in os.listdir(descriptor) if not name.startswith("."))  # noqa: PTH208 - a descriptor
        for name in names[:most]:
            if (found := _read_entry(descriptor, root / name, limits)) is not None:
                yield found
        if len(names) > most:
            yield SkippedPath(root, "too_many", f"it holds more than {most} entries; the rest was not looked at")
    finally:
        os.close(descriptor)


def read_skill(path: Path, below: Path | None, limits: Limits) -> SkillFolder:
    """Read the skill in the folder *path*.

    Raises:
        Unusable: The folder holds no skill, or one that cannot be used.
    """
    try:
        descriptor = _open_folder(path.parent, below)
    except OSError as error:
        raise UnusableSkill("unreadable", f"its folder cannot be read: {error.strerror}") from error
    try:
        found = _read_entry(descriptor, path, limits)
    finally:
        os.close(descriptor)
    if isinstance(found, SkillFolder):
        return found
    raise UnusableSkill(
        "no_manifest" if found is None else found.word, "it is gone" if found is None else found.message
    )


def _open_folder(root: Path, below: Path | None) -> int:
    trusted = root if below is None else below
    descriptor = os.open(trusted, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in () if below is None else root.relative_to(below).parts:
        try:
            inner = os.open(part, _FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _read_entry(root: int, path: Path, limits: Limits) -> SkillFolder | SkippedPath | None:
    """Read the skill at *path*, or return why it is none; None for a plain file, which is never a skill."""
    try:
        kind = os.stat(path.name, dir_fd=root, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            return SkippedPath(path, "is_link", "it is a link, and a skill is a folder")
        if not stat.S_ISDIR(kind):
            return None
        descriptor = os.open(path.name, _FOLDER, dir_fd=root)
    except OSError as error:
        return SkippedPath(path, "unreadable", f"it cannot be read: {error.strerror}")
    try:
        return _read(descriptor, path, limits)
    except UnusableSkill as error:
        return SkippedPath(path, error.word, error.message)
    except OSError as error:
        return SkippedPath(path, "unreadable", f"a file of it cannot be read: {error.strerror}")
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: Path, limits: Limits) -> SkillFolder:
    digest, left, names, manifest = sha256(), limits.size, list[str](), b""
    for name, data, is_executable in _files(descriptor, "", limits, 0):
        left -= len(data)
        names.append(name)
        if left < 0 or len(names) > limits.files:
            raise UnusableSkill("too_large", f"it is larger than {limits.files} files and {limits.size} bytes")
        encoded = os.fsencode(name)
        digest.update(f"{len(encoded)} {len(data)} {is_executable:d}\n".encode() + encoded + data)
        manifest = data if name == FILE else manifest
    if FILE not in names:
        raise UnusableSkill("no_manifest", f"there is no {FILE} in it")
    return SkillFolder(path, parse_manifest(path.name, manifest), digest.hexdigest(), tuple(names))


def _files(folder: int, above: str, limits: Limits, depth: int) -> Iterator[tuple[str, bytes, bool]]:
    if depth > _MAX_DEPTH:
        raise UnusableSkill("too_large", f"folders are nested more than {_MAX_DEPTH} deep")
    for name in sorted(os.listdir(folder)):
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(kind):
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                yield from _files(inner, f"{above}{name}/", limits, depth + 1)
            finally:
                os.close(inner)
        elif stat.S_ISREG(kind):
            with os.fdopen(os.open(name, _READ, dir_fd=folder), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise UnusableSkill("not_regular", f"{above}{name} is no file any more")
                yield f"{above}{name}", file.read(limits.size + 1), bool(status.st_mode & _EXECUTABLE)
        else:
            raise UnusableSkill("not_regular", f"{above}{name!r} is neither a file nor a folder")
