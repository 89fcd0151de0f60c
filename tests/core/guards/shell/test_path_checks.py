"""Where a path leads, by its letters."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell import path_checks

WS = "/home/dev/ws"
OUTSIDE = "lies outside the workspace"


@each_row(
    ("path", "folders"),
    [
        pytest.param("", (".",), id="nothing"),
        pytest.param("a", (".",), id="a name"),
        pytest.param("./a//b/./c", (".",), id="dots and slashes"),
        pytest.param("a/../b", (".",), id="up again within"),
        pytest.param("..a/b..", (".",), id="names with dots"),
        pytest.param("..", ("a",), id="up from a folder below"),
        pytest.param("../c", ("a/b", "a"), id="up from both"),
        pytest.param(WS, (".",), id="the workspace"),
        pytest.param(f"{WS}/a/../b", (".",), id="absolute"),
        pytest.param("//home/./dev//ws/a", (".",), id="absolute with more slashes"),
        pytest.param(f"{WS}/a", (), id="absolute from anywhere"),
        pytest.param("a", (f"{WS}/b",), id="from an absolute folder"),
        pytest.param("/dev/null", (".",), id="the null device"),
        pytest.param("/dev/stdin", (), id="the input"),
    ],
)
def test_path_in_the_workspace_has_no_objection(path: str, folders: tuple[str, ...]) -> None:
    """What stays beneath by components, from wherever it may be seen."""
    assert path_checks.path_violation(path, folders, WS) is None


@each_row(
    ("path", "folders", "why"),
    [
        pytest.param("..", (".",), OUTSIDE, id="the parent"),
        pytest.param("a/../../ws/b", (".",), OUTSIDE, id="out and in again"),
        pytest.param("..", ("a", "."), OUTSIDE, id="out from one of the folders"),
        pytest.param("a", ("../x",), OUTSIDE, id="from a folder outside"),
        pytest.param("a", ("/etc",), OUTSIDE, id="from an absolute folder outside"),
        pytest.param("/etc/passwd", (".",), OUTSIDE, id="absolute"),
        pytest.param("/", (".",), OUTSIDE, id="the root"),
        pytest.param(f"{WS}-evil/a", (".",), OUTSIDE, id="a sibling with the same beginning"),
        pytest.param(f"{WS}/../ws/a", (".",), OUTSIDE, id="absolute, out and in"),
        pytest.param("/home/../home/dev/ws", (".",), OUTSIDE, id="absolute, up before"),
        pytest.param("/home/dev", (".",), OUTSIDE, id="the parent, absolute"),
        pytest.param("/dev/null/", (".",), OUTSIDE, id="not the null device"),
        pytest.param("/dev/tcp/h/1", (".",), OUTSIDE, id="a connection"),
        pytest.param("/proc/self/environ", (".",), OUTSIDE, id="proc"),
        pytest.param("~/x", (".",), "may be somebody's home", id="home"),
        pytest.param("~root", (".",), "may be somebody's home", id="root's home"),
        pytest.param("a", (), "is relative to a folder that cannot be determined", id="from nobody knows where"),
    ],
)
def test_path_that_leaves_the_workspace_says_why(path: str, folders: tuple[str, ...], why: str) -> None:
    """By its letters, whatever links do."""
    assert path_checks.path_violation(path, folders, WS) == why


@each_row(
    ("pattern", "why"),
    [
        pytest.param("*.md", None, id="names"),
        pytest.param("src/*/a?.[ch]", None, id="names in folders"),
        pytest.param("src/../*.md", None, id="up again before it"),
        pytest.param(f"{WS}/*", None, id="absolute"),
        pytest.param(".gi*", None, id="a hidden name"),
        pytest.param("a\\*b/*", None, id="an escaped star"),
        pytest.param("a\\/*", None, id="an escaped slash"),
        pytest.param("../*", OUTSIDE, id="a prefix that leaves"),
        pytest.param("\\.\\./*", OUTSIDE, id="an escaped prefix that leaves"),
        pytest.param("..\\/*", OUTSIDE, id="a prefix with an escaped slash"),
        pytest.param("/etc/*", OUTSIDE, id="absolute, outside"),
        pytest.param("/*/passwd", OUTSIDE, id="a pattern above the workspace"),
        pytest.param("/dev/nul[l]", OUTSIDE, id="a pattern of devices"),
        pytest.param(".*", "may match the parent folder", id="hidden names and the parent"),
        pytest.param("a/..*/b", "may match the parent folder", id="names of two dots"),
        pytest.param("\\.?/x", "may match the parent folder", id="an escaped dot and any character"),
        pytest.param("*/../x", "leads up again from what it matches", id="up from a match"),
        pytest.param("*/\\.\\./x", "leads up again from what it matches", id="up from a match, escaped"),
        pytest.param("~/*", "may be somebody's home", id="home"),
    ],
)
def test_pattern_is_held_to_all_that_it_may_match(pattern: str, why: str | None) -> None:
    """A glob counts as every path that it may become."""
    assert path_checks.path_violation(pattern, (".",), WS, is_pattern=True) == why


@each_row(
    ("path", "folders", "moved"),
    [
        pytest.param("a/../b/", (".",), ("b",), id="below"),
        pytest.param("..", ("a",), (".",), id="up"),
        pytest.param("c", ("a", "b", "a"), ("a/c", "b/c"), id="from several"),
        pytest.param(f"{WS}/a/b/..", (), ("a",), id="absolute"),
        pytest.param(WS, ("a",), (".",), id="the workspace"),
        pytest.param("..", (".",), (), id="outside"),
        pytest.param("/dev/null", (".",), (), id="no folder"),
    ],
)
def test_moving_gives_the_folders_that_it_may_lead_to(path: str, folders: tuple[str, ...], moved: tuple) -> None:
    """None for what may be outside."""
    assert path_checks.resolve_path(path, folders, WS) == moved


@each_row(
    ("path", "is_pattern", "is_protected"),
    [
        pytest.param("a/b", False, False, id="a name"),
        pytest.param(".gitignore", False, False, id="a longer name"),
        pytest.param(".git/config", False, True, id="of git"),
        pytest.param("a/.GIT/config", False, True, id="of git, in capitals"),
        pytest.param(".toolcharter", False, True, id="ours"),
        pytest.param("*", True, False, id="names, none of them hidden"),
        pytest.param("a/.g*", True, True, id="hidden names"),
        pytest.param("\\.git/*", True, True, id="of git, escaped"),
        pytest.param(".*", True, True, id="whatever is hidden"),
        pytest.param("src/**", True, True, id="whatever find finds"),
    ],
)
def test_protected_is_what_bears_the_name(path, is_pattern, is_protected) -> None:
    """Anywhere in the path."""
    assert path_checks.is_protected(path, is_pattern=is_pattern) is is_protected


def test_escaped_path_matches_itself_alone() -> None:
    """Every character that a glob would read otherwise is escaped."""
    assert path_checks.escape_glob("a*b?[c]\\d") == "a\\*b\\?\\[c]\\\\d"
    assert not path_checks.is_outside("a", WS)
    assert path_checks.is_outside("../a", WS)
    assert path_checks.is_workspace_root("a/..", (".",), WS)
    assert not path_checks.is_workspace_root("a", (".",), WS)
