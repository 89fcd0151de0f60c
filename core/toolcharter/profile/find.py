"""Finds and opens profiles: by path, or by a bare name in the folders where profiles lie."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from toolcharter.errors import did_you_mean

MAX_BYTES = 1 << 20
SUFFIXES = (".yaml", ".yml")

_NAME = re.compile(r"[A-Za-z0-9_-]+")
# Not `normpath`: after a link, `..` leads elsewhere than the text says.
_IDLE_PARTS = re.compile(r"(?<=/)(?:\.?/)+")
_PACKAGE = Path(__file__).parents[1]


class Unusable(Exception):
    """A profile cannot be found or opened; never leaves this package: a fault where the profile was named."""

    def __init__(self, what: str, fix: str, file: str | None = None) -> None:
        self.what = what
        self.fix = fix
        self.file = file
        super().__init__(what)


def is_name(profile: str) -> bool:
    """Whether *profile* is a bare name; anything else is a path."""
    return _NAME.fullmatch(profile) is not None


def checkout(package: Path = _PACKAGE) -> Path | None:
    """The root of the checkout that the core runs from; None in a wheel."""
    root = package.parent.parent
    return root if package.parent.name == "core" and (root / "pyproject.toml").is_file() else None


def shipped_profiles(package: Path = _PACKAGE) -> Path:
    """The folder of the ready profiles: in the wheel beside the code, in a checkout at its root."""
    return (checkout(package) or package) / "profiles"


def folders(search: Sequence[str | Path] = ()) -> list[str]:
    """Where bare names are looked up: `./profiles`, the shipped ones, then *search*."""
    return ["profiles", str(shipped_profiles()), *map(str, search)]


def locate(profile: str | Path, search: Sequence[str | Path] = (), *, beside: str | None = None) -> str:
    """Turn a profile's name or path into the path of its file.

    Args:
        profile: A bare name as text, or a path.
        search: More folders in which a bare name may lie.
        beside: The file that names *profile*; its folder comes first, and paths start there.

    Raises:
        Unusable: Nothing of this name, or two files of this name that differ.
    """
    here = None if beside is None else os.path.dirname(beside)  # noqa: PTH120 - a Path would lose a leading './'
    if isinstance(profile, Path) or not is_name(profile):
        return str(profile) if here is None else _IDLE_PARTS.sub("", os.path.join(here, profile))  # noqa: PTH118 - the same
    if here is not None and (near := _in_folder(profile, here)):
        return _the_one(profile, near)
    places = folders(search)
    found = [file for folder in places for file in _in_folder(profile, folder)]
    if not found:
        raise _not_found(profile, places if here is None else [here or ".", *places])
    return _the_one(profile, found)


def names(search: Sequence[str | Path] = ()) -> dict[str, list[str]]:
    """Every profile that a bare name can find, by name, with its files; equal copies count once."""
    return {
        name: _distinct(file for folder in folders(search) for file in _in_folder(name, folder))
        for name in sorted(_names_in(folders(search)))
    }


def differing(name: str, files: Sequence[str]) -> Unusable:
    """What to say about a bare name that stands for more than one profile."""
    listed = " and ".join(map(repr, files))
    return Unusable(f"the name {name!r} stands for different files: {listed}.", "Give the path of the one you mean.")


def identity(file: str) -> str:
    """One text for all paths of one file; *file* itself where no file can be."""
    try:
        return os.path.realpath(file)
    except ValueError:
        return file


def read_bytes(file: str) -> bytes:
    """The content of a regular file of at most 1 MiB.

    Raises:
        Unusable: It is absent, closed to us, too large, or no file.
    """
    try:
        # Not blocking: opening a named pipe would otherwise wait for its writer.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Unusable("there is no such file.", _nearby(file), file) from None
    except ValueError:
        raise Unusable("cannot be opened: its path holds a NUL.", "", file) from None
    except OSError as error:
        raise Unusable(f"cannot be opened: {error.strerror}.", "", file) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise Unusable(f"is {_kind(mode)}, not a file.", "Give the path of a YAML file.", file)
        content = _first_bytes(descriptor, MAX_BYTES + 1)
    except OSError as error:
        raise Unusable(f"cannot be read: {error.strerror}.", "", file) from error
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise Unusable(f"is larger than {MAX_BYTES} bytes.", "Split it with `extends`.", file)
    return content


def _first_bytes(descriptor: int, count: int) -> bytes:
    parts = list[bytes]()
    while count and (part := os.read(descriptor, count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _kind(mode: int) -> str:
    return "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"


def _in_folder(name: str, folder: str) -> list[str]:
    files = (os.path.join(folder, name + suffix) for suffix in SUFFIXES)  # noqa: PTH118 - as in locate
    return [file for file in files if os.path.exists(file)]  # noqa: PTH110 - Path.exists raises for long names


def _names_in(places: Iterable[str]) -> Iterator[str]:
    for folder in places:
        with suppress(OSError):
            yield from (
                stem
                for stem, suffix in map(os.path.splitext, os.listdir(folder))  # noqa: PTH208 - names alone
                if suffix in SUFFIXES and is_name(stem)
            )


def _distinct(files: Iterable[str]) -> list[str]:
    seen: dict[object, str] = {}
    for file in files:
        try:
            content: object = read_bytes(file)
        except Unusable:
            content = os.path.realpath(file)
        seen.setdefault(content, file)
    return list(seen.values())


def _the_one(name: str, files: Sequence[str]) -> str:
    distinct = files if len(files) == 1 else _distinct(files)
    if len(distinct) > 1:
        raise differing(name, distinct)
    return distinct[0]


def _not_found(name: str, places: Sequence[str]) -> Unusable:
    near = did_you_mean(name, set(_names_in(places)))
    once = dict[str, str]()
    for place in places:  # `extends` of a profile in one of these looks there first, by another path.
        once.setdefault(identity(place), place)
    looked = f"Looked in: {', '.join(map(repr, once.values()))}."
    return Unusable(f"there is no profile named {name!r}.", f"{near} {looked}".lstrip())


def _nearby(file: str) -> str:
    folder, name = os.path.split(file)
    with suppress(OSError, ValueError):
        return did_you_mean(name, (other for other in os.listdir(folder or ".") if other.endswith(SUFFIXES)))  # noqa: PTH208
    return ""
