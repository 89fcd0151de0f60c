"""Makes sample arguments and policies from a tool's own schemas. They are few, small and always the same."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from toolcharter.api.extension import ExtensionSpec
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec

SAMPLE_FILE = "sample.txt"
"""A file in the workspace of a probe; its name is the sample value of every text argument."""

_CLOSING = ("enforce", "require", "protect")
OPENING = ("allow", "extra")
"""The beginnings of the names of fields that permit more the more they contain."""


def sample_arguments(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return arguments that should fit *schema*: required ones, all of them, and each value of an enumeration.

    Args:
        schema: JSON Schema of type `object`; `examples` in it are used first.
    """
    root = dict(schema)
    properties = root.get("properties", {})
    required = {name: _first_value(item, root) for name, item in properties.items() if name in root.get("required", ())}
    complete = {name: _first_value(item, root) for name, item in properties.items()}
    found = [*root.get("examples", ()), required, complete]
    for name, item in properties.items():
        found += [{**required, name: value} for value in sample_values(item, root)[1:]]
    return _without_duplicates(found)


def sample_values(schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[Any]:
    """Return at least one value for *schema*; for an enumeration, all values."""
    schema = _resolve_reference(schema, root)
    for key in ("examples", "enum"):
        if schema.get(key):
            return list(schema[key])
    if "const" in schema:
        return [schema["const"]]
    choices = [choice for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) if choice != {"type": "null"}]
    if choices:
        return [value for choice in choices for value in sample_values(choice, root)]
    return [_plain_value(schema, root)]


def sample_policies(spec: ToolSpec[Any] | ExtensionSpec[Any]) -> list[dict[str, Any]]:
    """Return valid policies of the tool or extension: the defaults, and the most permissive one that can be guessed."""
    schema = spec.policy.model_json_schema()
    needed = {name: _first_value(schema["properties"][name], schema) for name in schema.get("required", ())}
    wide = {name: _widest_value(name, item, schema) for name, item in schema.get("properties", {}).items()}
    opened = {**needed, **{name: value for name, value in wide.items() if value is not None}}
    return [policy for policy in _without_duplicates([needed, opened]) if _is_valid(spec.policy, policy)]


def _widest_value(name: str, item: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    item = _resolve_reference(item, root)
    kind = item.get("type")
    if kind == "boolean" and name.startswith((*OPENING, *_CLOSING)):
        return name.startswith(OPENING)
    if kind == "array" and name.startswith(OPENING):
        return sample_values(item.get("items", {}), root)
    return None


def _plain_value(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "string":
        text = SAMPLE_FILE.ljust(schema.get("minLength", 0), "x")
        return text[: schema.get("maxLength", len(text))]
    if kind in {"integer", "number"}:
        lowest = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        return min(lowest, schema["maximum"]) if "maximum" in schema else lowest
    if kind == "array":
        items = [_first_value(item, root) for item in schema.get("prefixItems", ())]
        missing = schema.get("minItems", 1) - len(items)
        return items + [_first_value(schema.get("items", {}), root)] * missing
    if kind == "object":
        return {name: _first_value(schema["properties"][name], root) for name in schema.get("required", ())}
    return {"boolean": False, "null": None}.get(str(kind), SAMPLE_FILE)


def _first_value(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    return sample_values(schema, root)[0]


def _resolve_reference(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    found: Any = root
    for part in schema["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return {**found, **{key: value for key, value in schema.items() if key != "$ref"}}


def _without_duplicates(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for index, item in enumerate(found) if item not in found[:index]]


def _is_valid(policy: type[ToolPolicy], given: dict[str, Any]) -> bool:
    try:
        policy.from_profile(given)
    except ValidationError:
        return False
    return True


def missing_fields(policy: type[ToolPolicy]) -> Iterator[str]:
    """Yield the fields that a profile has to set.

    Raises:
        ValidationError: The defaults contradict each other.
    """
    try:
        policy.from_profile({})
    except ValidationError as error:
        if any(fault["type"] != "missing" for fault in error.errors()):
            raise
        yield from (".".join(map(str, fault["loc"])) for fault in error.errors())
