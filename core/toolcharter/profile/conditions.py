"""`when`: a JSON Schema for each argument of a rule, compiled at load.

JSON Schema lets unknown keywords pass in silence. In an `allow` rule a misspelt `pattern` would then permit everything,
so that every keyword has to be one of the standard.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolcharter.errors import did_you_mean

# Source: JSON Schema 2020-12, meta-schemas of all vocabularies; `$vocabulary`, `$dynamicRef` and their like are left out.
_ONE = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"$defs", "dependentSchemas", "patternProperties", "properties"})
_VALUES = frozenset(
    {
        "$anchor",
        "$comment",
        "$ref",
        "const",
        "dependentRequired",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "title",
        "type",
        "uniqueItems",
    }
)
KEYWORDS = _ONE | _MANY | _NAMED | _VALUES
"""What a schema in `when` may hold."""
MAX_DEPTH = 32
"""How deep schemas may be nested."""


class ConditionError(ValueError):
    """A `when` that cannot be compiled."""

    def __init__(self, what: str, fix: str = "") -> None:
        self.fix = fix
        super().__init__(what)


def compile_condition(schema: Any) -> Callable[[Any], bool]:
    """The test that *schema*, a JSON Schema, is.

    Patterns take linear time, formats are checked, nothing is ever fetched.

    Raises:
        ConditionError: The schema is none, holds an unknown keyword, or refers to something outside.
    """
    import jsonschema_rs  # noqa: PLC0415 - few profiles use `when`

    for what, fix in _faults(schema, 0):
        raise ConditionError(what, fix)
    try:
        validator: Any = jsonschema_rs.Draft202012Validator(
            schema,
            validate_formats=True,
            ignore_unknown_formats=False,
            pattern_options=jsonschema_rs.RegexOptions(),
            retriever=_refuse_to_fetch,
        )
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise ConditionError(str(error).splitlines()[0]) from error
    test: Callable[[Any], bool] = validator.is_valid
    return test


def _faults(schema: Any, depth: int) -> Iterator[tuple[str, str]]:
    """What the validator itself would let pass."""
    if depth > MAX_DEPTH:
        yield f"schemas are nested more than {MAX_DEPTH} deep", ""
    elif isinstance(schema, Mapping):
        for keyword, value in schema.items():
            if keyword not in KEYWORDS:
                yield f"unknown keyword {keyword!r}", did_you_mean(keyword, KEYWORDS)
            for below in _schemas_below(keyword, value):
                yield from _faults(below, depth + 1)
    elif not isinstance(schema, bool):
        yield f"{schema!r} is no JSON Schema", f"Write a mapping such as {{const: {schema!r}}}."


def _schemas_below(keyword: str, value: Any) -> list[Any]:
    if keyword in _ONE:
        return [value]
    if keyword in _MANY:
        return value if isinstance(value, list) else []
    return list(value.values()) if keyword in _NAMED and isinstance(value, Mapping) else []


def _refuse_to_fetch(uri: str) -> Any:
    raise ValueError(f"{uri!r} lies outside it, and references are never fetched")
