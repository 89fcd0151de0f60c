"""Schemas of servers: what the gate validates by, and what it does not take."""

import re
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter_mcp_bridge.schemas import UnusableSchema, expand_schema


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"not": schema}
    return {"type": "object", "properties": {"a": schema}}


def test_references_are_written_out() -> None:
    """What is beside one still counts; where it leads back to itself, anything goes."""
    schema = {
        "properties": {
            "a": {"$ref": "#/$defs/name", "description": "A\u200b name."},
            "b": {"$ref": "#/$defs/name", "maxLength": 5},
            "tree": {"$ref": "#/$defs/tree"},
            "all": {"$ref": "#"},
        },
        "$defs": {
            "name": {"type": "string"},
            "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree", "title": "Left"}}},
        },
    }

    found = expand_schema(schema, 10_000)

    assert found["type"] == "object"
    assert "$defs" not in found
    properties = found["properties"]
    assert properties["a"] == {"type": "string", "description": "A name."}
    assert properties["b"] == {"allOf": [{"type": "string"}, {"maxLength": 5}]}
    assert properties["tree"] == {"type": "object", "properties": {"left": {"title": "Left"}}}
    assert properties["all"]["properties"]["all"] == {}


def test_data_is_no_schema() -> None:
    """Values that look like references stay what they are."""
    schema = {"type": "object", "properties": {"a": {"enum": [{"$ref": "x"}], "default": {"$id": "y"}}}}

    assert expand_schema(schema, 10_000) == schema


def test_escaped_places_are_found() -> None:
    """`~1`, `~0` and numbers."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/x~1y~0z"}, "b": {"$ref": "#/$defs/list/anyOf/1"}},
        "$defs": {"x/y~z": {"type": "string"}, "list": {"anyOf": [{}, {"type": "null"}]}},
    }

    assert expand_schema(schema, 10_000)["properties"] == {"a": {"type": "string"}, "b": {"type": "null"}}


def doubling(levels: int) -> dict[str, Any]:
    steps = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(levels)}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**steps, f"d{levels}": {}}}


@each_row(
    ("schema", "why"),
    [
        pytest.param(None, "its schema is no object", id="none"),
        pytest.param({"type": "string"}, "its schema is not of type 'object'", id="type"),
        pytest.param({"type": ["object"]}, "its schema is not of type 'object'", id="types"),
        pytest.param({"properties": []}, "`properties` in its schema is no object", id="properties"),
        pytest.param({"required": "a"}, "`required` in its schema is no list of names", id="required"),
        pytest.param({"description": "x" * 2000}, "its schema has 2018 bytes, more than 1500", id="large"),
        pytest.param(nested(60), "its schema is deeper than 40", id="deep"),
        pytest.param({"default": nested(60)}, "its schema has more than 5000 parts, or is deeper than 40", id="data"),
        pytest.param(doubling(12), "its schema has more than 5000 parts", id="unfolds"),
        pytest.param({"$ref": "http://x/y"}, "its schema refers to 'http://x/y', outside it", id="outside"),
        pytest.param({"$ref": "#/no"}, "its schema refers to '#/no', which it does not have", id="nowhere"),
        pytest.param(
            {"$ref": "#/allOf/²", "allOf": [{}]}, "its schema refers to '#/allOf/²', which it", id="no number"
        ),
        pytest.param({"$dynamicRef": "#m"}, "its schema uses $dynamicRef", id="dynamic"),
        pytest.param({"allOf": [{"unevaluatedItems": {}}] * 9}, "its schema uses unevaluatedItems more", id="again"),
        pytest.param({"properties": {"a": {"type": "no"}}}, "its schema cannot be used: ", id="invalid"),
        pytest.param({"properties": {"a": {"pattern": "(a{1,1000}){1,1000}"}}}, "its schema cannot be us", id="regex"),
    ],
)
def test_schemas_that_cannot_be_used(schema: Any, why: str) -> None:
    """A validator runs in the gate's process, where nothing can interrupt it."""
    with pytest.raises(UnusableSchema, match=f"^{re.escape(why)}"):
        expand_schema(schema, 1500)


def test_what_is_no_json() -> None:
    """From a store that somebody has changed, say."""
    with pytest.raises(UnusableSchema, match=r"^its schema is no JSON"):
        expand_schema({"a": {1}}, 1500)
