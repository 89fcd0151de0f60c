"""Finds profiles and opens their files."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from toolcharter.errors import did_you_mean

MAX_BYTES = 1 << 20
SUFFIXES = (".yaml", ".yml")
OWN_FOLDER = "profiles"
"""The folder of a user's own profiles, below the current folder."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_PACKAGE = Path(__file__).parents[1]


class ProfileUnusable(Exception):
    """A profile cannot be found or opened. Callers in this package turn it into a fault at the place that names it."""

    def __init__(self, what: str, fix: str, file: str | None = None) -> None:
        self.what = what
        self.fix = fix
        self.file = file
        super().__init__(what)


def is_name(profile: str) -> bool:
    """Whether *profile* is a bare name; anything else is a path."""
    return _NAME.fullmatch(profile) is not None


def checkout_root(package: Path = _PACKAGE) -> Path | None:
    """Return the root of the checkout that the core runs from; None for a wheel."""
    root = package.parent.parent
    return root if package.parent.name == "core" and (root / "pyproject.toml").is_file() else None


def shipped_profiles(package: Path = _PACKAGE) -> Path:
    """Return the folder of the ready profiles: beside the code in a wheel, at the root of a checkout."""
    return (checkout_root(package) or package) / "profiles"


def folders(search: Sequence[str | Path] = ()) -> list[str]:
    """Return the folders in which bare names are looked up: `./profiles`, the shipped ones, then *search*."""
    return [OWN_FOLDER, *installed_folders(search)]


def installed_folders(search: Sequence[str | Path] = ()) -> list[str]:
    """Return the folders that came with an installation: the shipped profiles, then *search*, the plugins' folders."""
    return [str(shipped_profiles()), *map(str, search)]


def find_names(search: Sequence[str | Path] = ()) -> dict[str, list[str]]:
    """Return every name that can be looked up, with all files of that name, without duplicates."""
    places = folders(search)
    return {name: files_of(name, places) for name in sorted(_list_names(places))}


def files_of(name: str, places: Iterable[str]) -> list[str]:
    """Return the files of *name* in the folders *places*. A folder that two paths name counts once."""
    found = dict[tuple[str, str], str]()
    for folder in places:
        for suffix in SUFFIXES:
            file = os.path.join(folder, name + suffix)
            if os.path.exists(file):
                found.setdefault(canonical_location(file), file)
    return list(found.values())


def canonical_location(file: str) -> tuple[str, str]:
    """Return the real folder of *file*, and its name there.

    Two links to one file are two places, because the parents of each are looked up beside it.
    """
    folder, name = os.path.split(file)
    return canonical_path(folder or "."), name


def not_found_error(name: str, places: Sequence[str]) -> ProfileUnusable:
    """Return the error that *name* is in none of *places*, with the nearest name."""
    near = did_you_mean(name, set(_list_names(places)))
    once = dict[str, str]()
    for place in places:
        once.setdefault(canonical_path(place), place)
    looked = f"Looked in: {', '.join(map(repr, once.values()))}."
    return ProfileUnusable(f"there is no profile named {name!r}.", f"{near} {looked}".lstrip())


def canonical_path(file: str) -> str:
    """Return one text for all paths of one file; *file* itself if no file can have that path."""
    try:
        return os.path.realpath(file)
    except ValueError:
        return file


def read_bytes(file: str) -> bytes:
    """Return the content of a regular file of at most 1 MiB.

    Raises:
        ProfileUnusable: It is absent, not readable, too large, or not a regular file.
    """
    try:
        # Not blocking: opening a named pipe would otherwise wait for its writer.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ProfileUnusable("there is no such file.", _suggest_file(file), file) from None
    except ValueError:
        raise ProfileUnusable("cannot be opened: its path holds a NUL.", "", file) from None
    except OSError as error:
        raise ProfileUnusable(f"cannot be opened: {error.strerror}.", "", file) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise ProfileUnusable(f"is {_file_kind(mode)}, not a file.", "Give the path of a YAML file.", file)
        content = _first_bytes(descriptor, MAX_BYTES + 1)
    except OSError as error:
        raise ProfileUnusable(f"cannot be read: {error.strerror}.", "", file) from error
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise ProfileUnusable(f"is larger than {MAX_BYTES} bytes.", "Split it with `extends`.", file)
    return content


def _first_bytes(descriptor: int, count: int) -> bytes:
    parts = list[bytes]()
    while count and (part := os.read(descriptor, count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _file_kind(mode: int) -> str:
    return "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"


def _list_names(places: Iterable[str]) -> Iterator[str]:
    for folder in places:
        with suppress(OSError):
            yield from (
                stem
                for stem, suffix in map(os.path.splitext, os.listdir(folder))
                if suffix in SUFFIXES and is_name(stem)
            )


def _suggest_file(file: str) -> str:
    folder, name = os.path.split(file)
    with suppress(OSError, ValueError):
        return did_you_mean(name, (other for other in os.listdir(folder or ".") if other.endswith(SUFFIXES)))
    return ""
