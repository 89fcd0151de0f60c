"""Sample arguments and policies out of schemas."""

from enum import StrEnum
from typing import Any, Literal

import pytest
from pydantic import Field, ValidationError, model_validator

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.testing.samples import missing_fields, sample_arguments, sample_policies, sample_values


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "string"}, ["sample.txt"], id="text"),
        pytest.param({"type": "string", "minLength": 12}, ["sample.txtxx"], id="long-text"),
        pytest.param({"type": "string", "maxLength": 3}, ["sam"], id="short-text"),
        pytest.param({"type": "integer"}, [1], id="number"),
        pytest.param({"type": "integer", "minimum": 7}, [7], id="at-least"),
        pytest.param({"type": "number", "exclusiveMinimum": 7}, [8], id="more-than"),
        pytest.param({"type": "integer", "maximum": -3}, [-3], id="at-most"),
        pytest.param({"type": "boolean"}, [False], id="boolean"),
        pytest.param({"type": "null"}, [None], id="null"),
        pytest.param({}, ["sample.txt"], id="anything"),
        pytest.param({"const": 5}, [5], id="const"),
        pytest.param({"enum": ["a", "b"]}, ["a", "b"], id="enum"),
        pytest.param({"type": "string", "examples": ["e"]}, ["e"], id="examples"),
        pytest.param({"anyOf": [{"type": "null"}, {"type": "integer"}]}, [1], id="optional"),
        pytest.param({"oneOf": [{"enum": ["a"]}, {"type": "boolean"}]}, ["a", False], id="choice"),
        pytest.param({"type": "array", "items": {"type": "integer"}}, [[1]], id="list"),
        pytest.param({"type": "array", "minItems": 2}, [["sample.txt", "sample.txt"]], id="list-of-two"),
        pytest.param({"type": "array", "prefixItems": [{"type": "integer"}] * 2}, [[1, 1]], id="pair"),
        pytest.param(
            {"type": "object", "properties": {"a": {"const": 1}, "b": {}}, "required": ["a"]}, [{"a": 1}], id="object"
        ),
        pytest.param({"type": "object"}, [{}], id="empty-object"),
        pytest.param({"$ref": "#/$defs/Kind", "description": "d"}, ["x", "y"], id="reference"),
    ],
)
def test_values_fit_their_schema(schema: dict[str, Any], expected: list[Any]) -> None:
    """The smallest value that the schema lets through; all of an enumeration."""
    assert sample_values(schema, {"$defs": {"Kind": {"enum": ["x", "y"]}}}) == expected


def test_arguments_are_required_ones_all_and_each_choice() -> None:
    """Examples of the author's first; no two alike."""
    schema = {
        "examples": [{"action": "log"}],
        "properties": {"action": {"enum": ["status", "log"]}, "path": {"type": "string"}},
        "required": ["action"],
    }

    assert sample_arguments(schema) == [
        {"action": "log"},
        {"action": "status"},
        {"action": "status", "path": "sample.txt"},
    ]


class Action(StrEnum):
    READ = "read"
    PUSH = "push"


class Policy(ToolPolicy):
    root: str
    allow_push: bool = False
    allowed_actions: tuple[Action, ...] = ()
    allowed_names: tuple[str, ...] = ()
    enforce_prefix: bool = True
    limit: int = Field(3, ge=1)
    mode: Literal["a", "b"] = "a"


class Jealous(ToolPolicy):
    allow_one: bool = False
    allow_two: bool = False

    @model_validator(mode="after")
    def _not_both(self) -> "Jealous":
        if self.allow_one and self.allow_two:
            raise ValueError("not both")
        return self


def spec_of(policy: type[ToolPolicy]) -> ToolSpec[Any]:
    return ToolSpec("t", policy, lambda *_: dict)


def test_policies_are_the_least_and_the_widest() -> None:
    """Required fields are guessed; what opens is opened, what closes is switched off, the rest stays."""
    assert sample_policies(spec_of(Policy)) == [
        {"root": "sample.txt"},
        {
            "root": "sample.txt",
            "allow_push": True,
            "allowed_actions": ["read", "push"],
            "allowed_names": ["sample.txt"],
            "enforce_prefix": False,
        },
    ]


def test_a_guess_that_is_refused_is_dropped() -> None:
    """A policy that could not stand in a profile is no sample."""
    assert sample_policies(spec_of(Jealous)) == [{}]


def test_missing_fields_are_named() -> None:
    """A default policy may lack fields, and nothing else may be wrong with it."""

    class Contradicting(ToolPolicy):
        limit: int = Field(0, ge=1)

    assert list(missing_fields(Policy)) == ["root"]
    assert list(missing_fields(Jealous)) == []
    with pytest.raises(ValidationError, match="limit"):
        list(missing_fields(Contradicting))
