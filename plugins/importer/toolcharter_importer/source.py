"""A file of another system: its values with their places, and what has become of each."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from toolcharter import ConfigurationError, Fault, ToolPolicy, read_settings
from toolcharter_importer import json5

Keys = tuple[str | int, ...]
"""Keys and numbers that lead to a value."""
V = TypeVar("V")
Kind = Literal["left out", "narrower"]


class Note(NamedTuple):
    """What the profile does not say as the source did."""

    place: str
    """`FILE:LINE:COLUMN`."""
    key: str
    kind: Kind
    """`left out`: the profile says nothing of it. `narrower`: it permits less than the source did."""
    why: str
    """A sentence. It never holds a value of the source, which may be a secret."""

    def __str__(self) -> str:
        return f"{self.place}: {self.key or 'the file'}: {self.kind}: {self.why}"


_MAX_BYTES = 1 << 20


class _Raw(ToolPolicy):
    """Whatever a file holds."""

    value: Any = None

    @classmethod
    def from_profile(cls, values: Any) -> "_Raw":
        return cls.model_construct(value=values)


class Source:
    """One file. Who reads a text, a flag or a number answers for it; what nobody reads or leaves is left out in the end."""

    def __init__(self, file: str | Path) -> None:
        """Read *file*: YAML, JSON5 (which JSON is) if its name ends in `.json` or `.json5`, or the front matter of one that ends in `.md`.

        Raises:
            ConfigurationError: It cannot be read; with every fault.
        """
        self.file = Path(file)
        self.body = ""
        """The text below the front matter."""
        self._places: Callable[..., object]
        self.value: Any
        text = _json5_of(self.file)
        if text is not None:
            self.value, places = json5.read(text, str(file))
            self._places = lambda *path: places[path]
        else:
            read = read_settings(file, _Raw, least="{}", front_matter=self.file.suffix == ".md")
            self.value, self.body, self._places = read.values.value, read.body, read.places.value_of
        self.notes: list[Note] = []
        self._settled: set[Keys] = set()
        self._opened: set[Keys] = set()

    def place(self, *path: str | int) -> str:
        """Where the value at *path* stands."""
        return str(self._places(*path)) if path else f"{self.file}:1:1"

    def carry(self, *path: str | int) -> None:
        """The profile says the same as all that is at *path*."""
        self._settled.add(path)

    def leave(self, *path: str | int, why: str) -> None:
        """The profile says nothing of all that is at *path*."""
        self._settled.add(path)
        self._note("left out", path, why)

    def lack(self, *path: str | int, why: str) -> None:
        """The profile says nothing of what is at *path*, whose keys are looked at one by one."""
        self._note("left out", path, why)

    def narrow(self, *path: str | int, why: str) -> None:
        """The profile permits less than what is at *path*."""
        self._note("narrower", path, why)

    def _note(self, kind: Kind, path: Keys, why: str) -> None:
        key = "".join(char if char.isprintable() else "?" for char in ".".join(map(str, path)))
        note = Note(self.place(*path), key, kind, why)
        if note not in self.notes:
            self.notes.append(note)

    def fault(self, *path: str | int, what: str, fix: str = "") -> ConfigurationError:
        """What stops the import: a profile without it would permit what the source denied."""
        return ConfigurationError([Fault(self.place(*path), ".".join(map(str, path)), what, fix)])

    def at(self, *path: str | int) -> Any:
        """The value at *path*; None if there is none."""
        value = self.value
        for key in path:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def mapping(self, *path: str | int) -> dict[str, Any]:
        """The mapping at *path*, whose keys are looked at one by one; empty if there is none.

        Raises:
            ConfigurationError: Something else is there.
        """
        return self._of(dict, "a mapping", path, {}, self._opened)

    def items(self, *path: str | int) -> list[Any]:
        """The list at *path*, whose items are looked at one by one; empty if there is none.

        Raises:
            ConfigurationError: Something else is there.
        """
        return self._of(list, "a list", path, [], self._opened)

    def texts(self, *path: str | int) -> list[str]:
        """The texts of the list at *path*; empty if there is none.

        Raises:
            ConfigurationError: Something else is there.
        """
        return [self.text(*path, number) for number, _ in enumerate(self.items(*path))]

    def text(self, *path: str | int, default: str = "") -> str:
        """The text at *path*.

        Raises:
            ConfigurationError: Something else is there.
        """
        return self._of(str, "text", path, default, self._settled)

    def flag(self, *path: str | int, default: bool) -> bool:
        """The truth value at *path*.

        Raises:
            ConfigurationError: Something else is there.
        """
        return self._of(bool, "true or false", path, default, self._settled)

    def number(self, *path: str | int, default: int = 0) -> int:
        """The whole number at *path*.

        Raises:
            ConfigurationError: Something else is there.
        """
        return self._of(int, "a whole number", path, default, self._settled)

    def _of(self, kind: type[V], words: str, path: Keys, default: V, spoken: set[Keys]) -> V:
        spoken.add(path)
        value = self.at(*path)
        if value is None:
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.fault(*path, what=f"{words} is expected here.", fix="Mend the file; nothing was imported.")
        return value

    def finish(self, why: str) -> tuple[Note, ...]:
        """All notes in the order of the file; what nobody spoke of is left out because of *why*."""
        for path in self._unspoken((), self.value):
            self.leave(*path, why=why)
        return tuple(sorted(self.notes, key=lambda note: _order(note.place)))

    def _unspoken(self, path: Keys, value: Any) -> Iterator[Keys]:
        if path in self._settled:
            return
        if path not in self._opened:
            yield path
            return
        keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        for key in keys:
            yield from self._unspoken((*path, key), value[key])


def _json5_of(file: Path) -> str | None:
    """The text of *file* if its name says that it is JSON or JSON5; None if another reader is for it, or for what is wrong with it.

    YAML's reader does not know the escapes of JSON for characters beyond U+FFFF.
    """
    if file.suffix not in {".json", ".json5"}:
        return None
    try:
        content = file.read_bytes()
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return text if len(content) <= _MAX_BYTES else None


def _order(place: str) -> tuple[str, int, int]:
    file, line, column = place.rsplit(":", 2)
    return file, int(line), int(column)
