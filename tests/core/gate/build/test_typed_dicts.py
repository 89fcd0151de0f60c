"""`typing.TypedDict` in arguments and outputs, on every Python alike."""

import typing
from typing import Any

import pytest
import typing_extensions
from tests.core.gate.conftest import spec_of

from toolcharter.errors import SpecError


class Inner(typing.TypedDict):
    size: int


class Outer(typing.TypedDict, total=False):
    name: typing.Required[str]
    items: list[Inner]
    one: Inner | None
    table: dict[str, tuple[Inner, ...]]


class Newer(typing_extensions.TypedDict):
    size: int


class Endless(typing.TypedDict):
    children: "list[Endless]"


def test_a_typed_dict_describes_the_data(make_toolbox) -> None:
    """Nested and partial ones keep their fields and what is required of them."""

    def look() -> str:
        return "done"

    schema = make_toolbox(spec_of(look, output=Outer))["look"].output_schema

    assert schema is not None
    assert (schema["required"], sorted(schema["properties"])) == (["name"], ["items", "name", "one", "table"])
    assert schema["$defs"]["Inner"]["properties"]["size"]["type"] == "integer"


def test_a_return_type_describes_the_data(make_toolbox) -> None:
    """What a function says it returns is its output schema."""

    def look() -> Newer:
        return {"size": 1}

    schema = make_toolbox(spec_of(look))["look"].output_schema

    assert schema is not None
    assert schema["required"] == ["size"]


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({"size": 1}, "ok"),
        ({"size": "1"}, "error"),
        ({"sizes": 1}, "error"),
    ],
    ids=["fits", "wrong-type", "unknown-field"],
)
def test_a_typed_dict_is_validated_as_an_argument(given: dict[str, Any], outcome: str, make_toolbox) -> None:
    """Strictly, as everything is."""

    def look(inner: Inner) -> str:
        return repr(inner)

    assert make_toolbox(spec_of(look)).call("look", {"inner": given}).outcome == outcome


def test_an_output_without_a_schema_is_the_authors_to_mend(make_toolbox) -> None:
    """What pydantic cannot describe is told as a fault of the spec, not as its own error."""

    class Broken(typing_extensions.TypedDict):
        other: "Nowhere"  # type: ignore[name-defined]  # noqa: F821 - the point

    def look() -> str:
        return "done"

    tool = make_toolbox(spec_of(look, output=Broken))["look"]

    with pytest.raises(SpecError, match=r"^ToolSpec 'look': its output cannot be described: "):
        _ = tool.output_schema


def test_an_endless_typed_dict_does_not_end_in_a_recursion(make_toolbox) -> None:
    """One that contains itself has a schema, or a fault that says what to use."""

    def look() -> str:
        return "done"

    tool = make_toolbox(spec_of(look, output=Endless))["look"]

    try:
        schema = tool.output_schema
    except SpecError as error:
        assert "typing_extensions.TypedDict" in str(error)  # noqa: PT017 - Python 3.11; later ones need no error
    else:
        assert schema is not None
        assert "Endless" in schema["$defs"]
