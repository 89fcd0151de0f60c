"""`glob`: paths that match, and nothing that is ignored, protected or outside."""

from pathlib import Path

import pytest

from toolcharter_files import glob_files

ALL = [".gitignore", "a.txt", "sub/b.py", "sub/deep/c.py"]


@pytest.mark.parametrize(
    ("globs", "items"),
    [
        (None, ALL),
        ("*", ALL),
        ("**", ALL),
        ("*.py", ["sub/b.py", "sub/deep/c.py"]),
        (["*.txt", "sub/*.py"], ["a.txt", "sub/b.py"]),
        ("sub/*.py", ["sub/b.py"]),
        ("sub/**", ["sub/b.py", "sub/deep/c.py"]),
        ("sub/", ["sub/b.py", "sub/deep/c.py"]),
        ("sub/b.py", ["sub/b.py"]),
        ("s*/**/*.py", ["sub/b.py", "sub/deep/c.py"]),
        ("*.{py,txt}", ["a.txt", "sub/b.py", "sub/deep/c.py"]),
        ("[!a]*.py", ["sub/b.py", "sub/deep/c.py"]),
        ("nothing.*", []),
        ("x.log", []),
        (["sub/*.py", "sub/b.*"], ["sub/b.py"]),
    ],
)
def test_globs_find_what_is_not_ignored(call, globs, items) -> None:
    """One glob or several, sorted and once each; without a slash they match names at any depth."""
    result = call("glob", **({} if globs is None else {"globs": globs}))

    assert result.data == {"items": items, "truncated": False}
    assert result.text == ("\n".join(items) or "No file matches.")


def test_path_and_absolute_globs_are_relative_to_the_workspace(call, workspace: Path) -> None:
    """Results are paths that `read_file` takes, wherever the search began."""
    below = call("glob", globs="deep/*.py", path="sub")
    absolute = call("glob", globs=f"{workspace}/sub/deep/*.py")

    assert below.data["items"] == absolute.data["items"] == ["sub/deep/c.py"]


def test_ignored_folder_can_be_asked_for_by_name(call) -> None:
    """Ignore files spare noise; they are no protection."""
    assert call("glob", path="build").data["items"] == ["build/out.py"]


@pytest.mark.parametrize(
    ("globs", "outcome", "reason"),
    [
        ("out/*", "denied", "path_outside_workspace"),
        ("../outside/*", "denied", "path_outside_workspace"),
        ("/etc/*", "denied", "path_outside_workspace"),
        (".git/*", "denied", "protected_path"),
        ("none/*.py", "error", "path_not_found"),
        ("a.txt/*", "error", "not_directory"),
        ("**/../x", "error", "invalid_glob"),
        ("", "error", "invalid_glob"),
        ("x" * 1001, "error", "invalid_glob"),
        (["*.py"] * 33, "error", "invalid_glob"),
        ("[b-a]", "error", "invalid_glob"),
        ("{a,b}" * 7, "error", "invalid_glob"),
    ],
)
def test_refused_globs_have_reasons(call, globs, outcome: str, reason: str) -> None:
    """Where a glob begins is judged as a path; what cannot be a glob is malformed."""
    result = call("glob", globs=globs)

    assert (result.outcome, result.reason) == (outcome, reason)


@pytest.mark.parametrize(("limit", "asked", "count"), [(4, None, 4), (3, None, 3), (4, 1, 1), (1, 4, 1)])
def test_smaller_limit_wins(call, limit: int, asked: int | None, count: int) -> None:
    """At most as many paths as policy and call both allow, and a notice if there are more."""
    result = call("glob", {"max_results": limit}, **({} if asked is None else {"max_results": asked}))

    assert result.data == {"items": ALL[:count], "truncated": count < 4}
    notice = f"\n[truncated: the first {count} paths; narrow the globs]"
    assert result.text == "\n".join(ALL[:count]) + (notice if count < 4 else "")


def test_names_that_ripgrep_saw_elsewhere_are_not_shown(call, workspace: Path, outside: Path, monkeypatch) -> None:
    """Ripgrep opens by path, so a swapped folder could show it names outside; none of them is passed on."""
    (workspace / "sub2").symlink_to(outside)
    monkeypatch.setattr(glob_files, "list_names", lambda *_: (["a.txt", "sub2/secret.txt", "gone.txt", "sub"], False))

    assert call("glob").data["items"] == ["a.txt"]


@pytest.mark.parametrize("arguments", [{"pattern": "*.txt"}, {"glob": "*.txt"}, {"globs": ["*.txt"]}])
def test_names_of_other_systems_are_understood(box, arguments) -> None:
    """Argument names of the sources reach the same argument; one glob is as good as a list."""
    assert box("glob", {}).call("Glob", arguments).data["items"] == ["a.txt"]


@pytest.mark.parametrize("name", [".ignore", ".gitignore", ".rgignore"])
def test_ignore_files_above_the_workspace_hide_nothing(call, workspace: Path, name: str) -> None:
    """Another user of this host may have written them, for instance in `/tmp`."""
    (workspace.parent / name).write_text("*\n")

    assert call("glob", globs="a.txt").data == {"items": ["a.txt"], "truncated": False}


def test_ignore_files_of_the_workspace_count_in_its_folders(call, workspace: Path) -> None:
    """A search that begins further down knows what the top ignores."""
    (workspace / "sub/noise.log").write_text("x")

    assert call("glob", path="sub").data["items"] == ["sub/b.py", "sub/deep/c.py"]
