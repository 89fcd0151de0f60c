"""Paths as rules see them."""

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.policy.rule_input import plain_path, with_plain_paths


@each_row(
    ("path", "plain"),
    [
        ("src/a.py", "src/a.py"),
        ("src/../setup.py", "setup.py"),
        ("./src/./a.py", "src/a.py"),
        ("src//a.py", "src/a.py"),
        ("src/", "src"),
        (".", "."),
        ("./", "."),
        ("src/..", "."),
        ("..", ".."),
        ("../x", "../x"),
        ("a/../../x", "../x"),
        ("/srv/ws/src/a.py", "src/a.py"),
        ("/srv/ws/src/../a.py", "a.py"),
        ("//srv/ws/a.py", "a.py"),
        ("///srv/ws/a.py", "a.py"),
        ("/srv/ws", "."),
        ("/srv/ws/", "."),
        ("/srv/ws/../wsx/a", "/srv/wsx/a"),
        ("/srv/wsx/a", "/srv/wsx/a"),
        ("/X/a", "/X/a"),
        ("/etc/../etc/passwd", "/etc/passwd"),
        ("../ws/src/a", "src/a"),
        ("../ws", "."),
        ("a/../../ws/b", "b"),
        ("../../srv/ws/b", "b"),
        ("", ""),
        ("https://a/b/../c", "https://a/b/../c"),
        ("...", "..."),
        ("a/..b/c", "a/..b/c"),
    ],
)
def test_each_path_has_one_form(path: str, plain: str) -> None:
    """Relative to the workspace where it lies there, without what changes nothing."""
    assert plain_path(path, "/srv/ws") == plain


@given(st.lists(st.sampled_from(["..", ".", "", "a", "b", "..."]), min_size=1, max_size=8).map("/".join))
def test_the_form_leads_where_the_path_leads(path: str) -> None:
    """Where no link is on the way, path and form are the same file; and a form is its own form."""
    plain = plain_path(path, "/nowhere/ws")

    assert os.path.realpath(Path("/nowhere/ws", plain)) == os.path.realpath(Path("/nowhere/ws", path))
    assert plain_path(plain, "/nowhere/ws") == plain


def test_only_named_arguments_are_paths() -> None:
    """Text that looks like a path is left alone; lists are looked through; nothing is copied without need."""
    args = {"path": "a/../b", "to": ["a/../b", 5], "query": "a/../b"}
    plain = {"path": "b", "query": "c/../d"}

    assert with_plain_paths(args, ("path", "to", "absent"), "/ws") == {"path": "b", "to": ["b", 5], "query": "a/../b"}
    assert with_plain_paths(plain, ("path",), "/ws") is plain
