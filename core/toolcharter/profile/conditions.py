"""`when`: a JSON Schema for each argument of a rule, compiled when the profile is loaded.

JSON Schema ignores unknown keywords. In an `allow` rule, a misspelt `pattern` would then permit everything, so every
keyword has to be one of the standard's.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.errors import did_you_mean

if TYPE_CHECKING:
    import jsonschema_rs
else:
    jsonschema_rs = lazy("jsonschema_rs")

# Source: JSON Schema 2020-12, meta-schemas of all vocabularies, without keywords for names, dialects and examples.
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
"""The keywords that a schema in `when` may hold."""
MAX_DEPTH = 32
"""The deepest nesting of schemas; a reference counts as the schema it refers to."""
MAX_SCHEMAS = 1000
"""The most schemas in one, counted with references resolved: each call may evaluate all of them."""
MAX_PATTERN_BYTES = 1 << 20
"""The most bytes of a compiled pattern. The engine's own limit is ten times higher, and a file may hold thousands."""

# A reference to any other place is refused: keywords are not inspected there, such as in the value of `const`.
_REFERENCE = re.compile(r"#/\$defs/([^/%~]+)")


class ConditionError(ValueError):
    """A `when` that cannot be compiled."""

    def __init__(self, what: str, fix: str = "") -> None:
        self.fix = fix
        super().__init__(what)


class Condition(NamedTuple):
    """A JSON Schema and its compiled test."""

    schema: Any
    holds: Callable[[Any], bool]


class Conditions(dict[str, Any]):
    """A JSON Schema for each argument, with the compiled tests, so that each is compiled only once."""

    def __init__(self, conditions: Mapping[str, Condition]) -> None:
        super().__init__({name: one.schema for name, one in conditions.items()})
        self.tests: Mapping[str, Callable[[Any], bool]] = {name: one.holds for name, one in conditions.items()}


def compile_conditions(when: Mapping[str, Any] | None) -> Mapping[str, Callable[[Any], bool]]:
    """Return the test of each argument in *when*. The conditions of a profile are already compiled."""
    if isinstance(when, Conditions):
        return when.tests
    return {name: compile_condition(schema) for name, schema in (when or {}).items()}


def build_condition(schema: Any) -> Condition:
    """Compile *schema* and keep it with its test.

    Raises:
        ConditionError: See `compile_condition`.
    """
    return Condition(schema, compile_condition(schema))


def compile_condition(schema: Any) -> Callable[[Any], bool]:
    """Compile *schema*, a JSON Schema, into a test.

    Patterns take linear time, formats are checked, and nothing is ever fetched.

    Raises:
        ConditionError: It is not a JSON Schema, holds an unknown keyword, refers to something outside or to itself, or
            is too large.
    """
    _SchemaInspection(schema).visit(schema, 0)
    try:
        validator: Any = jsonschema_rs.Draft202012Validator(
            schema,
            validate_formats=True,
            ignore_unknown_formats=False,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES),
        )
    except jsonschema_rs.ValidationError as error:
        raise _explain_error(error) from error
    test: Callable[[Any], bool] = validator.is_valid
    return test


class _SchemaInspection:
    """Refuses schemas that the validator itself would accept."""

    def __init__(self, root: Any) -> None:
        self._definitions: Any = root.get("$defs") if isinstance(root, Mapping) else None
        self._count = count(1)

    def visit(self, schema: Any, depth: int) -> None:
        """Inspect *schema* and all schemas below it.

        Raises:
            ConditionError: At the first fault.
        """
        if depth > MAX_DEPTH:
            raise ConditionError(
                f"schemas are nested more than {MAX_DEPTH} deep, or refer to themselves", "Flatten it."
            )
        if next(self._count) > MAX_SCHEMAS:
            raise ConditionError(f"more than {MAX_SCHEMAS} schemas, references counted in full", "Use fewer.")
        if isinstance(schema, bool):
            return
        if not isinstance(schema, Mapping):
            raise ConditionError(f"{schema!r} is not a JSON Schema", f"Write a mapping such as {{const: {schema!r}}}.")
        for keyword, value in schema.items():
            if keyword not in KEYWORDS:
                raise ConditionError(f"unknown keyword {keyword!r}", did_you_mean(keyword, KEYWORDS))
            for below in self._subschemas(keyword, value):
                self.visit(below, depth + 1)

    def _subschemas(self, keyword: str, value: Any) -> Iterator[Any]:
        if keyword in _ONE:
            yield value
        elif keyword in _MANY:
            yield from value if isinstance(value, list) else ()
        elif keyword in _NAMED:
            yield from value.values() if isinstance(value, Mapping) else ()
        elif keyword == "$ref":
            yield self._resolve_reference(value)

    def _resolve_reference(self, reference: Any) -> Any:
        found = _REFERENCE.fullmatch(str(reference))
        if found is None or not isinstance(self._definitions, Mapping) or found[1] not in self._definitions:
            known = self._definitions if isinstance(self._definitions, Mapping) else {}
            names = ", ".join(repr(f"#/$defs/{name}") for name in sorted(known)) or "none; write one under `$defs`"
            raise ConditionError(f"the reference {reference!r} names no schema", f"Possible references: {names}.")
        return self._definitions[found[1]]


def _explain_error(error: Any) -> ConditionError:
    if error.message.endswith('is not a "regex"'):
        what = f"the pattern {error.instance!r} is invalid, is too large, or cannot be matched in linear time"
        return ConditionError(what, "Patterns have no look-around and no back-references.")
    where = ".".join(map(str, error.instance_path))
    return ConditionError(f"{where}: {error.message.splitlines()[0].partition('. ')[0]}")
