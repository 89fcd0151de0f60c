"""Parses the project's Markdown pages: their fenced blocks, links, table rows and generated parts."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

_FENCE = re.compile(r"^```(?P<language>\w*)(?P<words>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FILE = re.compile(r"^# ([\w./-]+/[\w.-]+|[\w-]+\.\w+)\n")
_GENERATED = re.compile(r"^<!-- table: (?P<name>[\w-]+) -->\n.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)
_CELL_BORDER = re.compile(r"(?<!\\)\|")


class Block(NamedTuple):
    """One fenced block of a page."""

    language: str
    words: tuple[str, ...]
    """The words after the language, such as `illustration`."""
    text: str
    line: int
    """The number of its first line of text, from 1."""

    @property
    def file(self) -> str | None:
        """The path in the comment of its first line: the block is the content of that file."""
        named = _FILE.match(self.text)
        return named[1] if named else None


def pages() -> list[Path]:
    """Return README, CONTRIBUTING and all pages in docs."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """Yield every fenced block that begins in the first column, in order."""
    for fence in _FENCE.finditer(text):
        line = text.count("\n", 0, fence.start()) + 2
        yield Block(fence["language"], tuple(fence["words"].split()), fence["text"], line)


def prose(text: str) -> str:
    """Return *text* without its fenced blocks."""
    return _FENCE.sub("", text)


def links(text: str) -> Iterator[str]:
    """Yield the targets of all links outside of fenced blocks."""
    return (link[1] for link in _LINK.finditer(prose(text)))


def anchors(text: str) -> set[str]:
    """Return the valid `#...` targets. Source: GitHub's rule for headings: lower case, spaces to '-', others gone."""
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(text: str, first_heading: str) -> list[list[str]]:
    """Return the rows of all tables whose first column is headed *first_heading*, without the headings."""
    found: list[list[str]] = []
    heading = ""
    for line in prose(text).splitlines():
        if not line.startswith("|"):
            heading = ""
            continue
        cells = [cell.strip() for cell in _CELL_BORDER.split(line.strip("|"))]
        if not heading:
            heading = cells[0]
        elif heading == first_heading and not set(cells[0]) <= set(":-"):
            found.append(cells)
    return found


def quoted(cell: str) -> list[str]:
    """Return the texts in backticks in *cell*."""
    return re.findall(r"`([^`]+)`", cell)


def regenerate(text: str, table: Callable[[str], str]) -> str:
    """Return *text* with every generated part replaced: `table(name)` returns the new text between its markers."""
    return _GENERATED.sub(lambda part: f"<!-- table: {part['name']} -->\n{table(part['name'])}\n<!-- end -->", text)
