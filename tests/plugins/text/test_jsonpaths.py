"""JSONPath as RFC 9535 has it, and what keeps queries from taking for ever."""

import inspect
import json
import sys
from math import inf
from typing import Any

import pytest
from tests.plugins.text.conftest import Call
from tests.rows import each_row

from toolcharter import ToolError
from toolcharter.testing import assert_error
from toolcharter_text.jsonpaths import MAX_QUERY_CHARS, Budget, Query, QueryError


def values(query: str, document: Any, *, steps: int = 100_000, until: float = inf) -> list[Any]:
    return [found.value for found in Query(query, Budget(steps, until)).find(document)]


def paths(query: str, document: Any) -> list[str]:
    return [found.path for found in Query(query, Budget(100_000, inf)).find(document)]


# Source: RFC 9535, the tables of sections 2.3.1.3 to 2.5.2.3.
NAMES = {"o": {"j j": {"k.k": 3}}, "'": {"@": 2}}
OBJECT = {"o": {"j": 1, "k": 2}, "a": [5, 3]}
LETTERS = ["a", "b", "c", "d", "e", "f", "g"]
FILTERED = {
    "a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
    "o": {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}},
    "e": "f",
}
COMPARED = {"obj": {"x": "y"}, "arr": [2, 3]}
NESTED = {"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]}


@each_row(
    ("query", "document", "expected"),
    [
        ("$", {"k": "v"}, ["$"]),
        ("$.o['j j']", NAMES, ["$['o']['j j']"]),
        ('$.o["j j"]["k.k"]', NAMES, ["$['o']['j j']['k.k']"]),
        ("""$["'"]["@"]""", NAMES, [r"$['\'']['@']"]),
        ("$[*]", OBJECT, ["$['o']", "$['a']"]),
        ("$.o[*, *]", OBJECT, ["$['o']['j']", "$['o']['k']", "$['o']['j']", "$['o']['k']"]),
        ("$[1]", ["a", "b"], ["$[1]"]),
        ("$[-2]", ["a", "b"], ["$[0]"]),
        ("$[2]", ["a", "b"], []),
        ("$[1:3]", LETTERS, ["$[1]", "$[2]"]),
        ("$[5:1:-2]", LETTERS, ["$[5]", "$[3]"]),
        ("$[::-1]", ["a", "b"], ["$[1]", "$[0]"]),
        ("$[::0]", LETTERS, []),
        ("$.a[?@.b == 'kilo']", FILTERED, ["$['a'][9]"]),
        ("$.a[?(@.b == 'kilo')]", FILTERED, ["$['a'][9]"]),
        ("$.a[?@>3.5]", FILTERED, ["$['a'][1]", "$['a'][4]", "$['a'][5]"]),
        ("$.a[?@.b]", FILTERED, ["$['a'][6]", "$['a'][7]", "$['a'][8]", "$['a'][9]"]),
        ("$[?@.*]", FILTERED, ["$['a']", "$['o']"]),
        ("$[?@[?@.b]]", FILTERED, ["$['a']"]),
        ("$.o[?@<3, ?@<3]", FILTERED, ["$['o']['p']", "$['o']['q']", "$['o']['p']", "$['o']['q']"]),
        ('$.a[?@<2 || @.b == "k"]', FILTERED, ["$['a'][2]", "$['a'][7]"]),
        ('$.a[?match(@.b, "[jk]")]', FILTERED, ["$['a'][6]", "$['a'][7]"]),
        ('$.a[?search(@.b, "[jk]")]', FILTERED, ["$['a'][6]", "$['a'][7]", "$['a'][9]"]),
        ("$.o[?@>1 && @<4]", FILTERED, ["$['o']['q']", "$['o']['r']"]),
        ("$.o[?@.u || @.x]", FILTERED, ["$['o']['t']"]),
        ("$.a[?@.b == $.x]", FILTERED, [f"$['a'][{index}]" for index in range(6)]),
        ("$.a[?!@.b]", FILTERED, [f"$['a'][{index}]" for index in range(6)]),
        ("$[?length(@) < 3]", ["abc", "ab", [1, 2, 3], [1], 7], ["$[1]", "$[3]"]),
        ("$[?count(@.*) == 1]", [{"a": 1}, {"a": 1, "b": 2}], ["$[0]"]),
        ("$[?value(@..c) == 'red']", [{"b": {"c": "red"}}, {"c": "red", "d": {"c": "red"}}], ["$[0]"]),
        ("$[0, 3]", LETTERS, ["$[0]", "$[3]"]),
        ("$[0:2, 5]", LETTERS, ["$[0]", "$[1]", "$[5]"]),
        ("$..j", NESTED, ["$['o']['j']", "$['a'][2][0]['j']"]),
        ("$..[0]", NESTED, ["$['a'][0]", "$['a'][2][0]"]),
        ("$..o", NESTED, ["$['o']"]),
        ("$.a..[0, 1]", NESTED, ["$['a'][0]", "$['a'][1]", "$['a'][2][0]", "$['a'][2][1]"]),
        ("$.a[?@ == null]", {"a": [None, 0, False]}, ["$['a'][0]"]),
    ],
)
def test_queries_of_the_rfc(query: str, document: Any, expected: list[str]) -> None:
    """The examples of the RFC's tables select what stands there."""
    assert paths(query, document) == expected


@each_row(
    ("comparison", "holds"),
    [
        ("$.absent1 == $.absent2", True),
        ("$.absent == 'g'", False),
        ("1 <= 2", True),
        ("13 == '13'", False),
        ("'a' <= 'b'", True),
        ("$.obj == $.arr", False),
        ("$.obj == $.obj", True),
        ("$.obj <= $.obj", True),
        ("$.arr < $.arr", False),
        ("1 <= $.arr", False),
        ("true <= true", True),
        ("true > true", False),
        ("true == 1", False),
    ],
)
def test_comparisons_of_the_rfc(comparison: str, *, holds: bool) -> None:
    """What is of different types is never less, and nothing equals nothing."""
    assert bool(paths(f"$[?{comparison}]", COMPARED)) is holds


def test_names_are_of_the_member_that_holds_the_node() -> None:
    """Also within arrays; the document itself has none."""
    found = list(Query("$..*", Budget(1000, inf)).find([[1], {"a": [[2]]}]))

    assert [each.name for each in found] == [None, None, None, "a", "a", "a"]
    assert next(iter(Query("$", Budget(1000, inf)).find(1))).name is None


@each_row(
    ("query", "says"),
    [
        pytest.param("", "character 1: ", id="empty"),
        pytest.param("a", "character 1: ", id="no root"),
        pytest.param("$.a ", "character 4: ", id="trailing space"),
        pytest.param("$.a[", "character 5: ", id="unfinished"),
        pytest.param("$.a | $.b", "character 5: ", id="the library's own union"),
        pytest.param("$[?@ =~ /a/]", "character 6: ", id="the library's own regular expressions"),
        pytest.param("$[?@.a == $..b]", "character 8: non-singular query is not comparable", id="typing"),
        pytest.param("$[?typeof(@) == 'string']", "character 4: function 'typeof' is not defined", id="function"),
        pytest.param("$[?@ == 1e400]", "a number in it is out of range", id="number"),
        pytest.param(f"$[{'1' * 900}e9]", "a number in it is out of range", id="index"),
        pytest.param(f"$[?{'(' * 990}", "it nests too deeply", id="nesting"),
        pytest.param("$" + "." * MAX_QUERY_CHARS, f"it is longer than {MAX_QUERY_CHARS} characters", id="length"),
    ],
)
def test_what_is_no_query_is_told(query: str, says: str) -> None:
    """Where reading it ended, or what is wrong with it."""
    with pytest.raises(QueryError) as caught:
        Query(query, Budget(1000, inf))

    assert str(caught.value).startswith(says)


def test_the_tool_refuses_what_is_no_query(call: Call) -> None:
    """Before it looks at the document."""
    result = call("json_parse", text="no JSON", query="a.b")

    assert_error(result, "invalid_query")
    assert result.message is not None
    assert result.message.startswith("The query is no JSONPath: character 1: ")
    assert result.hint == "Begin with `$`, as RFC 9535 says."


@each_row(
    ("pattern", "text", "matches"),
    [
        pytest.param("a.c", "abc", True, id="dot"),
        pytest.param("a.c", "a\nc", False, id="dot and line feed"),
        pytest.param("a.c", "a\rc", False, id="dot and carriage return"),
        pytest.param(r"a\.c", "a.c", True, id="escaped dot"),
        pytest.param(r"a\.c", "abc", False, id="escaped dot is no dot"),
        pytest.param(r"a[.]c", "a.c", True, id="dot in a class"),
        pytest.param(r"a[\].]c", "a.c", True, id="dot behind an escaped bracket"),
        pytest.param(r"\p{Lu}+", "É", True, id="property"),
        pytest.param(r"\d+", "12", True, id="more than I-Regexp"),
        pytest.param("(", "(", False, id="no pattern"),
        pytest.param("a", "ab", False, id="not whole"),
        pytest.param(r"(a)\1", "aa", False, id="backreference"),
        pytest.param(1, "1", False, id="no text"),
    ],
)
def test_patterns_are_matched_on_re2(pattern: object, text: str, *, matches: bool) -> None:
    """As RFC 9485 has it; what is no pattern matches nothing."""
    assert bool(values("$.rows[?match(@, $.pattern)]", {"rows": [text], "pattern": pattern})) is matches


def test_only_texts_match() -> None:
    """RFC 9535, section 2.4.6: anything else is no match."""
    assert values("$[?search(@, '1')]", [1, "1", None, ["1"]]) == ["1"]


DEEP: Any = [[]]
for _ in range(12):
    DEEP = [DEEP, DEEP]


@each_row(
    ("query", "document"),
    [
        pytest.param("$..*..*..*..nothing", DEEP, id="nodes that are multiplied"),
        pytest.param("$..[?count($..*..*) > 0]", DEEP, id="queries in filters"),
        pytest.param("$..[?@..[?@..[?@..[?@.x]]]]", DEEP, id="filters in filters"),
        pytest.param("$..[?1 == 2]", DEEP, id="comparisons"),
        pytest.param("$[?search(@, '(a|b)*a(a|b){900}c')]", ["ab" * 100_000], id="slow pattern"),
        pytest.param("$" + "[*, *]" * 40, DEEP, id="selectors that are multiplied"),
    ],
)
def test_hostile_queries_come_to_an_end(query: str, document: Any) -> None:
    """After so many steps, wherever they are taken."""
    with pytest.raises(ToolError) as caught:
        values(query, document, steps=2000)

    assert caught.value.reason == "too_costly"


@pytest.mark.parametrize("query", ["$", "$[?@ == $]", "$[?search(@, 'a')]"])
def test_each_step_looks_at_the_clock(query: str) -> None:
    """Where a single step is slow, a number of steps bounds nothing."""
    with pytest.raises(ToolError) as caught:
        values(query, ["a"], until=0.0)

    assert caught.value.reason == "timed_out"


def test_a_query_that_finds_no_stack_left_is_told() -> None:
    """A chain of segments passes each node through all of them, on whatever stack the host has left."""
    document: Any = []
    for _ in range(200):
        document = [document]
    limit = sys.getrecursionlimit()
    query = Query("$" + "[*]" * 200, Budget(100_000, inf))

    sys.setrecursionlimit(len(inspect.stack(0)) + 120)
    try:
        with pytest.raises(ToolError) as caught:
            list(query.find(document))
    finally:
        sys.setrecursionlimit(limit)

    assert caught.value.reason == "too_costly"


def test_the_policy_bounds_a_query(call: Call) -> None:
    """Steps and time are the profile's to say."""
    text = json.dumps([[1] * 50] * 50)

    assert_error(call("json_parse", {"max_steps": 50}, text=text, query="$..x"), "too_costly")
    assert_error(call("json_parse", {"max_time_s": 1e-9}, text=text, query="$..*"), "timed_out")
    assert call("json_parse", {"max_steps": 10_000}, text=text, query="$..*").data["truncated"]
