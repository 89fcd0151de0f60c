"""Builds JSON Schema for editors: the keys of a profile or a ceiling, with the policies of installed plugins.

pydantic derives it from the forms that read a file, so that both agree. The reader alone checks what JSON Schema cannot
express: the schema accepts every file that the reader accepts.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.profile.names import anchored, any_case_pattern
from toolcharter.profile.schema import CeilingFile, ProfileFile, WorkspaceFile

if TYPE_CHECKING:
    import pydantic
    from pydantic import BaseModel
else:
    pydantic = lazy("pydantic")

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_CEILINGS = {"workspace": WorkspaceFile, "admin": CeilingFile}


class PolicyInfo(NamedTuple):
    """The facts about an installed tool or extension that a profile depends on."""

    policy: "type[BaseModel]"
    description: str


def profile_schema(tools: Mapping[str, PolicyInfo], extensions: Mapping[str, PolicyInfo]) -> dict[str, Any]:
    """Return the JSON Schema of a profile.

    Args:
        tools: All installed tools, by name; others are refused unless the profile has `missing_ok`.
        extensions: All installed extensions, by name; others are refused.
    """
    schema, definitions = _schema_of(ProfileFile), dict[str, Any]()
    keys = schema["properties"]
    keys["tools"] |= _any_case_properties("tools", tools, definitions)
    keys["extensions"] |= _any_case_properties("extensions", extensions, definitions) | {"additionalProperties": False}
    names = {"pattern": anchored("|".join(map(any_case_pattern, sorted(tools))))}
    unless = {"if": {"required": ["missing_ok"]}, "else": {"properties": {"tools": {"propertyNames": names}}}}
    return {"$schema": _DIALECT, "title": "A profile of toolcharter", **schema, **unless, "$defs": definitions}


def ceiling_schema(whose: Literal["workspace", "admin"]) -> dict[str, Any]:
    """Return the JSON Schema of a workspace's or an administrator's file."""
    return {"$schema": _DIALECT, "title": f"A ceiling of toolcharter: {whose}", **_schema_of(_CEILINGS[whose])}


def _schema_of(kind: type) -> dict[str, Any]:
    schema: dict[str, Any] = _without_titles(pydantic.TypeAdapter(kind).json_schema())
    return schema


def _without_titles(schema: Any) -> Any:
    """Remove the titles that pydantic derives from names."""
    if isinstance(schema, list):
        return [_without_titles(one) for one in schema]
    if isinstance(schema, dict):
        made = {"title"} if isinstance(schema.get("title"), str) else set[str]()
        return {key: _without_titles(value) for key, value in schema.items() if key not in made}
    return schema


def _any_case_properties(kind: str, offers: Mapping[str, PolicyInfo], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return properties whose names ignore case: as written, for completion, and patterns for any case."""
    references: dict[str, Any] = {}
    for name, offer in sorted(offers.items()):
        place = f"{kind}.{name}"
        policy = _policy_schema(offer.policy, place)
        definitions |= {f"{place}.{model}": below for model, below in policy.pop("$defs", {}).items()}
        definitions[place] = {**policy, **({"description": offer.description} if offer.description else {})}
        references[name] = {"$ref": f"#/$defs/{place}"}
    anyhow = {anchored(any_case_pattern(name)): reference for name, reference in references.items()}
    return {"properties": references, "patternProperties": anyhow}


def _policy_schema(model: "type[BaseModel]", place: str) -> dict[str, Any]:

    try:
        return model.model_json_schema(ref_template=f"#/$defs/{place}.{{model}}")
    except pydantic.PydanticUserError:
        return {"type": "object"}  # JSON Schema cannot express one of its fields.
