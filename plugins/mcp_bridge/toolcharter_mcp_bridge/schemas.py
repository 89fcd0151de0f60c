"""Turns the schemas of untrusted servers into schemas that the gate can validate arguments by, or rejects them.

A schema is code for a validator that runs in the gate's process and cannot be interrupted. So no references are left,
which could expand without end, patterns cannot backtrack, and size and depth are bounded.
"""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import orjson

from toolcharter_mcp_bridge.texts import visible_text

_MAX_NODES = 5_000
"""The maximum number of values in a schema after its references have been expanded."""
_MAX_DEPTH = 40
_LONGEST_TEXT = 1_000
"""The maximum length of a title or a description in a schema, in characters."""
_REFERENCES = frozenset({"$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor", "$id", "$anchor"})
_MAX_REVISITS = 8
"""How many keywords may make a validator visit everything below them again."""
_DATA = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose values are not schemas."""


class UnusableSchema(Exception):
    """A schema cannot be used; the text says why, and begins with a lower-case letter."""


def expand_schema(schema: object, max_bytes: int) -> dict[str, Any]:
    """Return the schema of a tool's arguments with all references expanded.

    A reference that leads back to itself becomes a schema that accepts any value.

    Raises:
        UnusableSchema: *schema* is not a schema, is too large, or would cost too much to validate by.
    """
    if not isinstance(schema, Mapping):
        raise UnusableSchema("its schema is no object")
    written = _Expander(schema)
    try:
        size = len(orjson.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnusableSchema("its schema is no JSON") from error
    if size > max_bytes:
        raise UnusableSchema(f"its schema has {size} bytes, more than {max_bytes}")
    found = written.expand(schema, 0, ())
    if not isinstance(found, dict) or found.get("type", "object") != "object":
        raise UnusableSchema("its schema is not of type 'object'")
    found["type"] = "object"
    if not isinstance(found.get("properties", {}), dict):
        raise UnusableSchema("`properties` in its schema is no object")
    if not _are_texts(found.get("required", [])):
        raise UnusableSchema("`required` in its schema is no list of names")
    try:
        jsonschema_rs.validator_for(found, pattern_options=jsonschema_rs.RegexOptions(), retriever=_refuse)
    except Exception as error:
        what = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise UnusableSchema(f"its schema cannot be used: {what}") from error
    return found


def _are_texts(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri!r} lies outside it")


class _Expander:
    """Expands the references of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0
        self._revisits = 0

    def expand(self, node: Any, depth: int, path: tuple[str, ...]) -> Any:
        """Return *node* with its references expanded. *path* holds the references that led here."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise UnusableSchema(f"its schema has more than {_MAX_NODES} parts")
        if depth > _MAX_DEPTH:
            raise UnusableSchema(f"its schema is deeper than {_MAX_DEPTH}")
        if isinstance(node, list):
            return [self.expand(item, depth + 1, path) for item in node]
        if not isinstance(node, Mapping):
            return node
        if "$ref" in node and isinstance(node["$ref"], str):
            return self._expand_reference(node, depth, path)
        return {
            key: self._expand_value(key, value, depth, path)
            for key, value in node.items()
            if key not in {"$defs", "definitions"} or depth
        }

    def _expand_value(self, key: str, value: Any, depth: int, path: tuple[str, ...]) -> Any:
        if key in _REFERENCES and isinstance(value, str):
            raise UnusableSchema(f"its schema uses {key}")
        if key.startswith("unevaluated"):
            self._revisits += 1
            if self._revisits > _MAX_REVISITS:
                raise UnusableSchema(f"its schema uses {key} more than {_MAX_REVISITS} times")
        if key in {"title", "description"} and isinstance(value, str):
            return visible_text(value, _LONGEST_TEXT)
        return self._count_data(value, depth + 1) if key in _DATA else self.expand(value, depth + 1, path)

    def _count_data(self, value: Any, depth: int) -> Any:
        """Count the parts of a value that is not a schema, and return it unchanged."""
        self._nodes += 1
        if self._nodes > _MAX_NODES or depth > _MAX_DEPTH:
            raise UnusableSchema(f"its schema has more than {_MAX_NODES} parts, or is deeper than {_MAX_DEPTH}")
        for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
            self._count_data(item, depth + 1)
        return value

    def _expand_reference(self, node: Mapping[str, Any], depth: int, path: tuple[str, ...]) -> Any:
        reference: str = node["$ref"]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        if reference in path:  # A recursive reference: below it, only the server validates.
            return self.expand({key: beside[key] for key in ("title", "description") if key in beside}, depth + 1, path)
        target = self.expand(self._resolve(reference), depth + 1, (*path, reference))
        if not beside:
            return target
        rest = self.expand(beside, depth + 1, path)
        if isinstance(target, dict) and not rest.keys() - {"title", "description", "default", "examples"}:
            return {**target, **rest}
        return {"allOf": [target, rest]}

    def _resolve(self, reference: str) -> Any:
        if not (reference == "#" or reference.startswith("#/")):
            raise UnusableSchema(f"its schema refers to {reference[:100]!r}, outside it")
        found: Any = self._root
        for part in reference.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~").replace("%25", "%")
            if isinstance(found, Mapping) and key in found:
                found = found[key]
            elif isinstance(found, list) and key in (places := {str(at): at for at in range(len(found))}):
                found = found[places[key]]
            else:
                raise UnusableSchema(f"its schema refers to {reference[:100]!r}, which it does not have")
        return found
