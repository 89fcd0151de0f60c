"""Paths as text: which are malformed, what their components are, which names are protected."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate

from toolcharter.guards.paths.faults import invalid

MAX_PATH_BYTES = 4095
"""Linux PATH_MAX without the terminating NUL (limits.h)."""

Parts = tuple[str, ...]

# Ignorable by default, but no format characters (Cf), which Python knows by themselves.
# Source: Unicode, DerivedCoreProperties.txt, Default_Ignorable_Code_Point.
_IGNORABLE = (  # compiled when a name that is not ASCII is first compared
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_SPECIAL = re.compile(r"([\\*?\[\]{}! #])")
_PLAIN = re.compile(r"[\w.*?-]+", re.ASCII)  # globs that mean the same here and in gitignore(5)


def split(path: str) -> Parts:
    """The components of *path*, taken literally; `.` is last where it must name a folder."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not parts or path.endswith(("/", "/.")):
        parts.append(".")
    return tuple(parts)


def absolute_parts(path: str) -> Parts:
    """The components of an absolute folder's path."""
    return tuple(part for part in path.split("/") if part)


def collapsed(parts: Parts) -> Parts:
    """*parts* without `.` and `..`, which are right where no link lies on the way."""
    names: list[str] = []
    for part in parts:
        if part == "..":
            del names[-1:]
        elif part != ".":
            names.append(part)
    return tuple(names)


def climbs(parts: Parts) -> bool:
    """Whether *parts* lead above where they begin, if only to come back."""
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else part != "."
        if depth < 0:
            return True
    return False


def check_text(path: str) -> None:
    """Refuse what no file can be called.

    Raises:
        ToolError: `invalid_path`.
    """
    if not path:
        raise invalid(path, "is empty")
    if "\0" in path:
        raise invalid(path, "contains a NUL")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise invalid(path, "is not Unicode text") from None
    if size > MAX_PATH_BYTES:
        raise invalid(path, f"is longer than {MAX_PATH_BYTES} bytes")


def below(parts: Sequence[str], root: Parts) -> Parts | None:
    """What remains of absolute *parts* beneath *root*, or None. By components, never by prefix."""
    return tuple(parts[len(root) :]) or (".",) if tuple(parts[: len(root)]) == root else None


def fold(name: str) -> str:
    """*name* as a disk that ignores case would compare it.

    Source: ext4 and f2fs `casefold` compare in NFDICF: normalised, without the code points that
    are ignorable by default, folded (kernel documentation, ext4, "casefold").
    """
    if name.isascii():
        return name.lower()
    kept = re.sub(_IGNORABLE, "", name)
    kept = "".join(char for char in kept if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", kept).casefold())


class Protection:
    """The protected places: globs for the name of any component, and folders by their path.

    Args:
        entries: `.env.*` covers every component of that form; `/srv/plugins` and, below the
            workspace, `ci/keys` cover that place and all beneath it.
        folders: Paths below the workspace, also those without a `/`.

    Raises:
        ValueError: An entry is empty or contains `..`.
    """

    def __init__(self, entries: Iterable[str], folders: Iterable[str] = ()) -> None:
        self.entries = tuple(dict.fromkeys((*entries, *(f"./{folder}" for folder in folders))))
        for entry in self.entries:
            if not entry.strip("/") or ".." in entry.split("/"):
                raise ValueError(f"{entry!r} protects nothing: write a name such as '.env.*' or a folder's path.")
        self._names = [entry for entry in self.entries if "/" not in entry]
        self._name: Callable[[str], object] = re.compile(
            "|".join(translate(fold(name)) for name in self._names) or r"(?!)"
        ).match

    def places(self, workspace: str) -> frozenset[Parts]:
        """The entries that are paths, as written and as they resolve now, folded."""
        written = [os.path.join(workspace, entry) for entry in self.entries if "/" in entry]
        return frozenset(tuple(map(fold, absolute_parts(each))) for path in written for each in _both(path))

    def covers(self, base: Parts, parts: Sequence[str], places: frozenset[Parts]) -> bool:
        """Whether *parts*, walked one by one from the folder *base*, touch anything protected."""
        folded = [fold(part) for part in parts]
        if any(map(self._name, folded)):
            return True
        if not places:
            return False
        full = (*map(fold, base), *folded)
        return any(full[: len(place)] == place for place in places)

    def holds(self, base: Parts, parts: Sequence[str], places: frozenset[Parts]) -> bool:
        """Whether a protected place lies, or would lie, below *parts*, seen from the folder *base*."""
        full = (*map(fold, base), *map(fold, parts))
        return any(place[: len(full)] == full for place in places)

    def concerns(self, base: Parts, parts: Sequence[str], places: frozenset[Parts]) -> bool:
        """Whether a change of *parts*, seen from the folder *base*, changes anything protected: there, above or below."""
        return self.covers(base, parts, places) or self.holds(base, parts, places)

    def patterns(self, base: Parts, places: frozenset[Parts]) -> tuple[str, ...]:
        """What a program that reads the folder *base* may skip; for speed only, some may be left out.

        Source: gitignore(5), to be read without case.
        """
        folded = tuple(map(fold, base))
        below_base = sorted(place[len(base) :] for place in places if place[: len(base)] == folded)
        anchored = ["/" + "/".join(_SPECIAL.sub(r"\\\1", part) for part in place) for place in below_base if place]
        return (*filter(_PLAIN.fullmatch, self._names), *anchored)


def _both(path: str) -> set[str]:
    return {os.path.normpath(path), os.path.realpath(path)}
