"""A file of another system: its values with their places, and a record of how each was imported."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from toolcharter import ConfigurationError, Fault, ToolPolicy, read_settings
from toolcharter_importer import json5

Keys = tuple[str | int, ...]
"""The path of keys and indexes to a value."""
V = TypeVar("V")
Kind = Literal["left out", "narrower"]


class Note(NamedTuple):
    """A difference between the profile and its source."""

    place: str
    """`FILE:LINE:COLUMN`."""
    key: str
    kind: Kind
    """`left out`: the profile does not express the value. `narrower`: it permits less than the source."""
    why: str
    """A sentence without any value of the source, which may be a secret."""

    def __str__(self) -> str:
        return f"{self.place}: {self.key or 'the file'}: {self.kind}: {self.why}"


_MAX_BYTES = 1 << 20


class _Raw(ToolPolicy):
    """The unchecked content of a file."""

    value: Any = None

    @classmethod
    def from_profile(cls, values: Any) -> "_Raw":
        return cls.model_construct(value=values)


class Source:
    """One file, and a record of which values were imported.

    A text, a flag or a number counts as imported once it is read. Values that are neither read nor left out explicitly
    are reported as left out by `finish`.
    """

    def __init__(self, file: str | Path) -> None:
        """Read *file*.

        A `.json` or `.json5` file is parsed as JSON5, which includes JSON; of a `.md` file, the front matter is read;
        any other file is YAML.

        Raises:
            ConfigurationError: The file cannot be read; with all faults.
        """
        self.file = Path(file)
        self.body = ""
        """The text below the front matter."""
        self._places: Callable[..., object]
        self.value: Any
        text = _json5_text(self.file)
        if text is not None:
            self.value, places = json5.parse(text, str(file))
            self._places = lambda *path: places[path]
        else:
            read = read_settings(file, _Raw, least="{}", front_matter=self.file.suffix == ".md")
            self.value, self.body, self._places = read.values.value, read.body, read.places.value_of
        self.notes: list[Note] = []
        self._handled: set[Keys] = set()
        self._opened: set[Keys] = set()

    def place(self, *path: str | int) -> str:
        """Return the place of the value at *path* as `FILE:LINE:COLUMN`."""
        return str(self._places(*path)) if path else f"{self.file}:1:1"

    def mark_imported(self, *path: str | int) -> None:
        """Record that the profile expresses the whole value at *path*."""
        self._handled.add(path)

    def leave_out(self, *path: str | int, why: str) -> None:
        """Record that the profile expresses nothing of the value at *path*."""
        self._handled.add(path)
        self._note("left out", path, why)

    def note_missing(self, *path: str | int, why: str) -> None:
        """Record that the profile does not express the value at *path*; its keys are still checked one by one."""
        self._note("left out", path, why)

    def note_narrower(self, *path: str | int, why: str) -> None:
        """Record that the profile permits less than the value at *path*."""
        self._note("narrower", path, why)

    def _note(self, kind: Kind, path: Keys, why: str) -> None:
        key = "".join(char if char.isprintable() else "?" for char in ".".join(map(str, path)))
        note = Note(self.place(*path), key, kind, why)
        if note not in self.notes:
            self.notes.append(note)

    def make_fault(self, *path: str | int, what: str, fix: str = "") -> ConfigurationError:
        """Return a fault that stops the import: a profile without the value would permit more than the source."""
        return ConfigurationError([Fault(self.place(*path), ".".join(map(str, path)), what, fix)])

    def value_at(self, *path: str | int) -> Any:
        """Return the value at *path*; None if there is none."""
        value = self.value
        for key in path:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def mapping(self, *path: str | int) -> dict[str, Any]:
        """Return the mapping at *path*, empty if there is none. Its keys are then checked one by one.

        Raises:
            ConfigurationError: The value is not a mapping.
        """
        return self._typed_value(dict, "a mapping", path, {}, self._opened)

    def items(self, *path: str | int) -> list[Any]:
        """Return the list at *path*, empty if there is none. Its items are then checked one by one.

        Raises:
            ConfigurationError: The value is not a list.
        """
        return self._typed_value(list, "a list", path, [], self._opened)

    def texts(self, *path: str | int) -> list[str]:
        """Return the texts of the list at *path*, empty if there is none.

        Raises:
            ConfigurationError: The value is not a list of texts.
        """
        return [self.text(*path, number) for number, _ in enumerate(self.items(*path))]

    def text(self, *path: str | int, default: str = "") -> str:
        """Return the text at *path*, or *default*.

        Raises:
            ConfigurationError: The value is not a text.
        """
        return self._typed_value(str, "text", path, default, self._handled)

    def flag(self, *path: str | int, default: bool) -> bool:
        """Return the truth value at *path*, or *default*.

        Raises:
            ConfigurationError: The value is not true or false.
        """
        return self._typed_value(bool, "true or false", path, default, self._handled)

    def number(self, *path: str | int, default: int = 0) -> int:
        """Return the whole number at *path*, or *default*.

        Raises:
            ConfigurationError: The value is not a whole number.
        """
        return self._typed_value(int, "a whole number", path, default, self._handled)

    def _typed_value(self, kind: type[V], words: str, path: Keys, default: V, seen: set[Keys]) -> V:
        seen.add(path)
        value = self.value_at(*path)
        if value is None:
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.make_fault(
                *path, what=f"{words} is expected here.", fix="Correct the file; nothing was imported."
            )
        return value

    def finish(self, why: str) -> tuple[Note, ...]:
        """Return all notes in the order of the file. Values that were not imported are left out because of *why*."""
        for path in self._unread_paths((), self.value):
            self.leave_out(*path, why=why)
        return tuple(sorted(self.notes, key=lambda note: _position(note.place)))

    def _unread_paths(self, path: Keys, value: Any) -> Iterator[Keys]:
        if path in self._handled:
            return
        if path not in self._opened:
            yield path
            return
        keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        for key in keys:
            yield from self._unread_paths((*path, key), value[key])


def _json5_text(file: Path) -> str | None:
    """The text of *file* if its name says that it is JSON or JSON5.

    None for other files, and for unreadable and too large files, whose faults the YAML reader reports. The YAML reader
    cannot parse JSON itself: it does not know the escapes of JSON for characters beyond U+FFFF.
    """
    if file.suffix not in {".json", ".json5"}:
        return None
    try:
        content = file.read_bytes()
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if len(content) <= _MAX_BYTES else None


def _position(place: str) -> tuple[str, int, int]:
    file, line, column = place.rsplit(":", 2)
    return file, int(line), int(column)
