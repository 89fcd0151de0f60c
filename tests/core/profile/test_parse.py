"""The YAML that a profile may use: plain values, every fault at its place, nothing that explodes."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.errors import Fault
from toolcharter.profile.nodes import to_plain
from toolcharter.profile.parse import MAX_DEPTH, MAX_NODES, parse_yaml


def read(text: str) -> tuple[Any, list[str]]:
    faults: list[Fault] = []
    node = parse_yaml(text, "p.yaml", faults)
    return (None if node is None else to_plain(node)), list(map(str, faults))


@each_row(
    ("written", "value"),
    [
        pytest.param("null", None, id="null"),
        pytest.param("~", None, id="tilde"),
        pytest.param("", None, id="empty"),
        pytest.param("true", True, id="true"),
        pytest.param("false", False, id="false"),
        pytest.param("0", 0, id="zero"),
        pytest.param("-12", -12, id="negative"),
        pytest.param("9223372036854775807", 2**63 - 1, id="largest integer"),
        pytest.param("-9223372036854775808", -(2**63), id="smallest integer"),
        pytest.param("0.5", 0.5, id="float"),
        pytest.param("-1e3", -1000.0, id="exponent"),
        pytest.param("no", "no", id="Norway"),
        pytest.param("on", "on", id="on"),
        pytest.param("True", "True", id="capital"),
        pytest.param("NULL", "NULL", id="capital null"),
        pytest.param("0777", "0777", id="octal"),
        pytest.param("0o17", "0o17", id="new octal"),
        pytest.param("0x1f", "0x1f", id="hexadecimal"),
        pytest.param("1_000", "1_000", id="underscore"),
        pytest.param("12:30", "12:30", id="sexagesimal"),
        pytest.param("2024-01-01", "2024-01-01", id="date"),
        pytest.param("1.", "1.", id="no digit after the point"),
        pytest.param(".5", ".5", id="no digit before the point"),
        pytest.param("+1", "+1", id="plus"),
        pytest.param(".inf", ".inf", id="infinity"),
        pytest.param("'5'", "5", id="quoted number"),
        pytest.param('"null"', "null", id="quoted null"),
        pytest.param("'<<'", "<<", id="merge key as a value"),
        pytest.param("é ☃ 🎉", "é ☃ 🎉", id="unicode"),
    ],
)
def test_only_json_s_words_and_numbers_are_no_text(written, value) -> None:
    """YAML 1.1's dates, octals and yes and no do not bite."""
    got, faults = read(f"key: {written}\n")

    assert (got, type(got["key"]), faults) == ({"key": value}, type(value), [])


@each_row(
    ("text", "faults"),
    [
        pytest.param("", ["p.yaml:1:1: the file is empty.\nWrite at least `profile: NAME`."], id="empty"),
        pytest.param(
            "# nothing\n", ["p.yaml:1:1: the file is empty.\nWrite at least `profile: NAME`."], id="comment alone"
        ),
        pytest.param(
            "a: 1\nb: x\0y\n", ["p.yaml:2:5: the character U+0000 is not allowed in a profile.\nRemove it."], id="NUL"
        ),
        pytest.param(
            "\x1b[2J",
            ["p.yaml:1:1: the character U+001B is not allowed in a profile.\nRemove it."],
            id="control character",
        ),
        pytest.param(
            "a: 1\n---\nb: 2\n",
            [
                (
                    "p.yaml:2:1: a second document begins here.\n"
                    "A file holds one profile: remove the line '---', or split the file."
                )
            ],
            id="two documents",
        ),
        pytest.param(
            "a: [1,\nb: 2\n",
            [
                (
                    "p.yaml:3:1: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence "
                    "(line 1, column 4).\nClose the bracket."
                )
            ],
            id="open bracket",
        ),
        pytest.param(
            "a:\n\t- b\n",
            [
                (
                    "p.yaml:2:1: not valid YAML: found character that cannot start any token while scanning for the "
                    "next token (line 2, column 1).\nIndent with spaces, not tabs."
                )
            ],
            id="tab",
        ),
        pytest.param(
            "a: @b\n",
            [
                (
                    "p.yaml:1:4: not valid YAML: found character that cannot start any token while scanning for the "
                    "next token (line 1, column 4).\nQuote text that begins with '@'."
                )
            ],
            id="reserved character",
        ),
        pytest.param(
            "a: b: c\n",
            [
                (
                    "p.yaml:1:5: not valid YAML: mapping values are not allowed in this context.\n"
                    "Check the indentation, and quote text that contains ': '."
                )
            ],
            id="colon in text",
        ),
        pytest.param(
            "%YAML 3.0\n---\na: 1\n",
            ["p.yaml:1:1: not valid YAML: found incompatible YAML document."],
            id="YAML of the future",
        ),
    ],
)
def test_a_file_that_cannot_be_read_to_its_end_is_one_fault(text, faults) -> None:
    """What cannot be parsed gives no tree, and one fault at the place where reading stopped."""
    assert read(text) == (None, faults)


@each_row(
    ("text", "value", "faults"),
    [
        pytest.param(
            "a: 1\nb: 2\na: 3\n",
            {"a": 1, "b": 2},
            [
                (
                    "p.yaml:3:1: the key 'a' occurs twice; first at p.yaml:1:1.\nRemove one of the two, or "
                    "merge their values."
                )
            ],
            id="duplicate key",
        ),
        pytest.param(
            "x: {y: [1, {b: 1, b: 2}]}\n",
            {"x": {"y": [1, {"b": 1}]}},
            [
                (
                    "p.yaml:1:19: x.y.1: the key 'b' occurs twice; first at p.yaml:1:13.\nRemove one of the two, or "
                    "merge their values."
                )
            ],
            id="duplicate key below",
        ),
        pytest.param(
            "a: &a {b: 1}\nc: {<<: *a, d: 2}\n",
            {"a": {"b": 1}, "c": {"d": 2}},
            ["p.yaml:2:5: c: the merge key '<<' is not allowed.\nShare whole profiles with `extends`."],
            id="merge key",
        ),
        pytest.param(
            "5: a\ntrue: b\n~: c\n",
            {},
            [
                "p.yaml:1:1: a key must be text, not the number 5.\nQuote it to make it text.",
                "p.yaml:2:1: a key must be text, not true.\nQuote it to make it text.",
                "p.yaml:3:1: a key must be text, not nothing.\nQuote it to make it text.",
            ],
            id="scalars as keys",
        ),
        pytest.param(
            "? [a, b]\n: {c: 1, c: 2}\nd: 1\n",
            {"d": 1},
            [
                "p.yaml:1:3: a key must be text, not a list.\nWrite a name.",
                (
                    "p.yaml:2:10: the key 'c' occurs twice; first at p.yaml:2:4.\nRemove one of the two, or "
                    "merge their values."
                ),
            ],
            id="list as key",
        ),
        pytest.param(
            "a: !!python/object/apply:os.system [ls]\nb: !secret x\nc: !!str 5\nd: ! 5\n",
            {"a": ["ls"], "b": "x", "c": "5", "d": 5},
            [
                (
                    "p.yaml:1:4: a: the tag '!!python/object/apply:os.system' is not allowed.\nRemove it; quote a value "
                    "to make it text."
                ),
                "p.yaml:2:4: b: the tag '!secret' is not allowed.\nRemove it; quote a value to make it text.",
                "p.yaml:3:4: c: the tag '!!str' is not allowed.\nRemove it; quote a value to make it text.",
                "p.yaml:4:4: d: the tag '!' is not allowed.\nRemove it; quote a value to make it text.",
            ],
            id="tags",
        ),
        pytest.param(
            f"a: 9223372036854775808\nb: -9223372036854775809\nc: 1e999\nd: {'9' * 5000}\n",
            {"a": 0, "b": 0, "c": 0, "d": 0},
            [
                "p.yaml:1:4: a: the number '9223372036854775808' is too large.\nQuote it to make it text.",
                "p.yaml:2:4: b: the number '-9223372036854775809' is too large.\nQuote it to make it text.",
                "p.yaml:3:4: c: the number '1e999' is too large.\nQuote it to make it text.",
                f"p.yaml:4:4: d: the number '{'9' * 35}...' is too large.\nQuote it to make it text.",
            ],
            id="numbers out of range",
        ),
        pytest.param(
            'a: "x\\0y"\n',
            {"a": ""},
            ["p.yaml:1:4: a: the text holds the character U+0000, which no tool accepts.\nRemove its escape sequence."],
            id="escaped NUL",
        ),
        pytest.param(
            "head: &head 1\na: *haed\nb: *c\nc: *c\n",
            {"head": 1, "a": None, "b": None, "c": None},
            [
                "p.yaml:2:4: a: the alias '*haed' names no anchor above it.\nDid you mean 'head'?",
                "p.yaml:3:4: b: the alias '*c' names no anchor above it.\nQuote it if '*c' is text.",
            ],
            id="alias without anchor, told once",
        ),
    ],
)
def test_other_faults_do_not_stop_the_reading(text, value, faults) -> None:
    """Each is told at its place, and the rest of the file is still read."""
    assert read(text) == (value, faults)


def test_anchors_share_values_and_keys() -> None:
    """An alias stands for the whole value of its anchor, as a key too."""
    got, faults = read("a: &x {k: [1]}\n? &y name\n: &z 2\nb: [*x, *z]\n*y : twice\n")

    assert got == {"a": {"k": [1]}, "name": 2, "b": [{"k": [1]}, 2]}
    assert faults == [
        ("p.yaml:5:1: the key 'name' occurs twice; first at p.yaml:2:3.\nRemove one of the two, or merge their values.")
    ]


def test_an_alias_inside_what_it_names_is_refused() -> None:
    """A value that contains itself has no end."""
    assert read("a: &x [1, *x]\n") == (
        None,
        ["p.yaml:1:11: a.1: the alias '*x' is inside the value that it names.\nWrite the value out."],
    )


def test_exploding_aliases_are_refused() -> None:
    """Ten aliases of ten aliases of ...: what they stand for is counted, not built."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]

    assert read("\n".join(lines)) == (
        None,
        [
            (
                "p.yaml:5:45: a4.7: the profile has more than 100000 keys and values, aliases counted in full.\n"
                "Use fewer aliases, or split the profile."
            )
        ],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "is_read"),
    [pytest.param(MAX_NODES - 1, True, id="at the limit"), pytest.param(MAX_NODES, False, id="one past it")],
)
def test_the_number_of_values_is_limited(count, is_read) -> None:
    """The list itself counts too."""
    assert (read(f"[{'x,' * count}]")[0] is not None) is is_read


TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels.\nFlatten the value."


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("[" * MAX_DEPTH + "]" * MAX_DEPTH, [], id="at the limit"),
        pytest.param(
            "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
            [f"p.yaml:1:{MAX_DEPTH + 1}: {'.'.join('0' * MAX_DEPTH)}: {TOO_DEEP}"],
            id="one past it",
        ),
        pytest.param(
            "- " * 100_000,
            [f"p.yaml:1:{2 * MAX_DEPTH + 1}: {'.'.join('0' * MAX_DEPTH)}: {TOO_DEEP}"],
            id="far past it: libyaml's composer would end the process",
        ),
        pytest.param(
            "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 60)),
            [f"p.yaml:{MAX_DEPTH - 1}:12: a{MAX_DEPTH - 2}.0: {TOO_DEEP}"],
            id="through aliases",
        ),
    ],
)
def test_depth_is_limited(text, faults) -> None:
    """Nothing that walks over a profile can run out of stack, aliases or not."""
    assert read(text)[1] == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("a: [1, {b: c}]\n", [], id="good"),
        pytest.param(
            "a: [1\n",
            [
                (
                    "p.yaml:2:1: not valid YAML: expected ',' or ']', but got '<stream end>' while parsing a flow sequence "
                    "(line 1, column 4).\nClose the bracket."
                )
            ],
            id="open bracket",
        ),
        pytest.param(
            "a:\n\t- b\n",
            [
                (
                    "p.yaml:2:1: not valid YAML: found character '\\t' that cannot start any token.\n"
                    "Indent with spaces, not tabs."
                )
            ],
            id="context without a place",
        ),
        pytest.param(
            'a: "\\ud800"\n',
            ["p.yaml:1:4: a: the text holds the character U+D800, which no tool accepts.\nRemove its escape sequence."],
            id="half a character",
        ),
        pytest.param(
            'a: "\\Uffffffff"\n',
            ["p.yaml:1:1: not valid YAML: an escape or a version has too large a number."],
            id="no character at all",
        ),
    ],
)
def test_without_libyaml_the_same_is_read(monkeypatch, text, faults) -> None:
    """PyYAML without its C part differs in the words of a syntax error only."""
    monkeypatch.delattr(yaml, "CSafeLoader")

    assert read(text)[1] == faults


words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=8)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(words.filter(lambda key: key != "<<"), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(values)
def test_json_is_read_as_json(value) -> None:
    """What a program writes as JSON comes back equal: types, numbers and text."""
    assert read(json.dumps(value, ensure_ascii=False)) == (value, [])
