"""Finds the table of a program: one TOML file each, read when the program is first looked up.

The first line of a file lists its `programs`, and the file is named after the first of them. So most programs are found by the
name of a file; only for the others are the first lines of all files read.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from toolcharter.guards.shell.programs.table import TableEntry
from toolcharter.guards.shell.programs.table_file import TableError, parse_programs, parse_table

_FOLDER = Path(__file__).parents[1] / "tables"


class Tables:
    """The tables of a folder and of further files. Thread-safe: if two threads read the same file, they get equal tables."""

    def __init__(self, folder: Path, added: Mapping[str, TableEntry] | None = None) -> None:
        self._folder = folder
        self._added = dict(added or {})
        self._entries: dict[str, TableEntry] = dict(self._added)
        self._files: dict[str, Path] | None = None
        self._index: dict[str, Path] | None = None

    def find(self, program: str) -> TableEntry | None:
        """The table of *program*, a bare name; None if there is none.

        Raises:
            TableError: The file is invalid.
        """
        entry = self._entries.get(program)
        if entry is None:
            file = self._named().get(program) or self._indexed().get(program)
            if file is None:
                return None
            entry = _read_table(file)
            self._entries.update(dict.fromkeys(entry.programs, entry))
        return entry

    def programs(self) -> tuple[str, ...]:
        """All programs that have a table, sorted."""
        return tuple(sorted({*self._indexed(), *self._added}))

    def files(self) -> tuple[Path, ...]:
        """The files of the folder, sorted."""
        return tuple(path for _, path in sorted(self._named().items()))

    def with_added(self, paths: Iterable[Path]) -> "Tables":
        """These tables with those of further files, which are read immediately.

        Raises:
            TableError: A file is invalid, or one of its programs already has a table.
        """
        added, homes = dict(self._added), {name: str(path) for name, path in self._indexed().items()}
        for name, entry in self._added.items():
            homes[name] = entry.file
        for path in paths:
            entry = _read_table(path)
            for program in entry.programs:
                if program in homes:
                    raise TableError(f"{path}: {program!r} has a table already, in {homes[program]}.")
                added[program], homes[program] = entry, str(path)
        return Tables(self._folder, added)

    def _named(self) -> dict[str, Path]:
        if self._files is None:
            self._files = {path.stem: path for path in self._folder.iterdir() if path.suffix == ".toml"}
        return self._files

    def _indexed(self) -> dict[str, Path]:
        if self._index is None:
            index: dict[str, Path] = {}
            for file in self.files():
                for program in _read_programs(file):
                    if program in index:
                        raise TableError(f"{file}: {program!r} has a table already, in {index[program]}.")
                    index[program] = file
            self._index = index
        return self._index


def _read_table(file: Path) -> TableEntry:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{file}: {error}.") from error
    return parse_table(text, str(file))


def _read_programs(file: Path) -> tuple[str, ...]:
    with file.open("rb") as lines:
        return parse_programs(lines.readline().decode(errors="replace"), str(file))


CORE_TABLES = Tables(_FOLDER)
"""The tables that come with toolcharter."""
