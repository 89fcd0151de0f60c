"""Converts HDN's `{name: type}` to JSON Schema."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

MAX_PARAMETERS: Final = 100
_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "string": ("string", "str", "text"),
        "integer": ("integer", "int"),
        "number": ("number", "float", "double"),
        "boolean": ("boolean", "bool"),
        "array": ("array", "list"),
        "object": ("object", "map"),
        "": ("json", "any"),
    }
)
_TYPES: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {word: {"type": kind} if kind else {} for kind, words in _WORDS.items() for word in words}
)
_ARRAY: Final = "[]"
_MAX_DEPTH: Final = 16


def json_schema(written: Mapping[str, Any]) -> dict[str, Any]:
    """Build the JSON Schema of a tool's arguments.

    Args:
        written: `{name: type}`, where a type is a word such as `string` or `string[]`, or a JSON Schema. Or one JSON
            Schema for all arguments, with `properties`.

    Raises:
        ValueError: A type is unknown, or there are too many arguments.
    """
    if written.get("type") == "object" and isinstance(written.get("properties"), Mapping):
        _require_plain(written, 0)
        properties = {name: dict(_property(name, one)) for name, one in written["properties"].items()}
        required = written.get("required", [])
        if not (isinstance(required, list | tuple) and all(name in properties for name in required)):
            raise ValueError("'required' is no list of names of 'properties'")
    else:
        properties, required = {name: dict(_property(name, one)) for name, one in written.items()}, ()
    if len(properties) > MAX_PARAMETERS:
        raise ValueError(f"there are more than {MAX_PARAMETERS} arguments")
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def _property(name: str, one: Any) -> Mapping[str, Any]:
    if not name:
        raise ValueError("an argument has no name")
    if isinstance(one, str):
        return require_type(name, one)
    if isinstance(one, Mapping):
        _require_plain(one, 0)
        return one
    raise ValueError(f"the type of {name!r} is neither a word such as 'string' nor a JSON Schema")


def require_type(name: str, word: str) -> Mapping[str, Any]:
    """Return the schema for the word of a type.

    Raises:
        ValueError: The word is unknown.
    """
    if word.lower().endswith(_ARRAY):
        return {"type": "array", "items": dict(require_type(name, word[: -len(_ARRAY)]))}
    found = _TYPES.get(word.strip().lower())
    if found is None:
        raise ValueError(
            f"the type {word[:40]!r} of {name!r} is unknown; known are {', '.join(_TYPES)}, and 'string[]'"
        )
    return found


def _require_plain(schema: Any, depth: int) -> None:
    """Refuse a schema with references, or nested deeper than `_MAX_DEPTH`.

    Raises:
        ValueError: It is such a schema.
    """
    if depth > _MAX_DEPTH:
        raise ValueError("a JSON Schema is nested too deep")
    if isinstance(schema, Mapping):
        if "$ref" in schema or "$dynamicRef" in schema:
            raise ValueError("a JSON Schema refers to another schema, which is not supported")
        for each in schema.values():
            _require_plain(each, depth + 1)
    elif isinstance(schema, list | tuple):
        for each in schema:
            _require_plain(each, depth + 1)
