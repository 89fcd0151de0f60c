"""Paths as text: check them, split them into components, match their names against protected ones."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate

from toolcharter.guards.paths.faults import invalid

MAX_PATH_BYTES = 4095
"""Linux PATH_MAX without the terminating NUL (limits.h)."""

Parts = tuple[str, ...]

# Code points that are ignorable by default, without format characters, which Python knows by their category (Cf).
# Source: Unicode, DerivedCoreProperties.txt, Default_Ignorable_Code_Point.
_IGNORABLE = (  # compiled when the first non-ASCII name is compared
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_SPECIAL = re.compile(r"([\\*?\[\]{}! #])")
_PLAIN = re.compile(r"[\w.*?-]+", re.ASCII)  # globs that mean the same here and in gitignore(5)


def split(path: str) -> Parts:
    """Split *path* into components, without resolving any. The last one is `.` if *path* must be a folder."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not parts or path.endswith(("/", "/.")):
        parts.append(".")
    return tuple(parts)


def absolute_parts(path: str) -> Parts:
    """The components of an absolute folder's path."""
    return tuple(part for part in path.split("/") if part)


def collapse(parts: Parts) -> Parts:
    """Resolve `.` and `..` in *parts* as text. The result is right only if no link lies on the way."""
    names: list[str] = []
    for part in parts:
        if part == "..":
            del names[-1:]
        elif part != ".":
            names.append(part)
    return tuple(names)


def leads_above_start(parts: Parts) -> bool:
    """Whether *parts* lead above their start at any point, even if they come back."""
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else part != "."
        if depth < 0:
            return True
    return False


def check_text(path: str) -> None:
    """Refuse a text that cannot be a path.

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
    """Return absolute *parts* relative to *root*, or None if they do not lie beneath it. Compares whole components."""
    return tuple(parts[len(root) :]) or (".",) if tuple(parts[: len(root)]) == root else None


def fold(name: str) -> str:
    """Return *name* in the form in which a disk that ignores case compares it.

    Source: ext4 and f2fs `casefold` compare in NFDICF: normalised, without the code points that
    are ignorable by default, folded (kernel documentation, ext4, "casefold").
    """
    if name.isascii():
        return name.lower()
    kept = re.sub(_IGNORABLE, "", name)
    kept = "".join(char for char in kept if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", kept).casefold())


class Protection:
    """The protected places: globs for the name of any component, and paths of folders.

    Args:
        entries: A glob such as `.env.*` covers every component that matches it. A path, absolute
            such as `/srv/plugins` or relative to the workspace such as `ci/keys`, covers that
            place and everything beneath it.
        folders: Paths relative to the workspace, with or without a `/`.

    Raises:
        ValueError: An entry is empty or contains `..`.
    """

    def __init__(self, entries: Iterable[str], folders: Iterable[str] = ()) -> None:
        self.entries = tuple(dict.fromkeys((*entries, *(f"./{folder}" for folder in folders))))
        for entry in self.entries:
            if not entry.strip("/") or ".." in entry.split("/"):
                raise ValueError(f"{entry!r} protects nothing: write a name such as '.env.*' or a folder's path.")
        self._names = [entry for entry in self.entries if "/" not in entry]
        self._matches_name: Callable[[str], object] = re.compile(
            "|".join(translate(fold(name)) for name in self._names) or r"(?!)"
        ).match

    def places(self, workspace: str) -> frozenset[Parts]:
        """Return the entries that are paths, as written and as they currently resolve, folded."""
        written = [os.path.join(workspace, entry) for entry in self.entries if "/" in entry]
        return frozenset(tuple(map(fold, absolute_parts(each))) for path in written for each in _written_and_real(path))

    def covers(self, base: Parts, parts: Sequence[str], places: frozenset[Parts]) -> bool:
        """Whether *parts*, seen from the folder *base*, are protected or lie below a protected place."""
        folded = [fold(part) for part in parts]
        if any(map(self._matches_name, folded)):
            return True
        if not places:
            return False
        full = (*map(fold, base), *folded)
        return any(full[: len(place)] == place for place in places)

    def holds(self, base: Parts, parts: Sequence[str], places: frozenset[Parts]) -> bool:
        """Whether a protected place is, or lies below, *parts*, seen from the folder *base*. It may not exist."""
        full = (*map(fold, base), *map(fold, parts))
        return any(place[: len(full)] == full for place in places)

    def overlaps(self, base: Parts, parts: Sequence[str], places: frozenset[Parts]) -> bool:
        """Whether a change of *parts*, seen from *base*, affects a protected place there, above or below."""
        return self.covers(base, parts, places) or self.holds(base, parts, places)

    def patterns(self, base: Parts, places: frozenset[Parts]) -> tuple[str, ...]:
        """Return patterns that a program that reads the folder *base* may skip. They save time and are not complete.

        Source: gitignore(5), but case is ignored.
        """
        folded = tuple(map(fold, base))
        below_base = sorted(place[len(base) :] for place in places if place[: len(base)] == folded)
        anchored = ["/" + "/".join(_SPECIAL.sub(r"\\\1", part) for part in place) for place in below_base if place]
        return (*filter(_PLAIN.fullmatch, self._names), *anchored)


def _written_and_real(path: str) -> set[str]:
    return {os.path.normpath(path), os.path.realpath(path)}
