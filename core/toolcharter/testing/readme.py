"""Parses the tables of a plugin's README: reasons, and policy fields with their defaults."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.loader.origin import editable_root
from toolcharter.loader.scan import EntryPoint

if TYPE_CHECKING:
    import yaml
else:
    yaml = lazy("yaml")

_QUOTED = re.compile(r"(`+)(.+?)\1")
_CELL_BORDER = re.compile(r"(?<!\\)\|")


class Row(NamedTuple):
    """One row of a table: its cells by the table's headings, in lower case."""

    cells: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The names in backticks in the first cell."""
        return backticked_texts(next(iter(self.cells.values()), ""))


def read_readme(entry: EntryPoint) -> str:
    """Return the README of the distribution of *entry*, from its source folder or from its metadata."""
    root = editable_root(entry)
    for file in (Path(root, "README.md"), Path(root, "README.rst")) if root else ():
        if file.is_file():
            return file.read_text(encoding="utf-8")
    metadata = Path(entry.metadata_dir, "METADATA")
    # The description follows the headers. Source: PyPA core metadata specification.
    return metadata.read_text(encoding="utf-8").partition("\n\n")[2] if metadata.is_file() else ""


def table_rows(text: str) -> Iterator[Row]:
    """Yield every row of every table in Markdown, without the rows that separate the headings."""
    headings: list[str] = []
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            headings = []
            continue
        cells = [cell.strip() for cell in _CELL_BORDER.split(line.strip().strip("|"))]
        if not headings:
            headings = [cell.lower() for cell in cells]
        elif not all(re.fullmatch(":?-+:?", cell) for cell in cells):
            yield Row(dict(zip(headings, cells, strict=False)))


def documented_reasons(text: str) -> set[str]:
    """Return every word in backticks that begins a row of a table headed `reason`."""
    return {name for row in table_rows(text) if "reason" in row.cells for name in row.names}


def documented_defaults(text: str) -> dict[str, list[str]]:
    """Return the `default` cells of the rows of each policy field."""
    found: dict[str, list[str]] = {}
    for row in table_rows(text):
        if row.cells.get("default"):
            for name in row.names:
                found.setdefault(name, []).append(row.cells["default"])
    return found


def states_default(cell: str, value: Any) -> bool:
    """Whether a `default` cell states *value* as YAML in backticks. A cell without backticks is not checked."""
    given = backticked_texts(cell)
    return not given or any(text == value or _parse_yaml(text) == value for text in given)


def backticked_texts(cell: str) -> list[str]:
    """Return the texts in backticks, without the backticks."""
    return [text.replace("\\|", "|").strip() for _, text in _QUOTED.findall(cell)]


def _parse_yaml(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text
