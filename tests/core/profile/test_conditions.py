"""`when`: JSON Schemas that hold nothing unknown, fetch nothing and end."""

import pytest
from jsonschema_rs import meta
from tests.rows import each_row

from toolcharter.profile.conditions import KEYWORDS, MAX_DEPTH, MAX_SCHEMAS, ConditionError, compile_condition

PATTERNS = "Patterns have no look-around and no back-references."


def nested(depth: int) -> object:
    schema: object = True
    for _ in range(depth):
        schema = {"not": schema}
    return schema


def doubled(levels: int) -> dict[str, object]:
    """A schema in which each definition stands for two of the next."""
    definitions: dict[str, object] = {
        f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(levels)
    } | {f"a{levels}": True}
    return {"$ref": "#/$defs/a0", "$defs": definitions}


@each_row(
    ("schema", "good", "bad"),
    [
        pytest.param({"const": 5}, 5, 6, id="const"),
        pytest.param({"pattern": "^src/"}, "src/a", "/src/a", id="pattern"),
        pytest.param({"type": "array", "items": {"enum": ["a"]}}, ["a"], ["a", "b"], id="items"),
        pytest.param({"format": "ipv4"}, "10.0.0.1", "10.0.0.256", id="formats are checked"),
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, "a", 1, id="reference"),
        pytest.param({"properties": {"a": {"not": {}}}}, {"b": 1}, {"a": 1}, id="properties"),
        pytest.param({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 4, id="allOf"),
        pytest.param({"not": {"type": "null"}}, "", None, id="null"),
        pytest.param(
            {"const": {"$ref": "http://x.invalid/"}}, {"$ref": "http://x.invalid/"}, {}, id="const is a value"
        ),
        pytest.param({"maxLength": 1}, "é", "éé", id="characters count, not bytes"),
    ],
)
def test_a_schema_is_a_test(schema, good, bad) -> None:
    """The standard keywords do what the standard says."""
    test = compile_condition(schema)

    assert (test(good), test(bad)) == (True, False)


def test_true_and_false_are_schemas() -> None:
    """All and nothing."""
    assert (compile_condition(schema=True)(1), compile_condition(schema=False)(1)) == (True, False)


@each_row(
    ("schema", "what", "fix"),
    [
        pytest.param("^src/", "'^src/' is not a JSON Schema", "Write a mapping such as {const: '^src/'}.", id="text"),
        pytest.param(None, "None is not a JSON Schema", "Write a mapping such as {const: None}.", id="null"),
        pytest.param({"not": 5}, "5 is not a JSON Schema", "Write a mapping such as {const: 5}.", id="below"),
        pytest.param({"patern": "x"}, "unknown keyword 'patern'", "Did you mean 'pattern'?", id="misspelt keyword"),
        pytest.param(
            {"properties": {"a": {"anyOf": [{"xx": 1}]}}}, "unknown keyword 'xx'", "", id="unknown keyword below"
        ),
        pytest.param({"$id": "http://x.invalid/"}, "unknown keyword '$id'", "", id="a name of its own"),
        pytest.param({"$dynamicRef": "#x"}, "unknown keyword '$dynamicRef'", "", id="dynamic reference"),
        pytest.param(
            {"type": "strin"},
            "type: \"strin\" is not valid under any of the schemas listed in the 'anyOf' keyword",
            "",
            id="type",
        ),
        pytest.param(
            {"properties": {"a": {"minimum": "1"}}},
            'properties.a.minimum: "1" is not of type "number"',
            "",
            id="value of a keyword",
        ),
        pytest.param({"allOf": {}}, 'allOf: {} is not of type "array"', "", id="mapping for a list"),
        pytest.param({"properties": []}, 'properties: [] is not of type "object"', "", id="list for a mapping"),
        pytest.param({"format": "nope"}, "format: Unknown format: 'nope'", "", id="unknown format"),
        pytest.param(
            {"pattern": "(?=a)b"},
            "the pattern '(?=a)b' is invalid, is too large, or cannot be matched in linear time",
            PATTERNS,
            id="look-ahead",
        ),
        pytest.param(
            {"pattern": "(?<!a)b"},
            "the pattern '(?<!a)b' is invalid, is too large, or cannot be matched in linear time",
            PATTERNS,
            id="look-behind",
        ),
        pytest.param(
            {"pattern": r"(a)\1"},
            r"the pattern '(a)\\1' is invalid, is too large, or cannot be matched in linear time",
            PATTERNS,
            id="back-reference",
        ),
        pytest.param(
            {"pattern": "("},
            "the pattern '(' is invalid, is too large, or cannot be matched in linear time",
            PATTERNS,
            id="no pattern",
        ),
        pytest.param(
            {"patternProperties": {"(?!x)": True}},
            "the pattern '(?!x)' is invalid, is too large, or cannot be matched in linear time",
            PATTERNS,
            id="pattern of a key",
        ),
        pytest.param(
            {"pattern": "((a{100}){100}){100}"},
            "the pattern '((a{100}){100}){100}' is invalid, is too large, or cannot be matched in linear time",
            PATTERNS,
            id="a pattern too large to compile",
        ),
        pytest.param(
            {"pattern": r"\p{L}{100}"},
            r"the pattern '\\p{L}{100}' is invalid, is too large, or cannot be matched in linear time",
            PATTERNS,
            id="large",
        ),
        pytest.param(
            {"$ref": "http://127.0.0.1:9/a"},
            "the reference 'http://127.0.0.1:9/a' names no schema",
            "Possible references: none; write one under `$defs`.",
            id="reference outside",
        ),
        pytest.param(
            {"$ref": "#/$defs/c", "$defs": {"b": True, "a": True}},
            "the reference '#/$defs/c' names no schema",
            "Possible references: '#/$defs/a', '#/$defs/b'.",
            id="reference to nothing",
        ),
        pytest.param(
            {"$ref": "#/const", "const": {"patern": "x"}},
            "the reference '#/const' names no schema",
            "Possible references: none; write one under `$defs`.",
            id="reference to what nobody looked at",
        ),
        pytest.param(
            {"$ref": 5, "$defs": []},
            "the reference 5 names no schema",
            "Possible references: none; write one under `$defs`.",
            id="number for a reference",
        ),
        pytest.param(
            nested(MAX_DEPTH + 1),
            f"schemas are nested more than {MAX_DEPTH} deep, or refer to themselves",
            "Flatten it.",
            id="too deep",
        ),
        pytest.param(
            {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}},
            f"schemas are nested more than {MAX_DEPTH} deep, or refer to themselves",
            "Flatten it.",
            id="refers to itself",
        ),
        pytest.param(
            doubled(12), f"more than {MAX_SCHEMAS} schemas, references counted in full", "Use fewer.", id="doubling"
        ),
        pytest.param(
            {"anyOf": [True] * MAX_SCHEMAS},
            f"more than {MAX_SCHEMAS} schemas, references counted in full",
            "Use fewer.",
            id="too many",
        ),
    ],
)
def test_what_is_no_safe_schema_is_refused(schema, what, fix) -> None:
    """What the standard would let pass in silence would permit everything in an `allow`."""
    with pytest.raises(ConditionError) as refused:
        compile_condition(schema)

    assert (str(refused.value), refused.value.fix) == (what, fix)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(nested(MAX_DEPTH), id="depth"),
        pytest.param({"anyOf": [True] * (MAX_SCHEMAS - 1)}, id="number"),
    ],
)
def test_the_limits_themselves_are_permitted(schema) -> None:
    """One less than too much."""
    assert compile_condition(schema)("x") in {True, False}


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(.*a){12}$"])
def test_a_catastrophic_pattern_takes_linear_time(pattern) -> None:
    """A backtracking engine would need more than the age of the universe for it."""
    assert not compile_condition({"pattern": pattern})("a" * 50_000 + "!" * 2)


def test_every_keyword_is_of_the_standard() -> None:
    """The meta-schema has something to say about each but `const`, so that the validator ignores none."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}

    unchecked = {word for word in KEYWORDS if all(meta.is_valid({**dialect, word: value}) for value in (1.5, "(("))}

    assert unchecked == {"const"}
