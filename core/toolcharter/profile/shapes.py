"""The kinds of things that stand in a profile, and the faults of what stands there instead.

A shape cleans a node: it returns the node without all that is at fault, so that the rest can
still be looked at and one attempt shows every fault. It also gives its JSON Schema, which accepts all that `clean`
accepts and, where JSON Schema cannot say it, more. Shapes are named tuples, because each class that `dataclass` makes
adds half a millisecond to every start.
"""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from toolcharter._lazy import lazy
from toolcharter.errors import Fault, did_you_mean
from toolcharter.profile.nodes import Entry, KeyPath, Node, Place, described, dotted, shortened

if TYPE_CHECKING:
    from packaging import specifiers
else:
    specifiers = lazy("packaging.specifiers")

NAME = r"[A-Za-z0-9_-]{1,64}"
ANY = r"[\s\S]*"
SOME = r"[\s\S]+"
WORD = r"\S+"
"""Patterns mean the same to Python and to ECMAScript, which JSON Schema prescribes: no flags, no look-around."""
# Source: PEP 440, appendix B, as far as a bare version goes.
_VERSION = r"v?[0-9]+(?:\.[0-9]+)*(?:[a-z]+[0-9]*)?"
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
# Source: PEP 440, "Version specifiers", operators and separators alone.
_CLAUSE = r"\s*(?:===|~=|[=!<>]=|<|>)\s*[^\s,]+\s*"
_CLAUSES = rf"[\s,]*{_CLAUSE}(?:,(?:{_CLAUSE}|\s*))*"
_BOOLEANS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


class Shape(Protocol):
    """What may stand at one place of a profile."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """The good part of *node*, or None; what is wrong goes to *faults*."""

    def json_schema(self) -> dict[str, Any]:
        """The same as JSON Schema of draft 2020-12; a value of its own, which the caller may change."""
        ...


def canonical(distribution: str) -> str:
    """A distribution's name in the one form in which names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def same_tool(name: str) -> str:
    """A tool's name in the one form in which names are compared."""
    return name.lower()


def unknown_key(place: Place | str, path: KeyPath, known: Mapping[str, object]) -> Fault:
    """The fault of a key that is not in *known*, with the nearest one that is."""
    listed = ", ".join(map(repr, sorted(known)))
    choice = f"Known keys: {listed}." if known else "There are no keys here."
    near = did_you_mean(str(path[-1]), known)
    return Fault(
        str(place), dotted(path), f"unknown key {shortened(path[-1])}.", f"{near} {choice}" if near else choice
    )


def whole(pattern: str) -> str:
    """*pattern* as JSON Schema has it, where a pattern may match anywhere unless it says otherwise."""
    return f"^(?:{pattern})$"


def any_case(word: str) -> str:
    """A pattern for *word*, upper and lower case alike: JSON Schema knows no flags."""
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word.lower())


def wrong(node: Node, path: KeyPath, expected: str, fix: str) -> Fault:
    """The fault of a value that is something else than *expected*."""
    return Fault(str(node.place), dotted(path), f"expected {expected}, found {described(node.value)}.", fix)


class Text(NamedTuple):
    """Text, all of which matches a pattern."""

    expected: str = "text"
    pattern: str = ANY
    fix: str = ""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        value = node.value
        if isinstance(value, str) and re.fullmatch(self.pattern, value):
            return node
        quote = "Quote it to make it text." if isinstance(value, int | float) else self.fix
        faults.append(wrong(node, path, self.expected, quote))
        return None

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"type": "string"} if self.pattern == ANY else {"type": "string", "pattern": whole(self.pattern)}


class Choice(NamedTuple):
    """One of a few words."""

    words: tuple[str, ...]
    fix: str = ""
    """What to do where no word is near."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        value = node.value
        if isinstance(value, str) and value in self.words:
            return node
        near = did_you_mean(value, self.words) if isinstance(value, str) else ""
        faults.append(wrong(node, path, f"one of {', '.join(map(repr, self.words))}", near or self.fix))
        return None

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"enum": list(self.words)}


class Flag:
    """True or false."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if isinstance(node.value, bool):
            return node
        word = str(node.value).lower()
        meant = _BOOLEANS.get(word, word)
        faults.append(wrong(node, path, "true or false", f"Write {meant}." if meant in {"true", "false"} else ""))
        return None

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"type": "boolean"}


class Number(NamedTuple):
    """A number above 0."""

    expected: str
    types: tuple[type, ...]
    highest: int

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        value = node.value
        if isinstance(value, self.types) and not isinstance(value, bool) and self._fits(value):
            return node
        is_quoted = isinstance(value, str) and re.fullmatch(_NUMBER, value)
        faults.append(wrong(node, path, self.expected, "Remove the quotes." if is_quoted else ""))
        return None

    def _fits(self, value: object) -> bool:
        return isinstance(value, int | float) and 0 < value <= self.highest

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        kind = "number" if float in self.types else "integer"
        return {"type": kind, "exclusiveMinimum": 0, "maximum": self.highest}


class Specifier:
    """The versions of a distribution that a profile accepts (PEP 440)."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        value = node.value
        try:
            if isinstance(value, str) and str(specifiers.SpecifierSet(value)):
                return node
        except specifiers.InvalidSpecifier:
            pass
        faults.append(wrong(node, path, "a version specifier", self._fix(value)))
        return None

    def _fix(self, value: object) -> str:
        is_version = isinstance(value, int | float) or (isinstance(value, str) and re.fullmatch(_VERSION, value))
        return f"Write '=={value}' or a range such as '>=1,<2'." if is_version else "Write a range such as '>=1,<2'."

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"type": "string", "pattern": whole(_CLAUSES)}


class Free(NamedTuple):
    """A mapping whose content its plugin judges."""

    expected: str
    example: str

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if isinstance(node.value, dict):
            return node
        faults.append(wrong(node, path, self.expected, f"Write `{path[-1]}: {self.example}`."))
        return None

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"type": "object"}


def in_a_list(text: str) -> str:
    """*text* as YAML takes it between brackets: in quotes, unless it is a plain word."""
    return text if re.fullmatch(r"[A-Za-z.][\w./-]*(?::[\w./-]+)*", text) else json.dumps(text, ensure_ascii=False)


class Items(NamedTuple):
    """A list."""

    of: Shape
    expected: str

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if not isinstance(node.value, list):
            fix = f"Write [{in_a_list(node.value)}]." if isinstance(node.value, str) else ""
            faults.append(wrong(node, path, self.expected, fix))
            return None
        good = (self.of.clean(item, (*path, index), faults) for index, item in enumerate(node.value))
        return Node([item for item in good if item is not None], node.place)

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        return {"type": "array", "items": self.of.json_schema()}


class Named(NamedTuple):
    """A mapping from names to one shape."""

    of: Shape
    expected: str
    fix: str = ""
    noun: str = "tool"
    pattern: str = NAME
    name_fix: str = "Names have 1 to 64 letters, digits, '_' and '-'."
    same: Callable[[str], str] = same_tool

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if not isinstance(node.value, dict):
            faults.append(wrong(node, path, self.expected, self.fix))
            return None
        good: dict[str, Entry] = {}
        seen: dict[str, Place] = {}
        for name, entry in node.value.items():
            is_good = self._is_good(name, entry.place, (*path, name), seen, faults)
            value = self.of.clean(entry.node, (*path, name), faults)
            if is_good and value is not None:
                good[name] = Entry(entry.place, value)
        return Node(good, node.place)

    def _is_good(self, name: str, place: Place, path: KeyPath, seen: dict[str, Place], faults: list[Fault]) -> bool:
        if not re.fullmatch(self.pattern, name):
            article = "an" if self.noun[0] in "aeiou" else "a"
            what = f"{shortened(name)} cannot be the name of {article} {self.noun}."
            faults.append(Fault(str(place), dotted(path), what, self.name_fix))
            return False
        first = seen.setdefault(self.same(name), place)
        if first is not place:
            what = f"names the same {self.noun} as the entry at {first}."
            faults.append(Fault(str(place), dotted(path), what, "Remove one of the two."))
        return first is place

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        names = {"pattern": whole(self.pattern)}
        return {"type": "object", "propertyNames": names, "additionalProperties": self.of.json_schema()}


class Key(NamedTuple):
    """What may stand under one key."""

    shape: Shape
    about: str
    """What the key is for, as editors show it."""


class Keys(NamedTuple):
    """A mapping with a closed list of keys."""

    keys: Mapping[str, Key]
    expected: str
    required: Mapping[str, str] = MappingProxyType({})
    """Keys that must stand there, each with what to write."""
    misplaced: Mapping[str, str] = MappingProxyType({})
    """Keys that belong elsewhere, each with what to do instead."""
    empty: str = ""
    """What to write where an empty mapping would mean nothing; nothing if it may be empty."""
    is_partial: bool = False
    """Whether the rest is of use without a required key."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if not isinstance(node.value, dict):
            faults.append(wrong(node, path, self.expected, ""))
            return None
        good: dict[str, Entry] = {}
        for key, entry in node.value.items():
            if key not in self.keys:
                faults.append(self._stranger(key, entry.place, (*path, key)))
            elif (value := self.keys[key].shape.clean(entry.node, (*path, key), faults)) is not None:
                good[key] = Entry(entry.place, value)
        for key, fix in self.required.items():
            if key not in node.value:
                faults.append(Fault(str(node.place), dotted((*path, key)), "the key is missing.", fix))
        if self.empty and not node.value:
            faults.append(Fault(str(node.place), dotted(path), "the mapping is empty.", self.empty))
            return None
        return Node(good, node.place) if self.is_partial or good.keys() >= self.required.keys() else None

    def _stranger(self, key: str, place: Place, path: KeyPath) -> Fault:
        if key in self.misplaced:
            return Fault(str(place), dotted(path), f"the key {key!r} has no place here.", self.misplaced[key])
        return unknown_key(place, path, self.keys)

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        keys = {name: {"description": key.about, **key.shape.json_schema()} for name, key in self.keys.items()}
        schema = {"type": "object", "properties": keys, "additionalProperties": False, "required": list(self.required)}
        return {**schema, "minProperties": 1} if self.empty else schema


class OneOrMore(NamedTuple):
    """One value, or a list of at least one; a list either way once it is clean."""

    of: Shape
    expected: str

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if node.value == []:
            faults.append(Fault(str(node.place), dotted(path), "the list is empty.", f"Write {self.expected}."))
            return None
        if isinstance(node.value, list):
            return Items(self.of, self.expected).clean(node, path, faults)
        one = self.of.clean(node, path, faults)
        return None if one is None else Node([one], node.place)

    def json_schema(self) -> dict[str, Any]:
        """See `Shape`."""
        one = self.of.json_schema()
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
