"""`read_file`: ranges, limits, encodings, and what it refuses."""

from pathlib import Path

import pytest


def test_whole_file_comes_with_its_facts(call) -> None:
    """The text is the content; the data say what was read."""
    result = call("read_file", path="sub/../a.txt")

    assert (result.outcome, result.text) == ("ok", "one\ntwo\nthree\n")
    assert result.data == {
        "path": "a.txt",
        "content": "one\ntwo\nthree\n",
        "encoding": "utf-8",
        "start_line": 1,
        "end_line": 3,
        "total_lines": 3,
        "size": 14,
        "truncated": False,
    }


@pytest.mark.parametrize(
    ("line_range", "content", "end", "total"),
    [
        pytest.param([1, 1], "one", 1, None, id="first"),
        pytest.param([2, 3], "two\nthree", 3, None, id="to the last"),
        pytest.param([3, 99], "three", 3, 3, id="beyond the last"),
    ],
)
def test_line_range_counts_from_one_and_includes_both_ends(call, line_range, content, end, total) -> None:
    """Lines are counted from 1, both ends are included, and the last line's newline is not."""
    result = call("read_file", path="a.txt", line_range=line_range)

    assert result.text == content
    assert [result.data[key] for key in ("content", "start_line", "end_line", "total_lines", "truncated")] == [
        content,
        line_range[0],
        end,
        total,
        False,
    ]


@pytest.mark.parametrize(
    ("line_range", "message"),
    [
        ([0, 1], "line_range is [0, 1]; write [first, last], counted from 1."),
        ([3, 2], "line_range is [3, 2]; write [first, last], counted from 1."),
        ([1], "line_range is [1]; write [first, last], counted from 1."),
        ([4, 5], "'a.txt' has 3 lines; there is no line 4."),
    ],
)
def test_range_that_is_none_is_an_error(call, line_range, message) -> None:
    """A range that names no line is malformed, not empty."""
    result = call("read_file", path="a.txt", line_range=line_range)

    assert (result.outcome, result.reason) == ("error", "invalid_line_range")
    assert result.message.removeprefix("ERROR: ") == message


def test_empty_file_is_empty(call, workspace: Path) -> None:
    """An empty file reads as no line."""
    (workspace / "empty").write_text("")

    data = call("read_file", path="empty").data

    assert (data["content"], data["start_line"], data["end_line"], data["total_lines"]) == ("", 1, 0, 0)


@pytest.mark.parametrize(
    ("limit", "asked", "content"),
    [
        pytest.param(14, None, "one\ntwo\nthree\n", id="at the limit"),
        pytest.param(13, None, "one\ntwo\n", id="one past it"),
        pytest.param(13, 4, "one\n", id="smaller argument wins"),
        pytest.param(4, 13, "one\n", id="smaller policy wins"),
        pytest.param(2, None, "on", id="less than a line"),
    ],
)
def test_smaller_limit_cuts_at_a_line(call, limit, asked, content) -> None:
    """The content ends with a whole line where one fits; the text says that there is more."""
    arguments = {} if asked is None else {"max_bytes": asked}

    result = call("read_file", {"max_bytes": limit}, path="a.txt", **arguments)

    cut = content != "one\ntwo\nthree\n"
    assert (result.data["content"], result.data["truncated"]) == (content, cut)
    assert ("[truncated" in result.text) is cut


def test_notice_says_where_to_go_on(call) -> None:
    """Reading on needs the next line's number."""
    result = call("read_file", path="a.txt", max_bytes=5, line_range=[1, 3])

    assert result.text == "one\n[truncated after line 1 up to 3; the file has 14 bytes; use line_range to read on]"


def test_long_line_is_cut_between_tokens(call, workspace: Path) -> None:
    """Half a secret would no longer be recognised as one."""
    (workspace / "min.js").write_text("let a = 'abcdefghijklmnop';")

    result = call("read_file", path="min.js", max_bytes=15)

    assert result.data["content"] == "let a = '"
    assert result.text == "let a = '\n[truncated: only the beginning of line 1; the file has 27 bytes]"


@pytest.mark.parametrize(
    ("raw", "content", "encoding"),
    [
        pytest.param("caf\xe9\n".encode(), "caf\xe9\n", "utf-8", id="UTF-8"),
        pytest.param(b"\xef\xbb\xbfa\n", "a\n", "utf-8-sig", id="UTF-8 with mark"),
        pytest.param("\u65e5\n".encode("utf-16"), "\u65e5\n", "utf-16", id="UTF-16"),
        pytest.param(b"\xfe\xff" + "\u65e5\n".encode("utf-16-be"), "\u65e5\n", "utf-16", id="UTF-16 big end first"),
        pytest.param("\u65e5\n".encode("utf-32"), "\u65e5\n", "utf-32", id="UTF-32"),
        pytest.param(b"caf\xe9\n", "caf\xe9\n", "latin-1", id="Latin-1"),
        pytest.param("x" * 65_535 + "\xe9", "x" * 65_535 + "\xe9", "utf-8", id="character over two chunks"),
        pytest.param(b"x" * 70_000 + b"\xe9", "x" * 70_000 + "\xe9", "latin-1", id="Latin-1 found out late"),
    ],
)
def test_encoding_is_found_out_and_said(call, workspace: Path, raw, content, encoding) -> None:
    """A mark decides, else UTF-8 if it decodes, else Latin-1; the data say which."""
    (workspace / "f").write_bytes(raw.encode() if isinstance(raw, str) else raw)

    data = call("read_file", {"max_bytes": 100_000}, path="f").data

    assert (data["content"], data["encoding"]) == (content, encoding)


def test_declared_encoding_is_taken(call, workspace: Path) -> None:
    """Who knows the encoding may say so."""
    (workspace / "f").write_bytes("\u0434\u0430".encode("koi8-r"))

    data = call("read_file", path="f", encoding="koi8-r").data

    assert (data["content"], data["encoding"]) == ("\u0434\u0430", "koi8-r")


@pytest.mark.parametrize(
    ("raw", "arguments", "message"),
    [
        pytest.param(b"a\0b", {}, "'f' is not text.", id="NUL"),
        pytest.param(b"x" * 70_000 + b"\0", {}, "'f' is not text.", id="NUL further on"),
        pytest.param(b"\x01\x02\xff", {}, "'f' is not text.", id="control characters"),
        pytest.param(b"\xff\xfea", {}, "'f' is not text.", id="half a UTF-16 character"),
        pytest.param(b"\xff", {"encoding": "utf-8"}, "'f' is not text in utf-8.", id="not as declared"),
        pytest.param(b"abcd", {"encoding": "utf-16"}, "'f' is not text in utf-16.", id="no mark of utf-16"),
        pytest.param(b"abcd", {"encoding": "utf-32"}, "'f' is not text in utf-32.", id="no mark of utf-32"),
    ],
)
def test_what_is_no_text_is_an_error(call, workspace: Path, raw, arguments, message) -> None:
    """Binary files are recognised, and never shown."""
    (workspace / "f").write_bytes(raw)

    result = call("read_file", {"max_bytes": 100_000}, path="f", **arguments)

    assert (result.outcome, result.reason, result.message, result.data) == ("error", "binary_file", message, None)


def test_missing_file_hints_at_files_of_its_name(call) -> None:
    """Another file than asked for is named, never read in its place."""
    result = call("read_file", path="wrong/b.py")

    assert (result.reason, result.hint) == ("path_not_found", "Did you mean 'sub/b.py'?")


@pytest.mark.parametrize("path", ["nowhere.py", ".git/nothing", "wrong/config", "x*", "{a,b}" * 7, "[b-a]"])
def test_missing_file_hints_at_nothing_protected(call, path: str) -> None:
    """A hint names nothing that is hidden, and where there is nothing it says nothing."""
    assert call("read_file", path=path).hint is None


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("out.txt", "denied", "path_outside_workspace"),
        ("out/secret.txt", "denied", "path_outside_workspace"),
        ("../outside/secret.txt", "denied", "path_outside_workspace"),
        (".git/config", "denied", "protected_path"),
        (".ENV.local", "denied", "protected_path"),
        ("sub", "error", "is_directory"),
        ("a.txt/b", "error", "not_directory"),
        ("", "error", "invalid_path"),
    ],
)
def test_guard_refuses_with_its_own_reasons(call, path: str, outcome: str, reason: str) -> None:
    """What the path guard says is the tool's result."""
    result = call("read_file", path=path)

    assert (result.outcome, result.reason) == (outcome, reason)
    assert "SECRET" not in result.text


def test_read_roots_widen_and_protected_replaces(call, workspace: Path, outside: Path) -> None:
    """A profile may open another folder for reading and choose what is protected."""
    policy = {"read_roots": [str(outside)], "protected": ["*.txt"]}

    found = [call("read_file", policy, path=path).reason for path in ("out/secret.txt", "a.txt", ".git/config")]

    assert found == ["protected_path", "protected_path", None]
    assert call("read_file", {"read_roots": [str(outside)]}, path="out.txt").data["path"] == f"{outside}/secret.txt"


@pytest.mark.parametrize("alias", ["file", "filepath", "file_path"])
@pytest.mark.parametrize("name", ["Read", "tool_file_read", "file_read"])
def test_names_of_other_systems_are_understood(box, name: str, alias: str) -> None:
    """Tool and argument names of the sources reach the same tool."""
    result = box("read_file", {}).call(name, {alias: "a.txt"})

    assert result.data["path"] == "a.txt"


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [("a.txt", "allow", None), ("out.txt", "deny", "path_outside_workspace"), ("none", "error", "path_not_found")],
)
def test_dry_run_tells_what_the_path_meets(box, path: str, outcome: str, reason: str | None) -> None:
    """The file is opened before the mark, so that a decision knows its path."""
    decision = box("read_file", {}).decide("read_file", {"path": path})

    assert (decision.outcome, decision.reason) == (outcome, reason)
