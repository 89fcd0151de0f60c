"""What an unquoted glob could become: all that bash makes of it, and no folder on the way that lies elsewhere."""

import errno
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.errors import Denied, ToolError
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths import glob_expand as patterns
from toolcharter.guards.paths.glob_expand import expand, has_glob, is_harmless_failure, new_name_budget

Expand = Callable[..., list[str]]


@pytest.fixture
def paths(workspace: Path) -> Iterator[WorkspacePaths]:
    held = WorkspacePaths(workspace, protected=[".git"])
    yield held
    held.close()


@pytest.fixture
def found(paths: WorkspacePaths) -> Expand:
    """What a glob becomes besides itself."""

    def found_by(pattern: str, folder: str = ".") -> list[str]:
        return sorted(set(expand(paths, folder, pattern)) - {pattern})

    return found_by


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", ["[x", "a", "ab", "b", "d", "é"]),
        ("a*", ["a", "ab"]),
        ("?", ["a", "b", "d", "é"]),
        ("[ab]", ["a", "b", "d", "é"]),
        ("[!a]", ["a", "b", "d", "é"]),
        ("[x", []),
        ("[x*", ["[x"]),
        (".*", [".a"]),
        ("\\.*", [".a"]),
        ("?a", []),
        ("*/*", ["d/[y]z", "d/c", "d/e"]),
        ("d/*", ["d/[y]z", "d/c", "d/e"]),
        ("d//c*", ["d/c", "d/c*"]),
        ("./d/[c]", ["./d/c", "./d/e"]),
        ("d/.*/f*", ["d/.h/f"]),
        ("*/c", ["[x/c", "a/c", "ab/c", "b/c", "d/c", "é/c"]),
        ("d/\\[y]*", ["d/[y]z"]),
        ("nothing/*", []),
        ("a/*", []),
    ],
)
def test_a_glob_becomes_the_names_that_match(workspace: Path, found: Expand, pattern: str, expected: list[str]) -> None:
    """A bracket is any character, a dot in front has to be written, and what follows no glob need not exist."""
    fill(workspace, "a", "b", "ab", ".a", "é", "[x", "d/c", "d/e", "d/.h/f", "d/[y]z")

    assert [one for one in found(pattern) if one != pattern.replace("\\", "")] == expected


def test_digits_are_digits(workspace: Path, found: Expand) -> None:
    """No ASCII character but a digit lies between 0 and 9; what others sort there is for the language to say."""
    fill(workspace, "1", "a", "٣", "12", "1x")

    assert found("[0-9]") == ["1", "٣"]
    assert found("[0-9]*") == ["1", "12", "1x", "٣"]


def test_a_glob_may_stay_what_it_is(paths: WorkspacePaths) -> None:
    """Where nothing matches, bash hands it on without its backslashes, and something may bear that name."""
    assert expand(paths, ".", "li[nmo]k") == ["li[nmo]k"]
    assert expand(paths, ".", "\\*x/[a]\\]") == ["*x/[a]]"]


@pytest.mark.parametrize(
    "bracket", ["[[:alpha:]]", "[]l]", "[!]a]", "[^]a]", "[\\]l]", "[l\\]]", "[[l]", "[[.l.]]", "[!a]", "[l-m]"]
)
def test_a_bracket_ends_where_bash_ends_it(workspace: Path, found: Expand, bracket: str) -> None:
    """A bracket within it, a quoted one, or one that comes first does not end it."""
    fill(workspace, "link")
    printed = in_bash(workspace, f"{bracket}ink")

    assert printed == ["link"]
    assert "link" in found(f"{bracket}ink")


def in_bash(folder: Path, pattern: str) -> list[str]:
    """The words that bash makes of *pattern*."""
    ran = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {pattern}"],
        cwd=folder,
        env={"LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=True,
    )
    return [os.fsdecode(name) for name in ran.stdout.split(b"\0")[:-1]]


def test_a_folder_and_the_top_may_be_where_it_is_seen_from(workspace: Path, found: Expand) -> None:
    """A relative glob is told as the program gets it, an absolute one with all its folders."""
    fill(workspace, "d/c", "d/e/f")

    assert found("*", "d") == ["c", "e"]
    assert found("../d/c*", "d") == ["../d/c"]
    assert found(f"{workspace}/d/?") == [f"{workspace}/d/c", f"{workspace}/d/e"]
    with pytest.raises(Denied, match="path_outside_workspace"):
        found("/*")


def test_names_that_are_no_text_match(workspace: Path, found: Expand) -> None:
    """Bash matches bytes where they are no characters."""
    os.close(os.open(os.fsencode(workspace) + b"/a\xff\n", os.O_CREAT))

    assert found("a*") == found("a??") == found("?[!x]?") == [os.fsdecode(b"a\xff\n")]


def test_only_links_are_found_at_any_depth(workspace: Path, outside: Path, found: Expand) -> None:
    """As `find` finds them, hidden ones too: it walks folders and no links."""
    fill(workspace, "d/.h/c", "c")
    (workspace / "d/.h/link").symlink_to("c")
    (workspace / "d/other").symlink_to(outside)
    (workspace / "link").symlink_to("d")

    assert found("./**/link") == ["./d/.h/link", "./link"]
    assert found("**/*") == found("**") == ["d/.h/link", "d/other", "link"]
    assert found("d/**/o*") == ["d/other"]
    assert found("c/**/x") == []


@pytest.mark.parametrize("pattern", ["out/*", "*/*", "*/../*", "out/**/x"])
def test_a_folder_that_lies_elsewhere_is_refused(workspace: Path, outside: Path, found: Expand, pattern: str) -> None:
    """Nothing is looked at outside, whatever the program would find there."""
    (workspace / "out").symlink_to(outside)

    with pytest.raises(Denied, match="path_outside_workspace"):
        found(pattern)


def test_a_protected_folder_is_refused(workspace: Path, found: Expand) -> None:
    """As it is to tools."""
    fill(workspace, ".git/config")

    with pytest.raises(Denied, match="protected_path"):
        found(".git/*")


def test_a_folder_without_a_name_for_us_is_no_empty_one(workspace: Path, outside: Path, found: Expand) -> None:
    """What cannot be looked at because its name is no Unicode is looked at by the program all the same."""
    (workspace / os.fsdecode(b"a\xff")).symlink_to(outside)

    with pytest.raises(ToolError) as caught:
        found("a*/*")
    assert caught.value.reason == "invalid_path"


@each_row(
    ("error", "expected"),
    [
        (ToolError("x", reason="path_not_found"), True),
        (ToolError("x", reason="not_directory"), True),
        (ToolError("x", reason="is_directory"), True),
        (ToolError("x", reason="not_regular"), True),
        (ToolError("x", reason="invalid_path"), False),
        (ToolError("x", reason="read_failure"), False),
        (OSError(errno.EACCES, "x"), True),
        (OSError(errno.EPERM, "x"), True),
        (OSError(errno.EMFILE, "x"), False),
    ],
)
def test_what_nobody_can_open_lies_where_it_seems(error: Exception, *, expected: bool) -> None:
    """Missing, of another sort or forbidden: for every program. Any other failure may be ours alone."""
    failure = error if isinstance(error, ToolError) else ToolError("x", reason="read_failure")
    failure.__cause__ = None if failure is error else error

    assert is_harmless_failure(failure) is expected


def test_one_call_looks_at_so_many_names(
    workspace: Path, paths: WorkspacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder counts as one more than it holds; several globs share a budget, and a glob alone has its own."""
    fill(workspace, "a", "b", "d/c")
    monkeypatch.setattr(patterns, "MAX_NAMES", 5)
    budget = new_name_budget()

    assert sorted(expand(paths, ".", "[a-z]", budget)) == ["[a-z]", "a", "b", "d"]
    with pytest.raises(Denied, match="not_understood") as caught:
        expand(paths, ".", "*", budget)
    assert sorted(expand(paths, ".", "*")) == ["*", "a", "b", "d"]
    with pytest.raises(Denied, match="not_understood"):
        expand(paths, ".", "**/x")
    assert caught.value.message == "The globs of the command have to be compared with more than 5 names."


@each_row(
    ("component", "expected"),
    [
        ("a", False),
        ("a*", True),
        ("?", True),
        ("[a", True),
        ("\\*", False),
        ("\\\\*", True),
        ("a\\", False),
        ("", False),
    ],
)
def test_special_is_what_no_backslash_stands_before(component: str, *, expected: bool) -> None:
    """Of `*`, `?` and `[`."""
    assert has_glob(component) is expected


CHARACTERS = st.sampled_from("ab.-[]!x\\é")
NAMES = st.lists(CHARACTERS, min_size=1, max_size=4).map("".join).filter(lambda name: name not in {".", ".."})
PIECES = st.sampled_from(
    [
        *("a", "b", "x", ".", "é", "-", "]", "/", "d/", "\\*", "\\[", "\\]", "\\.", "\\\\", "*", "?"),
        *("[ab]", "[!a]", "[^.]", "[]a]", "[!]a]", "[[:alpha:]]", "[a-é]", "[", "[\\]b]", "[b", "[[a]"),
    ]
)


@given(st.lists(NAMES, max_size=8), st.lists(PIECES, min_size=1, max_size=5).map("".join))
def test_nothing_that_bash_makes_of_a_glob_is_missing(names: list[str], pattern: str) -> None:
    """Every word that bash prints is among the paths, for any names and any glob; the reader makes one star of several.

    Globs that lead out of the workspace are refused.
    """
    assume(not pattern.startswith(("/", "..")) and "/.." not in pattern and "**" not in pattern and has_glob(pattern))
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        fill(top, "d/a", "d/.b", "d/[x]")
        fill(top, *names)
        paths = WorkspacePaths(top)
        expanded = {plain(path) for path in expand(paths, ".", pattern)}
        paths.close()

        assert {plain(path) for path in in_bash(top, pattern)} <= expanded


def plain(path: str) -> str:
    """*path* without the slashes that lead nowhere."""
    return "/".join(part for part in path.split("/") if part)
