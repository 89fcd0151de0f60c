"""Tools in the formats of models' interfaces."""

from typing import Any

import jsonschema_rs
import pytest

from toolcharter.hosts import FORMATS, Host, HostTool, formatted
from toolcharter.hosts.formats import REFUSAL, strict_schema, structured_schema

TOOL = HostTool(
    "look",
    "Look at a thing.",
    {
        "type": "object",
        "properties": {"what": {"type": "string"}, "times": {"type": "integer", "default": 1}},
        "required": ["what"],
        "additionalProperties": False,
    },
    {"type": "array", "items": {"type": "string"}},
    ("fs:read",),
    "low",
    "builtin",
)


def test_openai_for_responses_and_chat() -> None:
    """Flat for one, nested for the other."""
    function = {"name": "look", "description": "Look at a thing.", "parameters": TOOL.parameters, "strict": False}

    assert formatted([TOOL], "openai") == [{"type": "function", **function}]
    assert formatted([TOOL], "openai-chat") == [{"type": "function", "function": function}]


def test_strict_mode_requires_everything_and_takes_null_for_what_may_be_absent() -> None:
    """The gate drops nulls, so the default holds."""
    (shown,) = formatted([TOOL], "openai", strict=True)

    schema = shown["parameters"]
    assert (shown["strict"], schema["required"], schema["additionalProperties"]) == (True, ["what", "times"], False)
    assert schema["properties"]["times"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert "default" in TOOL.parameters["properties"]["times"]  # ours is as it was


def test_anthropic() -> None:
    """Three keys."""
    assert formatted([TOOL], "anthropic") == [
        {"name": "look", "description": "Look at a thing.", "input_schema": TOOL.parameters}
    ]


def test_mcp_says_what_the_capabilities_mean() -> None:
    """Hints from what a tool declares; the result's schema is that of an object."""
    (shown,) = formatted([TOOL], "mcp")

    assert shown["annotations"] == {
        "title": "look",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert shown["outputSchema"] == {
        "type": "object",
        "anyOf": [{"type": "object", "properties": {"result": TOOL.output_schema}, "required": ["result"]}, REFUSAL],
    }


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "fits", "does_not_fit"),
    [
        ({"type": "object", "required": ["path"]}, {"path": "x"}, {"result": {"path": "x"}}),
        ({"type": "array"}, {"result": [1]}, {"result": 1}),
        ({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}, {"next": {"next": {}}}, {"next": {"last": 1}}),
        (
            {"type": "array", "items": {"$ref": "#/$defs/Node"}, "$defs": {"Node": NODE}},
            {"result": [{"next": {}}]},
            {"result": [{"last": {}}]},
        ),
        ({"anyOf": [{"type": "null"}, NODE], "$defs": {"Node": NODE}}, {"result": None}, {"result": 1}),
    ],
    ids=["object", "array", "reference", "references", "either"],
)
def test_structured_results_and_refusals_fit_their_schema(schema: Any, fits: Any, does_not_fit: Any) -> None:
    """Clients check both, so that a refusal of another form would hide its reason."""
    validator = jsonschema_rs.validator_for(structured_schema(schema))
    refusal = {"outcome": "denied", "reason": "x", "message": None, "hint": None, "retryable": False}

    assert structured_schema(schema)["type"] == "object"
    assert validator.is_valid(fits)
    assert validator.is_valid(refusal)
    assert not validator.is_valid(does_not_fit)
    assert not validator.is_valid({**refusal, "outcome": "ok"})


def test_a_tool_that_declares_nothing_may_do_anything() -> None:
    """The hints say the worst."""
    (shown,) = formatted([TOOL._replace(capabilities=None, safety="high")], "mcp")

    assert [shown["annotations"][key] for key in ("readOnlyHint", "destructiveHint", "openWorldHint")] == [
        False,
        True,
        True,
    ]


def test_an_unknown_format_is_an_error() -> None:
    """It names those there are."""
    with pytest.raises(ValueError, match="openai, openai-chat, anthropic, mcp, json"):
        formatted([TOOL], "gemini")  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMATS)
def test_every_tool_of_a_profile_has_each_format(host: Host, form: str) -> None:
    """Names and descriptions are there; schemas are schemas, strict ones too."""
    shown = host.schemas(form)  # type: ignore[arg-type]

    assert len(shown) == len(host.tools()) == 4
    for tool in host.tools():
        jsonschema_rs.validator_for(tool.parameters)
        jsonschema_rs.validator_for(strict_schema(tool.parameters))
        assert tool.description
