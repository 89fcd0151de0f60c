"""`json_parse`: what it takes for JSON, what it returns of it, and where it stops."""

import json
from pathlib import Path

import pytest
from tests.plugins.text.conftest import Call

from toolcharter.testing import assert_denied, assert_error

BOOKS = {
    "store": {
        "book": [
            {"title": "Sayings", "price": 8.95, "isbn": None},
            {"title": "Sword", "price": 12.99},
            {"title": "Moby Dick", "price": 8.99, "isbn": "0-553"},
        ],
        "bicycle": {"color": "red", "price": 399},
    }
}


def test_a_document_is_printed_as_it_is(call: Call) -> None:
    """Indented by two, members in their order; the value is beside it."""
    result = call("json_parse", text='{"b":[1,2.5,"\\u00e9"],"a":null}')

    assert result.text == '{\n  "b": [\n    1,\n    2.5,\n    "é"\n  ],\n  "a": null\n}'
    assert result.data == {
        "path": None,
        "value": {"b": [1, 2.5, "é"], "a": None},
        "matches": None,
        "truncated": False,
    }


@pytest.mark.parametrize("text", ["1", '"a"', "null", "true", " [] ", "{}", "-0.5e3", '"[1]"'])
def test_any_value_is_a_document(call: Call, text: str) -> None:
    """RFC 8259 lets a document be any value; what a string holds is not parsed again."""
    assert call("json_parse", text=text).data["value"] == json.loads(text)
    assert call("json_parse", text=text, query="$").data["matches"][0]["value"] == json.loads(text)


def test_a_file_is_read(call: Call) -> None:
    """A path of the workspace will do instead of a text."""
    result = call("json_parse", path="a.json")

    assert result.data == {"path": "a.json", "value": {"b": [1, 2], "a": None}, "matches": None, "truncated": False}


def test_the_names_of_the_source_are_known(call: Call) -> None:
    """Sample set 001 calls it `tool_json_parse`, with the JSON on stdin or a file."""
    assert call("json_parse", stdin="[1]").data["value"] == [1]
    assert call("json_parse", file="a.json", jsonpath="$.b[0]").data["matches"][0]["value"] == 1


def test_aliases_of_the_tool_lead_to_it(box) -> None:
    """Under the name of the source it is the same tool."""
    assert box("json_parse", {}).call("tool_json_parse", {"json": "[2]"}).data["value"] == [2]


@pytest.mark.parametrize("args", [{}, {"text": "1", "path": "a.json"}], ids=["neither", "both"])
def test_there_is_one_input(call: Call, args: dict[str, str]) -> None:
    """Which of two was meant nobody knows."""
    result = call("json_parse", **args)

    assert_error(result, "invalid_arguments")
    assert result.message == "Give either `text` or `path`."


def test_paths_are_guarded(call: Call) -> None:
    """Links and protected names are as closed as to any tool of files."""
    assert_denied(call("json_parse", path="out.json"), "path_outside_workspace")
    assert_denied(call("json_parse", path=".env"), "protected_path")
    assert_error(call("json_parse", path="sub"), "is_directory")


def test_read_roots_open_more(call: Call, workspace: Path) -> None:
    """A folder that the policy names may be read as well."""
    outside = workspace.parent / "outside.json"

    assert call("json_parse", {"read_roots": [str(outside.parent)]}, path=str(outside)).data["value"] == []


@pytest.mark.parametrize(
    "policy", [{"read_roots": ["docs"]}, {"protected": ["/"]}, {"protected": ["../x"]}, {"max_depth": 201}]
)
def test_policies_that_make_no_sense_are_refused(box, policy: dict[str, object]) -> None:
    """A profile that says what cannot be is a fault of the profile."""
    with pytest.raises(Exception, match=r"json_parse\."):
        box("json_parse", policy)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        pytest.param("", "1:1", "invalid_json", id="empty"),
        pytest.param('{"a": 1,\n "b": NaN}', "2:7", "invalid_json", id="NaN"),
        pytest.param("[1,\n-Infinity]", "2:2", "invalid_json", id="infinity"),
        pytest.param("[1e400]", "1:2", "number_out_of_range", id="overflow"),
        pytest.param("{'a': 1}", "1:2", "invalid_json", id="single quotes"),
        pytest.param("[True]", "1:2", "invalid_json", id="True of Python"),
        pytest.param("[1] // one", "1:5", "invalid_json", id="comment"),
        pytest.param("[1,]", "1:3", "invalid_json", id="trailing comma"),
        pytest.param("[01]", "1:2", "invalid_json", id="leading zero"),
        pytest.param('["é😀", x]', "1:8", "invalid_json", id="characters, not bytes"),
        pytest.param('"\\ud800"', "1:2", "invalid_json", id="lone surrogate"),
        pytest.param('"a\tb"', "1:3", "invalid_json", id="control character"),
        pytest.param('{"a":1}\n{"a":2}', "2:1", "invalid_json", id="two documents"),
        pytest.param('{"a": 1,\n "b": 2, "a": 3}', "2:10", "duplicate_key", id="duplicate"),
        pytest.param('[{"a": {"a": 1}}, {"b": 1, "\\u0062" : 2}]', "1:28", "duplicate_key", id="escaped duplicate"),
        pytest.param("[18446744073709551616]", "1:2", "number_out_of_range", id="beyond 64 bits"),
        pytest.param("[\n -9223372036854775809]", "2:2", "number_out_of_range", id="below 64 bits"),
        pytest.param("9" * 5000, "1:1", "number_out_of_range", id="thousands of digits"),
    ],
)
def test_what_is_no_strict_json_is_told_with_its_place(call: Call, text: str, place: str, reason: str) -> None:
    """Line and column, counted from 1 in characters, and nothing of the document itself."""
    result = call("json_parse", text=text)

    assert_error(result, reason)
    assert result.message is not None
    assert result.message.startswith(f"Line and column {place}: ")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[NaN]", "JSON has no NaN and no Infinity; write null."),
        ("['a']", "JSON quotes with double quotes."),
        ("[None]", "JSON writes true, false and null."),
        ("[#]", "JSON has no comments."),
        ("[1]\n[2]", "If each line is a document, say so with `lines`."),
        ("[x]", None),
    ],
)
def test_frequent_mistakes_get_a_hint(call: Call, text: str, hint: str | None) -> None:
    """What is another language's, or another format's, is told how to write."""
    assert call("json_parse", text=text).hint == hint


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[18446744073709551615, -9223372036854775808, 12e5, -1.5E-3, 0]", id="numbers"),
        pytest.param('[{"a": 1}, {"a": "a"}, ["a", "a"]]', id="names"),
        pytest.param(r'["{\"", "[", "NaN", "99999999999999999999999"]', id="strings"),
    ],
)
def test_what_only_looks_wrong_is_taken(call: Call, text: str) -> None:
    """The last numbers of 64 bits, names in different objects, brackets in strings."""
    assert call("json_parse", text=text).data["value"] == json.loads(text)


def test_bytes_that_are_no_utf8_are_told_with_their_place(call: Call, workspace: Path) -> None:
    """JSON is UTF-8; a mark before it says nothing."""
    (workspace / "latin.json").write_bytes(b'[\n"\xe9"]')
    (workspace / "marked.json").write_bytes(b"\xef\xbb\xbf[1]")

    result = call("json_parse", path="latin.json")

    assert_error(result, "invalid_json")
    assert result.message == "Line and column 2:2: the bytes are not UTF-8."
    assert call("json_parse", path="marked.json").data["value"] == [1]


def test_half_a_surrogate_pair_is_no_text(call: Call) -> None:
    """A host may hand over what no encoding can carry."""
    assert_error(call("json_parse", text='["\ud800"]'), "invalid_arguments")


@pytest.mark.parametrize(
    ("depth", "reason"),
    [(5, None), (6, "json_too_deep"), (2000, "json_too_deep")],
    ids=["limit", "past it", "orjson's"],
)
def test_depth_is_limited(call: Call, depth: int, reason: str | None) -> None:
    """What nests deeper than the policy says is refused where it does."""
    result = call("json_parse", {"max_depth": 5}, text="\n" + "[" * depth + "]" * depth)

    assert result.reason == reason
    if depth == 6:
        assert result.message == "Line and column 2:6: there are more than 5 levels."


@pytest.mark.parametrize(("size", "reason"), [(20, None), (21, "too_large")], ids=["limit", "past it"])
def test_size_is_limited(call: Call, workspace: Path, size: int, reason: str | None) -> None:
    """Of texts and of files, in bytes."""
    text = "[1]".ljust(size)
    (workspace / "file.json").write_text(text)

    assert call("json_parse", {"max_bytes": 20}, text=text).reason == reason
    assert call("json_parse", {"max_bytes": 20}, path="file.json").reason == reason


def test_lines_are_documents(call: Call) -> None:
    """JSON Lines are an array of what the lines hold; empty ones hold nothing."""
    result = call("json_parse", text='{"a": 1}\r\n\n[2]\n', lines=True)

    assert result.data["value"] == [{"a": 1}, [2]]
    assert call("json_parse", text='{"a": 1}\n{"a": 2}', lines=True, query="$[*].a").text.count('"value"') == 2


def test_a_bad_line_is_told_by_its_number(call: Call) -> None:
    """The place is that in the text, not in the document."""
    result = call("json_parse", text='{"a": 1}\n\n[1,}', lines=True)

    assert_error(result, "invalid_json")
    assert result.message is not None
    assert result.message.startswith("Line and column 3:")


def test_a_query_selects_nodes(call: Call) -> None:
    """Each with its normalised path, in the order of the document."""
    result = call("json_parse", text=json.dumps(BOOKS), query="$..book[?@.price < 10 && @.isbn].title")

    assert result.data == {
        "path": None,
        "value": None,
        "matches": [
            {"path": "$['store']['book'][0]['title']", "name": "title", "value": "Sayings"},
            {"path": "$['store']['book'][2]['title']", "name": "title", "value": "Moby Dick"},
        ],
        "truncated": False,
    }
    assert json.loads(result.text) == result.data["matches"]


@pytest.mark.parametrize(
    ("policy", "asked"), [({"max_results": 2}, None), ({}, 2), ({"max_results": 2}, 5)], ids=["policy", "call", "both"]
)
def test_nodes_are_limited(call: Call, policy: dict[str, int], asked: int | None) -> None:
    """The smaller of the policy's and the call's number wins, and the notice says where it went on."""
    result = call("json_parse", policy, text="[1, 2, 3]", query="$[*]", max_results=asked)

    assert [match["value"] for match in result.data["matches"]] == [1, 2]
    assert result.data["truncated"]
    assert result.text.endswith("\n[truncated: the first 2 nodes; the next is $[2]; narrow the query]")
    assert not call("json_parse", policy, text="[1, 2]", query="$[*]", max_results=asked).data["truncated"]


def test_what_is_returned_is_limited_in_bytes(call: Call) -> None:
    """A document is printed in part, by whole lines; nodes are returned as long as they fit."""
    text = json.dumps(["a" * 40, "b" * 40])

    whole = call("json_parse", {"max_result_bytes": 60}, text=text)
    nodes = call("json_parse", {"max_result_bytes": 120}, text=text, query="$[*]")

    printed = len(json.dumps(json.loads(text), indent=2))
    notice = f"[truncated: the document has {printed} bytes; pick parts of it with query]"
    assert whole.text == f'[\n  "{"a" * 40}",\n{notice}'
    assert whole.data == {"path": None, "value": None, "matches": None, "truncated": True}
    assert [match["path"] for match in nodes.data["matches"]] == ["$[0]"]
    assert nodes.data["truncated"]


def test_secrets_are_masked_by_their_names(call: Call) -> None:
    """A node keeps the name that tells of its value, so that the gate sees what it would see in the document."""
    text = json.dumps({"db": {"password": "hunter2", "user": "me"}, "tokens": [{"api_key": ["k1", "k2"]}]})

    for query in (None, "$.db.password", "$..api_key[*]", "$..*"):
        result = call("json_parse", text=text, query=query)
        assert "hunter2" not in f"{result.text}{result.data}"
    assert call("json_parse", text=text, query="$.db.user").data["matches"][0]["value"] == "me"


def test_a_dry_run_reads_nothing(box) -> None:
    """Whether the call may read is decided; what is wrong with the text is not found out."""
    toolbox = box("json_parse", {})

    assert toolbox.decide("json_parse", {"path": "a.json"}).outcome == "allow"
    assert toolbox.decide("json_parse", {"path": "out.json"}).reason == "path_outside_workspace"
