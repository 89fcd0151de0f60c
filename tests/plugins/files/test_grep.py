"""`grep`: lines that match, read through the guard."""

from importlib.metadata import PackageNotFoundError, PackagePath
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from toolcharter_files import grep, ripgrep
from toolcharter_files.ripgrep import RawMatch


def places(result) -> list[tuple[str, int]]:
    return [(match["path"], match["line"]) for match in result.data["matches"]]


def test_matches_come_by_path_and_line(call) -> None:
    """Nothing ignored, protected or outside is found."""
    result = call("grep", query="two")

    assert result.text == "a.txt:2:two\nsub/b.py:2:x = 'two'\nsub/deep/c.py:1:two"
    assert result.data == {
        "matches": [
            {"path": "a.txt", "line": 2, "text": "two", "before": [], "after": []},
            {"path": "sub/b.py", "line": 2, "text": "x = 'two'", "before": [], "after": []},
            {"path": "sub/deep/c.py", "line": 1, "text": "two", "before": [], "after": []},
        ],
        "truncated": False,
    }


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"query": "^t"}, [("a.txt", 2), ("a.txt", 3), ("sub/deep/c.py", 1)]),
        ({"query": "^T", "ignore_case": True}, [("a.txt", 2), ("a.txt", 3), ("sub/deep/c.py", 1)]),
        ({"query": "^t", "literal": True}, []),
        ({"query": "x = 'two'", "literal": True}, [("sub/b.py", 2)]),
        ({"query": "two", "globs": "*.py"}, [("sub/b.py", 2), ("sub/deep/c.py", 1)]),
        ({"query": "two", "globs": ["sub/*.py", "*.txt"]}, [("a.txt", 2), ("sub/b.py", 2)]),
        ({"query": "two", "globs": "*.[tp]*"}, [("a.txt", 2), ("sub/b.py", 2), ("sub/deep/c.py", 1)]),
        ({"query": "two", "path": "sub/deep"}, [("sub/deep/c.py", 1)]),
        ({"query": "two", "path": "build"}, [("build/out.py", 1)]),
        ({"query": "t.o$", "path": "a.txt"}, [("a.txt", 2)]),
        ({"query": "-e"}, []),
        ({"query": "--files"}, []),
    ],
)
def test_queries_and_scopes(call, arguments, found) -> None:
    """A query is a regular expression or plain text, never an option; a scope is a folder, globs or a file."""
    assert places(call("grep", **arguments)) == found


def test_context_is_shown_once_and_in_order(call, workspace: Path) -> None:
    """Blocks that touch are one, others are set apart."""
    (workspace / "a.txt").write_text("1\nhit\n3\nhit\n5\n6\n7\n8\nhit")

    result = call("grep", query="hit", context=1)

    assert result.text.splitlines() == [
        "a.txt-1-1",
        "a.txt:2:hit",
        "a.txt-3-3",
        "a.txt:4:hit",
        "a.txt-5-5",
        "--",
        "a.txt-8-8",
        "a.txt:9:hit",
    ]
    assert [(match["before"], match["after"]) for match in result.data["matches"]] == [
        (["1"], ["3"]),
        (["3"], ["5"]),
        (["8"], []),
    ]


def test_policy_limits_context(call) -> None:
    """The profile's number of context lines is the most there is."""
    result = call("grep", {"max_context": 1}, query="three", context=9)

    assert result.data["matches"][0]["before"] == ["two"]


def test_context_ends_with_the_file(call) -> None:
    """A newline at the end of a file is no line."""
    assert call("grep", query="three", context=2).data["matches"][0]["after"] == []


@pytest.mark.parametrize(("limit", "asked", "count"), [(3, None, 3), (2, None, 2), (3, 1, 1), (1, 3, 1)])
def test_smaller_limit_wins(call, limit: int, asked: int | None, count: int) -> None:
    """At most as many matches as policy and call both allow, and a notice if there are more."""
    result = call("grep", {"max_results": limit}, query="two", **({} if asked is None else {"max_results": asked}))

    assert (len(result.data["matches"]), result.data["truncated"]) == (count, count < 3)
    notice = f"[truncated: the first {count} matching lines; narrow the search]"
    assert (notice in result.text) is (count < 3)


@pytest.mark.parametrize(
    ("arguments", "outcome", "reason"),
    [
        ({"query": "("}, "error", "invalid_query"),
        ({"query": ""}, "error", "invalid_query"),
        ({"query": "a\nb"}, "error", "invalid_query"),
        ({"query": "a\0b"}, "error", "invalid_query"),
        ({"query": "x" * 10_001}, "error", "invalid_query"),
        ({"query": "x", "globs": ""}, "error", "invalid_glob"),
        ({"query": "x", "path": "none"}, "error", "path_not_found"),
        ({"query": "x", "globs": "a.txt/*"}, "error", "not_directory"),
        ({"query": "x", "path": "out"}, "denied", "path_outside_workspace"),
        ({"query": "x", "path": "out.txt"}, "denied", "path_outside_workspace"),
        ({"query": "x", "globs": "out/*"}, "denied", "path_outside_workspace"),
        ({"query": "x", "path": ".git"}, "denied", "protected_path"),
        ({"query": "x", "path": ".env.local"}, "denied", "protected_path"),
    ],
)
def test_refusals_have_reasons(call, arguments, outcome: str, reason: str) -> None:
    """Malformed is an error, forbidden a denial."""
    result = call("grep", **arguments)

    assert (result.outcome, result.reason) == (outcome, reason)


def test_large_files_are_left_out_or_refused(call) -> None:
    """A file above the limit is skipped in a folder and refused by name."""
    policy = {"max_file_bytes": 13}

    assert places(call("grep", policy, query="two")) == [("sub/deep/c.py", 1)]
    refused = call("grep", policy, query="two", path="a.txt")
    assert (refused.reason, refused.message.removeprefix("ERROR: ")) == (
        "file_too_large",
        "'a.txt' has 14 bytes, too many to search.",
    )


def test_encodings_are_read_as_read_file_reads_them(call, workspace: Path) -> None:
    """UTF-16 and Latin-1 files are searched, and binary files are not."""
    (workspace / "u16").write_text("zwei two\r\n", encoding="utf-16")
    (workspace / "l1").write_bytes(b"\xe9 two\n\xc3\xa9 two\n")
    (workspace / "bin").write_bytes(b"two\n" + b"x" * 70_000 + b"\n\0")

    found = {(match["path"], match["text"]) for match in call("grep", query="two", globs="[ulb][16i]*").data["matches"]}

    assert found == {("u16", "zwei two"), ("l1", "\xe9 two"), ("l1", "\xc3\xa9 two")}


def test_long_lines_are_cut_between_tokens(call, workspace: Path) -> None:
    """A line is shown as far as it can be without cutting a token in two."""
    (workspace / "a.txt").write_text("two " + "x" * 600)

    assert call("grep", query="two", path="a.txt").data["matches"][0]["text"] == "two [...]"


def test_lines_that_ripgrep_saw_elsewhere_are_not_shown(call, workspace: Path, outside: Path, monkeypatch) -> None:
    """Ripgrep opens by path, so a swapped folder could show it lines outside; none of them is passed on."""
    (workspace / "swapped").symlink_to(outside)
    found = [
        RawMatch("a.txt", 1, b"SECRET two"),
        RawMatch("a.txt", 2, b"two"),
        RawMatch("a.txt", 99, b"SECRET two"),
        RawMatch("gone.txt", 1, b"SECRET two"),
        RawMatch("swapped/secret.txt", 1, b"SECRET two"),
    ]
    monkeypatch.setattr(grep, "search_folder", lambda *_: (found, True))

    result = call("grep", query="two")

    assert (places(result), result.data["truncated"]) == ([("a.txt", 2)], True)


@pytest.mark.parametrize("files", [None, [], [PackagePath("ripgrep/README.md")]])
def test_missing_program_is_an_error(call, monkeypatch, files) -> None:
    """Without its wheel nothing is searched, and no other `rg` is looked for."""

    def answer(_: str):
        if files is None:
            raise PackageNotFoundError
        return SimpleNamespace(files=files)

    monkeypatch.setattr(ripgrep, "distribution", answer)
    ripgrep.ripgrep_path.cache_clear()
    try:
        result = call("grep", query="two")
        hint = call("read_file", path="none").hint
    finally:
        ripgrep.ripgrep_path.cache_clear()

    assert result.reason == "program_not_found"
    assert result.message.removeprefix("ERROR: ") == "The distribution 'ripgrep' is not installed."
    assert hint is None


def test_names_of_other_systems_are_understood(box) -> None:
    """Tool and argument names of the sources reach the same tool."""
    toolbox = box("grep", {})

    found = [places(toolbox.call(name, {"pattern": "two", "file": "a.txt"})) for name in ("Grep", "search")]

    assert found == [[("a.txt", 2)]] * 2


def test_repository_cannot_steer_ripgrep(call, workspace: Path, monkeypatch) -> None:
    """No configuration, no environment of ours, no link makes ripgrep do or show more."""
    rc = workspace / "rc"
    rc.write_text("--follow\n--no-ignore\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(rc))
    (workspace / ".ignore").write_text("a.txt\n")

    assert places(call("grep", query="two")) == [("sub/b.py", 2), ("sub/deep/c.py", 1)]


@pytest.mark.parametrize(
    ("timed_out", "exit_code", "stderr", "reason"),
    [(True, -9, b"", "timed_out"), (False, 2, b"rg: bad", "invalid_query"), (False, -11, b"", "tool_error")],
)
def test_failures_of_the_program_have_reasons(timed_out, exit_code, stderr, reason) -> None:
    """A program that ends otherwise than searched is an error; a file it could not read is not."""
    from toolcharter import Completed, ToolError, ToolRuntime  # noqa: PLC0415 - only here

    class Runtime:
        def inspect(self, argv, **_):
            return Completed(tuple(argv), exit_code, b"", stderr, truncated=False, timed_out=timed_out, elapsed_s=0)

    with pytest.raises(ToolError) as caught:
        ripgrep.search_bytes(cast("ToolRuntime", Runtime()), b"", [])

    assert caught.value.reason == reason


def test_output_from_protected_folders_crowds_nothing_out(call, workspace: Path, monkeypatch) -> None:
    """A protected folder is skipped, so that its lines do not use up what ripgrep may say."""
    (workspace / "Lib x/[big]").mkdir(parents=True)
    (workspace / "Lib x/[big]/a.txt").write_text("two\n" * 2000)
    monkeypatch.setattr(ripgrep, "MAX_OUTPUT_BYTES", 20_000)

    result = call("grep", {"protected": ["./Lib x/[big]"], "max_results": 5000}, query="two")

    assert (places(result), result.data["truncated"]) == (
        [(".git/config", 1), ("a.txt", 2), ("sub/b.py", 2), ("sub/deep/c.py", 1)],
        False,
    )
