"""A YAML document as a tree in which every key and value knows where it was written."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, Self, TypeAlias

from toolcharter.errors import Fault

KeyPath: TypeAlias = tuple[str | int, ...]
Scalar: TypeAlias = str | int | float | bool | None

_PLACE = re.compile(r"(.*):([0-9]+):([0-9]+)", re.DOTALL)
_ECHO = 40
_NAME = 64


class Place(NamedTuple):
    """A position in a file; lines and columns count from 1."""

    file: str
    """As the user named it: relative stays relative."""
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Node(NamedTuple):
    """A value and where it begins."""

    value: "Scalar | list[Node] | dict[str, Entry]"
    place: Place


class Entry(NamedTuple):
    """One entry of a mapping: the place of its key, and its value."""

    place: Place
    node: Node


def entries(node: Node) -> Mapping[str, Entry]:
    """The entries of a mapping; none of anything else."""
    return node.value if isinstance(node.value, dict) else {}


def items(node: Node) -> list[Node]:
    """The items of a list; none of anything else."""
    return node.value if isinstance(node.value, list) else []


def plain(node: Node) -> Any:
    """The value without places: dicts, lists and scalars."""
    if isinstance(node.value, dict):
        return {key: plain(entry.node) for key, entry in node.value.items()}
    if isinstance(node.value, list):
        return [plain(item) for item in node.value]
    return node.value


class Located(dict[str, Any]):
    """A mapping as plain values, which knows the node that it was made of."""

    def __init__(self, node: Node, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.node = node


class LocatedText(str):
    """A text that knows the node that it was made of."""

    __slots__ = ("node",)

    def __new__(cls, node: Node) -> Self:
        """The text of a node that holds one."""
        text = super().__new__(cls, node.value)
        text.node = node
        return text

    node: Node


def located(node: Node) -> Any:
    """The value as plain lists and scalars, but each mapping and each text knows its node."""
    if isinstance(node.value, dict):
        return Located(node, {key: located(entry.node) for key, entry in node.value.items()})
    if isinstance(node.value, list):
        return [located(item) for item in node.value]
    return LocatedText(node) if isinstance(node.value, str) else node.value


def without(node: Node, gone: Collection[KeyPath], at: KeyPath = ()) -> Node:
    """The tree without what is at the paths in *gone*."""
    if isinstance(node.value, dict):
        kept = {
            key: Entry(entry.place, without(entry.node, gone, (*at, key)))
            for key, entry in node.value.items()
            if (*at, key) not in gone
        }
        return Node(kept, node.place)
    if isinstance(node.value, list):
        paths = ((item, (*at, index)) for index, item in enumerate(node.value))
        return Node([without(item, gone, path) for item, path in paths if path not in gone], node.place)
    return node


def dotted(path: KeyPath) -> str:
    """The path as people write it, such as `tools.git.allowed_actions.0`; parts beyond 64 characters are cut."""
    return ".".join(part if len(part) <= _NAME else f"{part[: _NAME - 3]}..." for part in map(str, path))


def shortened(value: object) -> str:
    """Repeat *value* in a message, in at most 40 characters."""
    text = repr(value)
    return text if len(text) <= _ECHO else f"{text[: _ECHO - 4]}...{text[-1]}"


def in_file_order(faults: Iterable[Fault], *files: str) -> list[Fault]:
    """*faults* as one mends them: file by file, each from top to bottom; then what is in no file.

    Args:
        faults: In any order.
        files: Those that come first; the others follow as *faults* names them.
    """
    ranks = {file: rank for rank, file in enumerate(files)}

    def key(fault: Fault) -> tuple[float, int, int]:
        place = _PLACE.fullmatch(fault.place)
        if place is None:
            return float("inf"), 0, 0
        return ranks.setdefault(place[1], len(ranks)), int(place[2]), int(place[3])

    return sorted(faults, key=key)


def described(value: object) -> str:
    """Say in a message what is in the file."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {shortened(value)}"
        case str():
            return f"the text {shortened(value)}"
        case dict():
            return "a mapping"
        case _:
            return "a list"


class Places(NamedTuple):
    """Where each value of the effective profile was written, as `file:line:column`."""

    root: Node

    def of(self, *path: str | int) -> str:
        """Where the entry at *path* begins: at its key, or at the item of a list.

        An absent path gives the place of its nearest ancestor.
        """
        return str(self._walk(path)[0])

    def value_of(self, *path: str | int) -> str:
        """Where the value at *path* begins; that of its nearest ancestor's entry if absent."""
        entry, value, found = self._walk(path)
        return str(value if len(found) == len(path) else entry)

    def known(self, path: KeyPath) -> KeyPath:
        """The parts of *path* that exist, without those that name nothing in the file."""
        return self._walk(path, skip=True)[2]

    def _walk(self, path: KeyPath, *, skip: bool = False) -> tuple[Place, Place, KeyPath]:
        node, place, found = self.root, self.root.place, list[str | int]()
        for part in path:
            step = _step(node, part)
            if step is not None:
                place, node = step
                found.append(part)
            elif not skip:
                break
        return place, node.place, tuple(found)


def _step(node: Node, part: str | int) -> Entry | None:
    if isinstance(part, str):
        return entries(node).get(part)
    below = items(node)
    return Entry(below[part].place, below[part]) if 0 <= part < len(below) else None
