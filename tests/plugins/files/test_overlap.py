"""Whether two globs can match one path: against all paths that are short, and by the paths that are found."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter_files.globs import InvalidGlob, compile_matcher, escape_glob, parse_whole_glob
from toolcharter_files.overlap import common_path

NAMES = ["".join(letters) for size in (1, 2, 3) for letters in product("ab", repeat=size)]
PATHS = [*NAMES, *(f"{one}/{two}" for one in NAMES for two in NAMES[:6]), "a/b/a", "a/a/a", "b/a/b", "a/a/a/a"]
PIECES = st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "[a-b]", "{a,b}", "{a,*b}", "ab"])
COMPONENTS = st.one_of(st.just("**"), st.lists(PIECES, min_size=1, max_size=3).map("".join))
GLOBS = st.lists(COMPONENTS, min_size=1, max_size=3).map("/".join).filter(lambda text: text.count("{") < 6)


@settings(max_examples=400, deadline=None)
@given(one=GLOBS, other=GLOBS)
def test_globs_meet_where_some_path_matches_both(one: str, other: str) -> None:
    """No short path that both match is missed, and what is found is matched by both."""
    first, second = parse_whole_glob(one), parse_whole_glob(other)
    matches = [compile_matcher([first]), compile_matcher([second])]

    found = common_path(first, second)

    assert found is None or all(match(found) for match in matches)
    if found is None:
        assert [path for path in PATHS if all(match(path) for match in matches)] == []


@each_row(
    ("one", "other", "meet"),
    [
        ("src/**", "src/a.py", True),
        ("src/**", "src", False),
        ("src", "src", True),
        ("src", "lib/src", False),
        ("sr?", "lib/src", True),
        ("src/*", "src/a/b", False),
        ("**/*.py", "src/**", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "*.md", False),
        ("a*", "*b", True),
        ("a*c", "*b*", True),
        ("src/*.py", "src/test_*", True),
        ("src/{a,b}.py", "src/[b-c].py", True),
        ("src/{a,b}.py", "src/c.py", False),
        ("[!a]x", "ax", False),
        ("?", "ab", False),
        ("[^a]", "b", True),
        ("./src/a", "src/a", True),
        (r"\*", "a", False),
        (r"\*", "[*]", True),
        ("[", "[", True),
        ("**", "é/\n", True),
        ("**/a/**", "b/a/c/d", True),
        ("a/**/b", "a/b", True),
        ("a/**", "**/b", True),
        ("a/", "a/b", True),
        ("[a-", "[a-", True),
        ("x[ab-]", "x-", True),
    ],
)
def test_globs_meet(one: str, other: str, *, meet: bool) -> None:
    """Either way round, and as the globs of searches are read."""
    pair = parse_whole_glob(one), parse_whole_glob(other)

    assert [common_path(*pair) is not None, common_path(*pair[::-1]) is not None] == [meet, meet]


@each_row("path", ["a b", "*", "**", "[x]", "{a,b}", "a\\b", "é\n", "-"])
def test_path_meets_itself(path: str) -> None:
    """A path, escaped, is a glob for itself."""
    glob = parse_whole_glob(escape_glob(path))

    assert common_path(glob, glob) == path


@each_row("text", ["", "/a", "../a", "a/../b", "**/..", "[z-a]", "{a,b}" * 7, "a\0"])
def test_globs_that_are_refused(text: str) -> None:
    """A glob that leads elsewhere, or nowhere, is told."""
    with pytest.raises(InvalidGlob):
        parse_whole_glob(text)
