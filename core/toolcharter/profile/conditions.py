"""`when`: a JSON Schema for each argument of a rule, compiled at load.

JSON Schema lets unknown keywords pass in silence. In an `allow` rule a misspelt `pattern` would then permit everything,
so that every keyword has to be one of the standard.
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

# Source: JSON Schema 2020-12, meta-schemas of all vocabularies; all that names a schema, a dialect or an example is left out.
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
"""What a schema in `when` may hold."""
MAX_DEPTH = 32
"""How deep schemas may be nested, references counted as what they refer to."""
MAX_SCHEMAS = 1000
"""How many schemas there may be in one, counted the same way: each may be looked at for each call."""
MAX_PATTERN_BYTES = 1 << 20
"""How large a compiled pattern may be: a repository's file may hold thousands, and the engine's own limit is ten times more."""

# Elsewhere no keyword is looked at: what is in `const` is no schema until a reference makes it one.
_REFERENCE = re.compile(r"#/\$defs/([^/%~]+)")


class ConditionError(ValueError):
    """A `when` that cannot be compiled."""

    def __init__(self, what: str, fix: str = "") -> None:
        self.fix = fix
        super().__init__(what)


class Condition(NamedTuple):
    """A JSON Schema, and the test that it is."""

    schema: Any
    holds: Callable[[Any], bool]


class Conditions(dict[str, Any]):
    """A JSON Schema for each argument, with their tests: what is compiled once need not be compiled again."""

    def __init__(self, conditions: Mapping[str, Condition]) -> None:
        super().__init__({name: one.schema for name, one in conditions.items()})
        self.tests: Mapping[str, Callable[[Any], bool]] = {name: one.holds for name, one in conditions.items()}


def tests_of(when: Mapping[str, Any] | None) -> Mapping[str, Callable[[Any], bool]]:
    """The test of each argument in *when*; what a profile holds is compiled already."""
    if isinstance(when, Conditions):
        return when.tests
    return {name: compile_condition(schema) for name, schema in (when or {}).items()}


def condition(schema: Any) -> Condition:
    """*schema* with its test.

    Raises:
        ConditionError: See `compile_condition`.
    """
    return Condition(schema, compile_condition(schema))


def compile_condition(schema: Any) -> Callable[[Any], bool]:
    """The test that *schema*, a JSON Schema, is.

    Patterns take linear time, formats are checked, nothing is ever fetched.

    Raises:
        ConditionError: The schema is none, holds an unknown keyword, refers to something outside or to itself, or is
            too large.
    """
    _Inspection(schema).visit(schema, 0)
    try:
        validator: Any = jsonschema_rs.Draft202012Validator(
            schema,
            validate_formats=True,
            ignore_unknown_formats=False,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES),
        )
    except jsonschema_rs.ValidationError as error:
        raise _explained(error) from error
    test: Callable[[Any], bool] = validator.is_valid
    return test


class _Inspection:
    """Refuses what the validator itself would let pass."""

    def __init__(self, root: Any) -> None:
        self._definitions: Any = root.get("$defs") if isinstance(root, Mapping) else None
        self._count = count(1)

    def visit(self, schema: Any, depth: int) -> None:
        """Look at *schema* and all below it.

        Raises:
            ConditionError: At the first thing that is wrong.
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
            raise ConditionError(f"{schema!r} is no JSON Schema", f"Write a mapping such as {{const: {schema!r}}}.")
        for keyword, value in schema.items():
            if keyword not in KEYWORDS:
                raise ConditionError(f"unknown keyword {keyword!r}", did_you_mean(keyword, KEYWORDS))
            for below in self._below(keyword, value):
                self.visit(below, depth + 1)

    def _below(self, keyword: str, value: Any) -> Iterator[Any]:
        if keyword in _ONE:
            yield value
        elif keyword in _MANY:
            yield from value if isinstance(value, list) else ()
        elif keyword in _NAMED:
            yield from value.values() if isinstance(value, Mapping) else ()
        elif keyword == "$ref":
            yield self._referred(value)

    def _referred(self, reference: Any) -> Any:
        found = _REFERENCE.fullmatch(str(reference))
        if found is None or not isinstance(self._definitions, Mapping) or found[1] not in self._definitions:
            known = self._definitions if isinstance(self._definitions, Mapping) else {}
            names = ", ".join(repr(f"#/$defs/{name}") for name in sorted(known)) or "none; write one under `$defs`"
            raise ConditionError(f"the reference {reference!r} leads nowhere", f"References there can be: {names}.")
        return self._definitions[found[1]]


def _explained(error: Any) -> ConditionError:
    if error.message.endswith('is not a "regex"'):
        what = f"the pattern {error.instance!r} cannot be read, is too large, or not matched in linear time"
        return ConditionError(what, "Patterns have no look-around and no back-references.")
    where = ".".join(map(str, error.instance_path))
    return ConditionError(f"{where}: {error.message.splitlines()[0].partition('. ')[0]}")
