"""Parses the text of one profile into a tree of nodes, or into faults. Tags and further documents are faults.

This module assembles the events of PyYAML itself: libyaml's own composer recurses in C, so that
deep nesting ends the process, and PyYAML's constructors give no places.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from toolcharter._lazy import lazy
from toolcharter.errors import Fault, did_you_mean
from toolcharter.profile.nodes import Entry, KeyPath, Node, Place, Scalar, describe_value, dotted, short_repr

if TYPE_CHECKING:
    import yaml
else:
    yaml = lazy("yaml")

MAX_DEPTH = 40
"""The deepest nesting; it also bounds every recursion over a tree."""
MAX_NODES = 100_000
"""The most keys and values. Each alias counts as everything that it refers to."""

# Source: YAML 1.2.2, section 10.2 (JSON schema), but `~` and an empty value are null, too, and a number needs
# a digit after its point. The core schema would convert yes, 0777, 12:30 and 2024-01-01 in surprising ways.
_KEYWORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
# Source: YAML 1.2.2, section 5.1: all except c-printable. The negated set takes ten times as long to compile.
_UNPRINTABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_INT64 = 1 << 63
_INT64_DIGITS = 20

_FIXES = {
    "mapping values are not allowed": "Check the indentation, and quote text that contains ': '.",
    "',' or ']'": "Close the bracket.",
    "',' or '}'": "Close the brace.",
    "end of stream": "Close the quote.",
    "expected ':'": "A key ends with a colon and a space: `key: value`.",
    "expected key": "Indent the keys of one mapping alike.",
    "'-' indicator": "Indent the items of one list alike.",
    "<document start>": "Remove what follows the end of the document.",
    "escape": "In double quotes a backslash is written twice; single quotes take it as it is.",
    "alphabetic": "Quote text that begins with '*' or '&'.",
    "tag handle": "Quote text that begins with '!'.",
}


class _ParseAborted(Exception):
    """The fault is recorded, and the rest of the file cannot be parsed."""


@dataclass(slots=True, eq=False, repr=False)
class _OpenCollection:
    """A mapping or a list that has begun but not ended."""

    value: list[Node] | dict[str, Entry]
    place: Place
    anchor: str | None
    start_count: int
    height: int = 1
    key: Node | None = None
    is_key_good: bool = False


@dataclass(slots=True, eq=False, repr=False)
class _TreeBuilder:
    file: str
    faults: list[Fault]
    root: Node | None = None
    stack: list[_OpenCollection] = field(default_factory=list)
    anchors: dict[str, tuple[Node, int, int] | None] = field(default_factory=dict)
    """For each name: the node, the number of nodes it refers to, and its height; None until the node ends."""
    refused: set[str] = field(default_factory=set)
    """Places of faults. The tree holds a replacement there, which the author has not written."""
    count: int = 0
    documents: int = 0

    def place(self, mark: Any) -> Place:
        return Place(self.file, mark.line + 1, mark.column + 1)

    def path(self) -> KeyPath:
        keys = ((len(frame.value) if isinstance(frame.value, list) else _key_name(frame.key)) for frame in self.stack)
        return tuple(key for key in keys if key is not None)

    def add_fault(self, place: Place, what: str, fix: str) -> None:
        self.refused.add(str(place))
        self.faults.append(Fault(str(place), dotted(self.path()), what, fix))

    def abort(self, place: Place, what: str, fix: str) -> NoReturn:
        self.add_fault(place, what, fix)
        raise _ParseAborted

    def on_document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            self.abort(
                self.place(event.start_mark),
                "a second document begins here.",
                "A file holds one profile: remove the line '---', or split the file.",
            )

    def on_scalar(self, event: Any) -> None:
        place = self.place(event.start_mark)
        self.refuse_tag(event, place)
        value = self.parse_scalar(event.value, place) if event.implicit[0] else event.value
        if isinstance(value, str) and (found := _UNSTORABLE.search(value)):
            self.add_fault(
                place,
                f"the text holds the character U+{ord(found[0]):04X}, which no tool accepts.",
                "Remove its escape sequence.",
            )
            value = ""
        self.count_nodes(1, place)
        self.add(Node(value, place), 1)
        if event.anchor:
            self.anchors[event.anchor] = (Node(value, place), 1, 1)

    def parse_scalar(self, text: str, place: Place) -> Scalar:
        if text in _KEYWORDS:
            return _KEYWORDS[text]
        if _INTEGER.fullmatch(text):
            # Length first: int() raises an exception of its own for thousands of digits.
            if len(text) <= _INT64_DIGITS and -_INT64 <= (number := int(text)) < _INT64:
                return number
        elif not _FLOAT.fullmatch(text):
            return text
        elif math.isfinite(fraction := float(text)):
            return fraction
        self.add_fault(place, f"the number {short_repr(text)} is too large.", "Quote it to make it text.")
        return 0

    def on_begin(self, event: Any) -> None:
        place = self.place(event.start_mark)
        self.refuse_tag(event, place)
        self.count_nodes(1, place)
        self.check_depth(1, place)
        value: list[Node] | dict[str, Entry] = {} if type(event).__name__.startswith("Mapping") else []
        self.stack.append(_OpenCollection(value, place, event.anchor, self.count))
        if event.anchor:
            self.anchors[event.anchor] = None

    def on_end(self, _event: Any) -> None:
        frame = self.stack.pop()
        node = Node(frame.value, frame.place)
        if frame.anchor:
            self.anchors[frame.anchor] = (node, self.count - frame.start_count + 1, frame.height)
        self.add(node, frame.height)

    def on_alias(self, event: Any) -> None:
        place = self.place(event.start_mark)
        name = event.anchor
        if name not in self.anchors:
            near = did_you_mean(name, self.anchors)
            self.add_fault(
                place, f"the alias '*{name}' names no anchor above it.", near or f"Quote it if '*{name}' is text."
            )
            self.anchors[name] = (Node(None, place), 1, 1)
        known = self.anchors[name]
        if known is None:
            self.abort(place, f"the alias '*{name}' is inside the value that it names.", "Write the value out.")
        node, size, height = known
        self.count_nodes(size, place)
        self.check_depth(height, place)
        self.add(Node(node.value, node.place if str(node.place) in self.refused else place), height)

    def count_nodes(self, size: int, place: Place) -> None:
        self.count += size
        if self.count > MAX_NODES:
            self.abort(
                place,
                f"the profile has more than {MAX_NODES} keys and values, aliases counted in full.",
                "Use fewer aliases, or split the profile.",
            )

    def check_depth(self, height: int, place: Place) -> None:
        if len(self.stack) + height > MAX_DEPTH:
            self.abort(place, f"nested deeper than {MAX_DEPTH} levels.", "Flatten the value.")

    def refuse_tag(self, event: Any, place: Place) -> None:
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.add_fault(
                place, f"the tag {short_repr(tag)} is not allowed.", "Remove it; quote a value to make it text."
            )

    def add(self, node: Node, height: int) -> None:
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        frame.height = max(frame.height, height + 1)
        if isinstance(frame.value, list):
            frame.value.append(node)
        elif frame.key is None:
            self.add_key(frame, frame.value, node)
        else:
            if frame.is_key_good:
                frame.value[str(frame.key.value)] = Entry(frame.key.place, node)
            frame.key = None

    def add_key(self, frame: _OpenCollection, value: dict[str, Entry], key: Node) -> None:
        frame.is_key_good = False
        name = key.value
        if str(key.place) in self.refused:
            pass  # Reported already.
        elif not isinstance(name, str):
            quoted = "Quote it to make it text." if not isinstance(name, list | dict) else "Write a name."
            self.add_fault(key.place, f"a key must be text, not {describe_value(name)}.", quoted)
        elif name == "<<":
            self.add_fault(key.place, "the merge key '<<' is not allowed.", "Share whole profiles with `extends`.")
        elif name in value:
            self.add_fault(
                key.place,
                f"the key {short_repr(name)} occurs twice; first at {value[name].place}.",
                "Remove one of the two, or merge their values.",
            )
        else:
            frame.is_key_good = True
        frame.key = key


def _key_name(key: Node | None) -> str | None:
    return key.value if key is not None and isinstance(key.value, str) else None


def parse_yaml(text: str, file: str, faults: list[Fault], *, least: str = "profile: NAME") -> Node | None:
    """Parse one YAML document.

    Args:
        text: The whole file.
        file: Its name in places.
        faults: Gets all faults, each with its place.
        least: What to write into an empty file.

    Returns:
        The document without the keys at fault, or None if it cannot be parsed to its end.
    """
    if found := _UNPRINTABLE.search(text):
        line, column = line_and_column(text, found.start())
        what = f"the character U+{ord(found[0]):04X} is not allowed in a profile."
        faults.append(Fault(str(Place(file, line, column)), "", what, "Remove it."))
        return None
    builder = _TreeBuilder(file, faults)
    try:
        _build(text, builder)
    except _ParseAborted:
        return None
    if builder.root is None:
        faults.append(Fault(str(Place(file)), "", "the file is empty.", f"Write at least `{least}`."))
    return builder.root


def line_and_column(text: str, index: int) -> tuple[int, int]:
    """Return line and column, from 1, of the character at *index*."""
    above = text[:index]
    return above.count("\n") + 1, index - above.rfind("\n")


def _build(text: str, builder: _TreeBuilder) -> None:

    handlers: dict[type, Callable[[Any], None]] = {
        yaml.ScalarEvent: builder.on_scalar,
        yaml.MappingStartEvent: builder.on_begin,
        yaml.SequenceStartEvent: builder.on_begin,
        yaml.MappingEndEvent: builder.on_end,
        yaml.SequenceEndEvent: builder.on_end,
        yaml.AliasEvent: builder.on_alias,
        yaml.DocumentStartEvent: builder.on_document,
    }
    try:
        for event in _events(yaml, text):
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
    except yaml.MarkedYAMLError as error:
        # Without a path: the parser reads ahead, so the open keys may not be those around the mark.
        builder.faults.append(
            Fault(str(builder.place(error.problem_mark)), "", _describe_error(error), _suggest_fix(error, text))
        )
        raise _ParseAborted from error
    except (ValueError, OverflowError) as error:
        # Only PyYAML's own parser raises these: for escapes and versions too large for a character or an int.
        builder.faults.append(
            Fault(str(Place(builder.file)), "", "not valid YAML: an escape or a version has too large a number.", "")
        )
        raise _ParseAborted from error


def _events(yaml: Any, text: str) -> Iterator[Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


def _describe_error(error: Any) -> str:
    problem = " ".join(str(error.problem).split())
    if error.context is None or error.context_mark is None:
        return f"not valid YAML: {problem}."
    mark = error.context_mark
    return f"not valid YAML: {problem} {error.context} (line {mark.line + 1}, column {mark.column + 1})."


def _suggest_fix(error: Any, text: str) -> str:
    if "start any token" in error.problem:
        character = text.splitlines()[error.problem_mark.line][error.problem_mark.column]
        return "Indent with spaces, not tabs." if character == "\t" else f"Quote text that begins with {character!r}."
    return next((fix for part, fix in _FIXES.items() if part in error.problem), "")
