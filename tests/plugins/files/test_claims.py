"""What a lease keeps of a glob says the same as the glob."""

from importlib import import_module
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter_files.claims import build_claim
from toolcharter_files.globs import Glob, compile_matcher, escape_glob, parse_whole_glob
from toolcharter_files.overlap import common_path

re2: Any = import_module("re2")  # it has no type hints
NAMES = ["a", "b", "ab", "aa", "a*", "{a,b}"]
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
PIECES = st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "{a,b}", "{a,a/b}", "ab", "\\*"])
COMPONENTS = st.one_of(st.just("**"), st.lists(PIECES, min_size=1, max_size=2).map("".join))
GLOBS = (
    st.lists(COMPONENTS, min_size=1, max_size=4).map("/".join).filter(lambda text: text.count("{") <= 6)
)  # 64 alternatives


@settings(max_examples=500, deadline=None)
@given(glob=GLOBS, path=PATHS)
def test_expressions_agree_with_the_glob(glob: str, path: str) -> None:
    """A path is meant if the glob matches it, a folder if something below it could be."""
    whole, made = parse_whole_glob(glob), build_claim(glob)

    said = [re2.fullmatch(expression, path) is not None for expression in (made.paths, made.folders)]

    below = Glob(".", f"{escape_glob(path)}/**", anchored=True)
    assert said == [compile_matcher([whole])(path), common_path(whole, below) is not None]


@each_row(
    ("glob", "folder", "meant"),
    [
        ("a/b/c", "a", True),
        ("a/b/c", "a/b", True),
        ("a/b/c", "a/b/c", False),
        ("a/b/c", "b", False),
        ("a/**", "a/x/y", True),
        ("a/**/c", "a/x/y", True),
        ("a/*/c", "a/x/y", False),
        ("*.py", "any/folder", True),
        ("name", "name", False),
        ("name", "", False),
    ],
)
def test_folders_of_a_glob(glob: str, folder: str, meant: bool) -> None:  # noqa: FBT001 - a table's column
    """Those below which a path of the glob could lie, and no others."""
    assert (re2.fullmatch(build_claim(glob).folders, folder) is not None) is meant


def test_long_glob_stays_small() -> None:
    """As many folders as a glob may have do not make an expression that grows with their square."""
    assert len(build_claim("/".join("a" * 128)).folders) < 2000
