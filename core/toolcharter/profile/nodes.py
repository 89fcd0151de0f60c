"""A YAML document as a tree in which every key and value has its place."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, Self, TypeAlias

from toolcharter.errors import Fault

KeyPath: TypeAlias = tuple[str | int, ...]
Scalar: TypeAlias = str | int | float | bool | None

_PLACE = re.compile(r"(.*):([0-9]+):([0-9]+)", re.DOTALL)
_MAX_REPR = 40
_MAX_PATH_PART = 64


class Place(NamedTuple):
    """A position in a file; lines and columns count from 1."""

    file: str
    """The name that the user gave; a relative name stays relative."""
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Node(NamedTuple):
    """A value and the place where it begins."""

    value: "Scalar | list[Node] | dict[str, Entry]"
    place: Place


class Entry(NamedTuple):
    """One entry of a mapping: the place of its key, and its value."""

    place: Place
    node: Node


def entries(node: Node) -> Mapping[str, Entry]:
    """Return the entries of a mapping; empty for any other node."""
    return node.value if isinstance(node.value, dict) else {}


def items(node: Node) -> list[Node]:
    """Return the items of a list; empty for any other node."""
    return node.value if isinstance(node.value, list) else []


def to_plain(node: Node) -> Any:
    """Return the value without places: dicts, lists and scalars."""
    if isinstance(node.value, dict):
        return {key: to_plain(entry.node) for key, entry in node.value.items()}
    if isinstance(node.value, list):
        return [to_plain(item) for item in node.value]
    return node.value


class Located(dict[str, Any]):
    """A mapping as plain values that keeps the node it was made from."""

    def __init__(self, node: Node, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.node = node


class LocatedText(str):
    """A text that keeps the node it was made from."""

    __slots__ = ("node",)

    def __new__(cls, node: Node) -> Self:
        """Make the text from a node that holds one."""
        text = super().__new__(cls, node.value)
        text.node = node
        return text

    node: Node


def to_located(node: Node) -> Any:
    """Return the value as plain lists and scalars in which each mapping and each text keeps its node."""
    if isinstance(node.value, dict):
        return Located(node, {key: to_located(entry.node) for key, entry in node.value.items()})
    if isinstance(node.value, list):
        return [to_located(item) for item in node.value]
    return LocatedText(node) if isinstance(node.value, str) else node.value


def remove_paths(node: Node, removed: Collection[KeyPath], at: KeyPath = ()) -> Node:
    """Return the tree without the values at the paths in *gone*."""
    if isinstance(node.value, dict):
        kept = {
            key: Entry(entry.place, remove_paths(entry.node, removed, (*at, key)))
            for key, entry in node.value.items()
            if (*at, key) not in removed
        }
        return Node(kept, node.place)
    if isinstance(node.value, list):
        paths = ((item, (*at, index)) for index, item in enumerate(node.value))
        return Node([remove_paths(item, removed, path) for item, path in paths if path not in removed], node.place)
    return node


def dotted(path: KeyPath) -> str:
    """Return the path as users write it, such as `tools.git.allowed_actions.0`; parts beyond 64 characters are cut."""
    return ".".join(
        part if len(part) <= _MAX_PATH_PART else f"{part[: _MAX_PATH_PART - 3]}..." for part in map(str, path)
    )


def short_repr(value: object) -> str:
    """Quote *value* for a message, in at most 40 characters."""
    text = repr(value)
    return text if len(text) <= _MAX_REPR else f"{text[: _MAX_REPR - 4]}...{text[-1]}"


def in_file_order(faults: Iterable[Fault], *files: str) -> list[Fault]:
    """Sort *faults* in the order in which a user fixes them: by file, from top to bottom; then those without a file.

    Args:
        faults: The faults in any order.
        files: The files that come first; others follow in the order of *faults*.
    """
    ranks = {file: rank for rank, file in enumerate(files)}

    def key(fault: Fault) -> tuple[float, int, int]:
        place = _PLACE.fullmatch(fault.place)
        if place is None:
            return float("inf"), 0, 0
        return ranks.setdefault(place[1], len(ranks)), int(place[2]), int(place[3])

    return sorted(faults, key=key)


def describe_value(value: object) -> str:
    """Describe a value of the file for a message."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {short_repr(value)}"
        case str():
            return f"the text {short_repr(value)}"
        case dict():
            return "a mapping"
        case _:
            return "a list"


class Places(NamedTuple):
    """The place of each value of the effective profile, as `file:line:column`."""

    root: Node

    def of(self, *path: str | int) -> str:
        """Return the place of the entry at *path*: that of its key, or of the item of a list.

        For an absent path, it is the place of the nearest ancestor.
        """
        return str(self._walk(path)[0])

    def value_of(self, *path: str | int) -> str:
        """Return the place of the value at *path*; if it is absent, that of its nearest ancestor's entry."""
        entry, value, found = self._walk(path)
        return str(value if len(found) == len(path) else entry)

    def existing_part(self, path: KeyPath) -> KeyPath:
        """Return the parts of *path* that exist, without parts that name nothing in the file."""
        return self._walk(path, skip=True)[2]

    def _walk(self, path: KeyPath, *, skip: bool = False) -> tuple[Place, Place, KeyPath]:
        node, place, found = self.root, self.root.place, list[str | int]()
        for part in path:
            step = _child_entry(node, part)
            if step is not None:
                place, node = step
                found.append(part)
            elif not skip:
                break
        return place, node.place, tuple(found)


def _child_entry(node: Node, part: str | int) -> Entry | None:
    if isinstance(part, str):
        return entries(node).get(part)
    below = items(node)
    return Entry(below[part].place, below[part]) if 0 <= part < len(below) else None
