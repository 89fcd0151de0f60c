"""Globs: where they begin and what they match, whatever they look like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter_files.globs import (
    MAX_TOTAL_CHARS,
    Glob,
    InvalidGlob,
    compile_matcher,
    escape_glob,
    expand_braces,
    parse_glob,
)


@each_row(
    ("text", "glob"),
    [
        ("*.py", Glob(".", "*.py", anchored=False)),
        ("./*.py", Glob(".", "*.py", anchored=False)),
        ("src/*.py", Glob("src", "*.py", anchored=True)),
        ("src//./a.py", Glob("src", "a.py", anchored=True)),
        ("src/", Glob("src", "**", anchored=True)),
        ("/srv/x/**", Glob("/srv/x", "**", anchored=True)),
        ("/", Glob("/", "**", anchored=True)),
        ("../a/*", Glob("../a", "*", anchored=True)),
        ("a\\*b/c", Glob(".", "a\\*b/c", anchored=True)),
    ],
)
def test_glob_is_split_where_it_stops_being_a_path(text: str, glob: Glob) -> None:
    """The plain beginning is a folder for the guard to judge, the rest only matches."""
    assert parse_glob(text) == glob


@each_row("text", ["", "a\0", "x" * 1001, "..", "*/..", "*/../x"])
def test_what_cannot_be_a_glob_is_refused(text: str) -> None:
    """Malformed globs raise, naming why."""
    with pytest.raises(InvalidGlob):
        parse_glob(text)


@each_row(
    ("text", "matching", "other"),
    [
        ("a?c", ["abc", "x/abc"], ["ac", "a/c"]),
        ("a*c", ["ac", "abbc"], ["a/c", "acd"]),
        ("a**c", ["abc"], ["a/c"]),
        ("x/[a-c]", ["a", "c"], ["d", "A"]),
        ("x/[!a-c]", ["d"], ["a", "/"]),
        ("x/[^a]", ["b"], ["a"]),
        ("x/[]]", ["]"], ["["]),
        ("x/[!]]", ["["], ["]"]),
        ("x/[a", ["[a"], ["a"]),
        ("x/[", ["["], [""]),
        ("x/[&&~^[]", ["&", "~", "^", "["], ["\\"]),
        ("x/\\*", ["*"], ["a", "\\*"]),
        ("x/\\", ["\\"], [""]),
        ("x/{a,b}{1,2}*", ["a1", "b2x"], ["ab", "c1"]),
        ("x/{a,{b,c}}*", ["a", "b", "c"], ["{"]),
        ("x/\\{a\\,b\\}", ["{a,b}"], ["a"]),
        ("x/{a*", ["{ab"], ["a"]),
        ("x/*}", ["a}"], ["a"]),
        ("x*/**/y", ["x/y", "x1/a/b/y"], ["xy", "x/ay"]),
        ("x*/**", ["x/y", "x/y/z"], ["x"]),
        ("x/\n*", ["\na"], ["a"]),
        ("x/(a|b)+.*", ["(a|b)+.c"], ["a.c"]),
        ("\u00e9*", ["\u00e9t\u00e9"], ["e"]),
    ],
)
def test_globs_match(text: str, matching: list[str], other: list[str]) -> None:
    """Each sign means what it says, and every other character itself."""
    matches = compile_matcher([parse_glob(text)])

    assert [name for name in (*matching, *other) if matches(name)] == matching


@pytest.mark.parametrize(("text", "count"), [("{a,b}" * 6, 64), ("{a,b}" * 7, None)])
def test_braces_stand_for_at_most_64(text: str, count: int | None) -> None:
    """Alternatives are limited before they are made."""
    if count is None:
        with pytest.raises(InvalidGlob, match=r"^the braces have more than 64 alternatives$"):
            expand_braces(text)
    else:
        assert len(expand_braces(text)) == count


@given(st.text(st.sampled_from("a*?[]!-{},\\/.^$"), max_size=30), st.text(st.sampled_from("ab/.-]"), max_size=60))
def test_any_text_is_a_glob_or_refused(text: str, name: str) -> None:
    """No glob raises anything but `InvalidGlob`, and stars without end take linear time."""
    try:
        matches = compile_matcher([parse_glob(text)])
    except InvalidGlob:
        return

    assert matches(name) in {True, False}
    assert not compile_matcher([parse_glob("*a" * 400 + "b")])("a" * 4000)


@given(st.text(st.sampled_from("ab*?[]!-{},\\.^$\n"), min_size=1, max_size=20))
def test_escaped_name_matches_itself_alone(name: str) -> None:
    """A name becomes a glob for that name and no other."""
    matches = compile_matcher([Glob(".", escape_glob(name), anchored=True)])

    assert (matches(name), matches(name + "a"), matches("." + name)) == (True, False, False)


@pytest.mark.parametrize(
    "globs",
    [
        pytest.param(["?" * 1000] * 5, id="many"),
        pytest.param(["{a,b}{a,b}{a,b}" + "?" * 900], id="multiplied by braces"),
        pytest.param(["?" * 1000] * 4 + ["a"], id="one past the limit"),
    ],
)
def test_globs_that_are_too_long_together_are_refused(globs: list[str]) -> None:
    """RE2 would fall back to a search of a millisecond for each name, past every limit of time."""
    with pytest.raises(InvalidGlob, match=r"^the globs have more than 4000 characters together"):
        compile_matcher([parse_glob(glob) for glob in globs])


def test_globs_at_the_limit_match_and_say_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """RE2's own complaints would stand among the events on standard error."""
    globs = [parse_glob("*[a-z]*" * 142 + "abcdef")] * (MAX_TOTAL_CHARS // 1000)

    matched = [compile_matcher(globs)(name) for name in ("a" * 200 + "abcdef", "b" * 200)]

    assert (matched, capfd.readouterr().err) == ([True, False], "")
