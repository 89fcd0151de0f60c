"""`text_search`: what it finds, what it shows, and where it stops."""

from pathlib import Path

import pytest
from tests.plugins.text.conftest import Call

from toolcharter.testing import assert_denied, assert_error
from toolcharter_text.lines import MAX_LINE_CHARS
from toolcharter_text.patterns import MAX_PATTERN_CHARS

POEM = "one\ntwo\nthree\nfour\nfive\nsix\n"


def test_lines_that_match_are_found(call: Call) -> None:
    """With number, column and text; the line ends are left out."""
    result = call("text_search", text="one\r\ntwo\r\nthree", pattern="[ow]o?$|h")

    assert result.text == "2:two\n3:three"
    assert result.data == {
        "path": None,
        "matches": [
            {"line": 2, "column": 2, "text": "two", "before": [], "after": []},
            {"line": 3, "column": 2, "text": "three", "before": [], "after": []},
        ],
        "truncated": False,
    }


def test_a_file_is_searched(call: Call) -> None:
    """A path of the workspace will do instead of a text."""
    result = call("text_search", pattern="^t", path="poem.txt")

    assert result.data["path"] == "poem.txt"
    assert [match["line"] for match in result.data["matches"]] == [2, 3]


def test_the_names_of_the_source_are_known(box) -> None:
    """Sample set 001 calls it `tool_text_search`, with the text on stdin."""
    toolbox = box("text_search", {})

    assert toolbox.call("tool_text_search", {"regex": "w", "stdin": POEM}).text == "2:two"
    assert toolbox.call("text_search", {"query": "w", "file": "poem.txt"}).text == "2:two"


@pytest.mark.parametrize(
    ("args", "found"),
    [
        pytest.param({"pattern": "A.C"}, [], id="as it is"),
        pytest.param({"pattern": "A.C", "ignore_case": True}, [1, 2], id="without case"),
        pytest.param({"pattern": "a.c", "literal": True}, [1], id="literally"),
        pytest.param({"pattern": "A.C", "literal": True, "ignore_case": True}, [1], id="both"),
        pytest.param({"pattern": "("}, None, id="no regular expression"),
        pytest.param({"pattern": "(", "literal": True}, [3], id="a literal bracket"),
    ],
)
def test_the_pattern_is_read_as_asked(call: Call, args: dict[str, object], found: list[int] | None) -> None:
    """As a regular expression or literally, with or without case."""
    result = call("text_search", text="a.c\nabc\n(\n", **args)

    assert (result.data and [match["line"] for match in result.data["matches"]]) == found


def test_context_is_shown_as_grep_does(call: Call) -> None:
    """Rows of context have a dash, blocks apart have a line between them, and what overlaps is shown once."""
    result = call("text_search", text="a\nX\nb\nX\nc\nd\ne\nX\nf", pattern="X", context=1)

    assert result.text == "1-a\n2:X\n3-b\n4:X\n5-c\n--\n7-e\n8:X\n9-f"
    assert result.data["matches"][2] == {"line": 8, "column": 1, "text": "X", "before": ["e"], "after": ["f"]}


def test_context_is_limited_by_the_policy(call: Call) -> None:
    """A call that asks for more gets as much as it may."""
    result = call("text_search", {"max_context": 1}, text=POEM, pattern="three", context=5)

    assert result.text == "2-two\n3:three\n4-four"


@pytest.mark.parametrize(
    ("policy", "asked"), [({"max_results": 2}, None), ({}, 2), ({"max_results": 2}, 5)], ids=["policy", "call", "both"]
)
def test_results_are_limited(call: Call, policy: dict[str, int], asked: int | None) -> None:
    """The smaller of the policy's and the call's number wins."""
    result = call("text_search", policy, text=POEM, pattern="o|i", max_results=asked)

    assert result.text == "1:one\n2:two\n[truncated: the first 2 matching lines; narrow the search]"
    assert result.data["truncated"]


def test_nothing_found_is_an_answer(call: Call) -> None:
    """An empty result is no error; neither is an empty text."""
    assert call("text_search", text=POEM, pattern="seven").text == "No line matches."
    assert call("text_search", text="", pattern="$").text == "No line matches."


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        pytest.param("", "it is empty, or spans lines", id="empty"),
        pytest.param("a\nb", "it is empty, or spans lines", id="lines"),
        pytest.param("(a", "missing ): (a", id="bracket"),
        pytest.param(r"(a)\1", r"invalid escape sequence: \1", id="backreference"),
        pytest.param("a" * (MAX_PATTERN_CHARS + 1), f"it is longer than {MAX_PATTERN_CHARS} characters", id="length"),
        pytest.param(r"(\pL{900}){9}", r"invalid repetition size: {9}", id="repetition"),
    ],
)
def test_what_is_no_pattern_is_told(call: Call, pattern: str, says: str) -> None:
    """With what RE2 says of it."""
    result = call("text_search", text="a", pattern=pattern)

    assert_error(result, "invalid_pattern")
    assert result.message == f"The pattern cannot be used: {says}."
    assert result.hint == "RE2 has no backreferences and no lookaround; for plain text say `literal`."


def test_a_literal_that_cannot_be_used_gets_no_hint(call: Call) -> None:
    """It is plain text already."""
    assert call("text_search", text="a", pattern="", literal=True).hint is None


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*){1,30}[bc]"])
def test_patterns_that_hang_elsewhere_do_not(call: Call, pattern: str) -> None:
    """RE2's time grows with the text, not with its powers."""
    assert call("text_search", text="a" * 50_000 + "!", pattern=pattern).text == "No line matches."


def test_a_pattern_too_slow_for_a_line_is_refused(call: Call) -> None:
    """What no clock could stop is not begun; in short lines the same pattern is matched."""
    pattern = "(a|b)*a(a|b){900}c"

    result = call("text_search", text="\n" + "ab" * 200_000, pattern=pattern)

    assert_error(result, "too_costly")
    assert result.message == "The pattern is too large for line 2, which has 400000 characters."
    assert call("text_search", text="\n".join(["ab" * 5] * 100), pattern=pattern).text == "No line matches."


def test_time_is_limited(call: Call) -> None:
    """Between two lines the clock is looked at."""
    assert_error(call("text_search", {"max_time_s": 1e-9}, text=POEM, pattern="o"), "timed_out")


def test_paths_are_guarded(call: Call) -> None:
    """Links and protected names are as closed as to any tool of files."""
    assert_denied(call("text_search", pattern="t", path="out.json"), "path_outside_workspace")
    assert_denied(call("text_search", pattern="t", path=".env"), "protected_path")


@pytest.mark.parametrize("args", [{}, {"text": "1", "path": "poem.txt"}], ids=["neither", "both"])
def test_there_is_one_input(call: Call, args: dict[str, str]) -> None:
    """Which of two was meant nobody knows."""
    assert_error(call("text_search", pattern="t", **args), "invalid_arguments")


def test_size_is_limited(call: Call) -> None:
    """Of texts and of files, in bytes."""
    assert call("text_search", {"max_bytes": 14}, path="poem.txt", pattern="t").outcome == "ok"
    assert_error(call("text_search", {"max_bytes": 13}, path="poem.txt", pattern="t"), "too_large")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("né".encode(), "né"),
        (b"\xef\xbb\xbfn", "n"),
        ("né".encode("utf-16"), "né"),
        ("né".encode("utf-32"), "né"),
        (b"n\xe9", "né"),
        (b"n\0", None),
        (b"\xff\xfen", None),
    ],
    ids=["UTF-8", "marked UTF-8", "UTF-16", "UTF-32", "Latin-1", "binary", "broken UTF-16"],
)
def test_encodings_are_found_out(call: Call, workspace: Path, raw: bytes, text: str | None) -> None:
    """A mark decides, else UTF-8, else Latin-1; what holds a NUL is no text."""
    (workspace / "file").write_bytes(raw)

    result = call("text_search", path="file", pattern="n")

    assert result.reason == (None if text else "binary_file")
    assert result.outcome == "error" or result.text == f"1:{text}"


def test_long_lines_are_cut_at_their_end(call: Call) -> None:
    """Where no token is cut in two; what stands in the middle is told by its column alone."""
    line = "word " * 200

    result = call("text_search", text=f"{line}end\n{'x' * 600}", pattern="end|x")

    assert result.data["matches"][0]["column"] == len(line) + 1
    assert result.data["matches"][0]["text"] == line[:MAX_LINE_CHARS] + "[...]"
    assert result.data["matches"][1]["text"] == "x" * MAX_LINE_CHARS + "[...]"
    cut = call("text_search", text="a" * 10 + " " + "b" * 600, pattern="a")
    assert cut.data["matches"][0]["text"] == "a" * 10 + " [...]"


def test_secrets_are_masked(call: Call) -> None:
    """The gate sees whole lines."""
    result = call("text_search", text="password = hunter2xyz", pattern="hunter")

    assert "hunter2xyz" not in f"{result.text}{result.data}"
    assert result.redactions


def test_a_dry_run_reads_nothing(box) -> None:
    """Whether the call may read is decided before."""
    toolbox = box("text_search", {})

    assert toolbox.decide("text_search", {"pattern": "t", "path": "poem.txt"}).outcome == "allow"
    assert toolbox.decide("text_search", {"pattern": "t", "path": ".env"}).reason == "protected_path"
