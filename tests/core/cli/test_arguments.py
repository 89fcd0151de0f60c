"""Reading `key=value` by JSON Schema."""

import pytest
from tests.rows import each_row

from toolcharter.cli.arguments import convert_types

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
NOTHING = {"type": "null"}
LIST = {"type": "array", "items": NUMBER}


@each_row(
    ("schema", "texts", "wanted"),
    [
        pytest.param(TEXT, ["5"], "5", id="text"),
        pytest.param({}, ["5"], "5", id="anything"),
        pytest.param(NUMBER, ["5"], 5, id="integer"),
        pytest.param(NUMBER, ["5.0"], "5.0", id="float-is-no-integer"),
        pytest.param(NUMBER, ["true"], "true", id="boolean-is-no-integer"),
        pytest.param({"type": "number"}, ["5"], 5, id="number"),
        pytest.param({"type": "boolean"}, ["false"], False, id="boolean"),
        pytest.param({"type": "boolean"}, ["1"], "1", id="integer-is-no-boolean"),
        pytest.param({"type": "object"}, ['{"a": 1}'], {"a": 1}, id="object"),
        pytest.param({"type": "strange"}, ["1"], "1", id="unknown-type"),
        pytest.param(LIST, ["1"], [1], id="list-of-one"),
        pytest.param(LIST, ["1", "2"], [1, 2], id="list-repeated"),
        pytest.param(LIST, ["[1, 2]"], [1, 2], id="list-as-json"),
        pytest.param({"anyOf": [NUMBER, NOTHING]}, ["null"], None, id="nullable"),
        pytest.param({"anyOf": [TEXT, NUMBER]}, ["5"], "5", id="text-wins"),
        pytest.param({"type": ["integer", "null"]}, ["5"], 5, id="list-of-types"),
        pytest.param({"oneOf": [TEXT, LIST]}, ["5"], "5", id="text-or-list-one"),
        pytest.param({"oneOf": [TEXT, LIST]}, ["5", "6"], [5, 6], id="text-or-list-two"),
        pytest.param({"oneOf": [TEXT, LIST]}, ["[5]"], [5], id="text-or-list-json"),
        pytest.param({"$ref": "#/$defs/Size"}, ["5"], 5, id="reference"),
        pytest.param({"$ref": "#/$defs/Gone"}, ["5"], "5", id="dangling-reference"),
    ],
)
def test_a_text_is_read_as_the_schema_says(schema, texts, wanted) -> None:
    """What fits the schema is converted; everything else stays text, for the gate to refuse."""
    root = {"properties": {"x": schema}, "$defs": {"Size": NUMBER}}

    value = convert_types({"x": texts}, root, {})["x"]

    assert (value, type(value)) == (wanted, type(wanted))
