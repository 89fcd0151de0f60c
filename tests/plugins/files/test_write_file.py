"""`write_file`: whole contents and additions, scopes, protected names, what the user sees."""

from pathlib import Path
from typing import Any

import pytest

from toolcharter import build_tools


def test_new_file_is_written(call, workspace: Path) -> None:
    """A missing file is made with its folders, and the result says so."""
    result = call("write_file", path="x/y/new.txt", content="é\n")

    assert (result.outcome, result.text) == ("ok", "Created file: x/y/new.txt (3 bytes)")
    assert result.data == {"path": "x/y/new.txt", "created": True, "written": 3}
    assert result.user_text == "--- /dev/null\n+++ b/x/y/new.txt\n@@ -0,0 +1 @@\n+é\n"
    assert (workspace / "x/y/new.txt").read_text() == "é\n"


def test_file_is_replaced(call, workspace: Path) -> None:
    """What was there is gone, and the user sees what changed."""
    result = call("write_file", path="a.txt", content="one\n2\nthree\n")

    assert (result.text, result.data["created"]) == ("Wrote file: a.txt (12 bytes)", False)
    assert result.user_text == "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    assert (workspace / "a.txt").read_text() == "one\n2\nthree\n"


def test_text_is_appended(call, workspace: Path) -> None:
    """What was there stays."""
    result = call("write_file", path="a.txt", content="four\n", append=True)

    assert result.text == "Appended to file: a.txt (5 bytes)"
    assert result.user_text == "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n two\n three\n+four\n"
    assert (workspace / "a.txt").read_text() == "one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize(
    ("old", "diff"),
    [
        pytest.param(b"same", None, id="nothing changes"),
        pytest.param(b"\0binary", None, id="it was no text"),
        pytest.param(b"x" * 1_000_001, None, id="it was large"),
    ],
)
def test_what_is_not_for_a_diff(call, workspace: Path, old: bytes, diff: str | None) -> None:
    """The user sees a diff of text, if there is one."""
    (workspace / "f").write_bytes(old)

    result = call("write_file", path="f", content="same")

    assert (result.outcome, result.user_text, (workspace / "f").read_text()) == ("ok", diff, "same")


def test_long_diff_is_cut(call) -> None:
    """Whoever watches is not flooded."""
    result = call("write_file", path="long.txt", content="word\n" * 10_000)

    assert len(result.user_text) < 21_000
    assert result.user_text.endswith("[truncated: the rest of the diff]")


@pytest.mark.parametrize(("size", "outcome"), [(5, "ok"), (6, "error")])
def test_size_is_limited(call, workspace: Path, size: int, outcome: str) -> None:
    """At the limit a text is written, one byte past it none of it is."""
    result = call("write_file", {"max_bytes": 5}, path="new.txt", content="x" * size)

    assert (result.outcome, result.reason) == (outcome, None if outcome == "ok" else "content_too_large")
    assert (workspace / "new.txt").exists() is (outcome == "ok")


@pytest.mark.parametrize(("size", "reason"), [(7, None), (8, "file_too_large")])
def test_addition_copies_no_large_file(box, workspace: Path, size: int, reason: str | None) -> None:
    """Up to the limit a file grows; one that would pass it is neither copied nor changed, and a new one replaces it."""
    (workspace / "log").write_text("x" * size)
    toolbox = box("write_file", {"max_file_bytes": 10})

    decision = toolbox.decide("write_file", {"path": "log", "content": "new", "append": True})
    result = toolbox.call("write_file", {"path": "log", "content": "new", "append": True})

    assert (decision.reason, result.reason) == (reason, reason)
    assert (workspace / "log").read_text() == "x" * size + ("" if reason else "new")
    assert toolbox.call("write_file", {"path": "log", "content": "new and longer"}).outcome == "ok"


def test_file_full_of_holes_is_not_copied(call, workspace: Path) -> None:
    """What takes no room on the disk would take all of it as a copy."""
    with (workspace / "sparse").open("wb") as file:
        file.truncate(1 << 40)

    result = call("write_file", path="sparse", content="x", append=True)

    assert (result.outcome, result.reason, result.message) == (
        "error",
        "file_too_large",
        "'sparse' has 1099511627776 bytes; appending must not make a file larger than 50000000 bytes.",
    )


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("../x", "denied", "path_outside_workspace"),
        ("out/x", "denied", "path_outside_workspace"),
        ("out.txt", "denied", "path_outside_workspace"),
        (".git/hooks/x", "denied", "protected_path"),
        (".toolcharter/policy.yaml", "denied", "protected_path"),
        (".env", "denied", "protected_path"),
        ("sub/.ENV.x", "denied", "protected_path"),
        ("sub", "error", "is_directory"),
        ("new/", "error", "is_directory"),
        ("a.txt/x", "error", "not_directory"),
        ("", "error", "invalid_path"),
    ],
)
def test_guard_refuses_in_a_dry_run_as_in_earnest(box, path: str, outcome: str, reason: str) -> None:
    """What cannot be written is told before anybody would be asked."""
    toolbox = box("write_file", {})

    decision = toolbox.decide("write_file", {"path": path, "content": "x"})
    result = toolbox.call("write_file", {"path": path, "content": "x"})

    assert (decision.outcome, decision.reason) == ("deny" if outcome == "denied" else outcome, reason)
    assert (result.outcome, result.reason) == (outcome, reason)


def test_dry_run_changes_nothing(box, workspace: Path) -> None:
    """A decision that a write may run neither writes nor makes a folder."""
    decision = box("write_file", {}).decide("write_file", {"path": "x/new.txt", "content": "x"})

    assert (decision.outcome, decision.tool_checks, (workspace / "x").exists()) == ("allow", "passed", False)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("src/a.py", None),
        ("src/deep/a.py", None),
        ("docs/a.md", None),
        ("sub/link/a.py", None),
        ("src/a.txt", "outside_write_scope"),
        ("docs/deep/a.md", "outside_write_scope"),
        ("a.py", "outside_write_scope"),
        ("src/../a.py", "outside_write_scope"),
        ("src/to_docs.py", "outside_write_scope"),
    ],
)
def test_scope_is_about_where_a_path_leads(call, workspace: Path, path: str, reason: str | None) -> None:
    """A profile's globs decide by the resolved path, not by how a call writes it."""
    (workspace / "src").mkdir()
    (workspace / "sub/link").symlink_to("../src")
    (workspace / "src/to_docs.py").symlink_to("../docs.txt")

    result = call("write_file", {"writable": ["src/**/*.py", "docs/*.md"]}, path=path, content="x")

    assert (result.outcome, result.reason) == (("denied", reason) if reason else ("ok", None))


@pytest.mark.parametrize(
    ("entry", "path", "reason"),
    [
        pytest.param("src", "src/a/b.py", None, id="below"),
        pytest.param("src/a", "src/a/b.py", None, id="below a path"),
        pytest.param("src/", "src/b.py", None, id="with a slash"),
        pytest.param("new.md", "new.md", None, id="itself"),
        pytest.param("src", "src.py", "outside_write_scope", id="longer name"),
        pytest.param("src", "lib/src/b.py", "outside_write_scope", id="elsewhere"),
        pytest.param("src/a", "src/b.py", "outside_write_scope", id="beside"),
    ],
)
def test_a_plain_path_is_it_and_all_below(call, workspace: Path, entry: str, path: str, reason: str | None) -> None:
    """A scope that names a folder opens what lies in it, and nothing beside it."""
    (workspace / path).parent.mkdir(parents=True, exist_ok=True)

    assert call("write_file", {"writable": [entry]}, path=path, content="x").reason == reason


def test_empty_scope_opens_nothing(call) -> None:
    """`[]` is nothing."""
    result = call("write_file", {"writable": []}, path="new.txt", content="x")

    assert (result.reason, result.message) == (
        "outside_write_scope",
        "The profile does not allow changes to 'new.txt'.",
    )


def test_hard_link_is_refused(call, workspace: Path, outside: Path) -> None:
    """A name that others share may be the name of something outside."""
    (workspace / "hard.txt").hardlink_to(outside / "secret.txt")

    result = call("write_file", path="hard.txt", content="x")

    assert (result.outcome, result.reason, (outside / "secret.txt").read_text()) == (
        "denied",
        "hard_link",
        "SECRET two\n",
    )


@pytest.fixture
def own_files(workspace: Path, tmp_path: Path):
    """A toolbox whose profile, parent and event file lie in the workspace."""
    folder = workspace / "agents"
    folder.mkdir()
    (folder / "base.yaml").write_text("profile: base\ntools: {write_file: {}, move_file: {}, make_dir: {}}\n")
    (folder / "own.yaml").write_text("profile: own\nextends: [base]\n")
    with build_tools(folder / "own.yaml", workspace=workspace, events=f"file:{workspace}/logs.jsonl") as toolbox:
        yield toolbox


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "agents/own.yaml"}),
        ("write_file", {"path": "agents/base.yaml"}),
        ("write_file", {"path": "agents/BASE.yaml"}),
        ("write_file", {"path": "agents/own.yml"}),
        ("write_file", {"path": "profiles/base.yaml"}),
        ("write_file", {"path": ".toolcharter/policy.yaml"}),
        ("write_file", {"path": "logs.jsonl"}),
        ("write_file", {"path": "sub/.git/config"}),
        ("make_dir", {"path": ".toolcharter"}),
        ("make_dir", {"path": "sub/.git"}),
        ("move_file", {"path": "agents", "to": "other"}),
        ("move_file", {"path": "agents/own.yaml", "to": "x"}),
        ("move_file", {"path": "a.txt", "to": "agents/own.yaml"}),
        ("move_file", {"path": "sub", "to": "profiles"}),
    ],
)
def test_what_holds_the_agent_is_read_only(own_files, workspace: Path, tool: str, args: dict[str, Any]) -> None:
    """No tool changes its own policy, profile or log, nor puts one where it would be found first."""
    content = {"content": "x"} if tool == "write_file" else {}

    result = own_files.call(tool, {**args, **content})

    assert (result.outcome, result.reason) == ("denied", "protected_path")
    assert not (workspace / ".toolcharter").exists()


def test_neighbours_of_what_is_protected_are_free(own_files, workspace: Path) -> None:
    """Only the names that count are kept."""
    result = own_files.call("write_file", {"path": "agents/notes.yaml", "content": "x"})

    assert (result.outcome, (workspace / "agents/notes.yaml").read_text()) == ("ok", "x")


@pytest.mark.parametrize("name", ["Write", "file_write", "tool_file_write", "WRITE_FILE"])
@pytest.mark.parametrize("argument", ["file", "filepath", "file_path"])
def test_other_names_lead_to_the_tool(box, workspace: Path, name: str, argument: str) -> None:
    """What other systems call the tool and its path is understood."""
    result = box("write_file", {}).call(name, {argument: "new.txt", "text": "x"})

    assert (result.outcome, (workspace / "new.txt").read_text()) == ("ok", "x")


def test_read_before_write_works_with_it(workspace: Path, tmp_path: Path) -> None:
    """An existing file must have been read, a new one not, and what was written is known."""
    profile = tmp_path / "p.yaml"
    profile.write_text(
        "profile: p\ntools: {read_file: {}, write_file: {}, edit_file: {}}\nsession_guards: {read_before_write: {mode: strict}}\n"
    )
    calls: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": "a.txt", "content": "x"}),
        ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "1"}),
        ("write_file", {"path": "new.txt", "content": "x"}),
        ("edit_file", {"path": "new.txt", "old_string": "x", "new_string": "y"}),
        ("read_file", {"path": "a.txt"}),
        ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "1"}),
        ("write_file", {"path": "a.txt", "content": "x"}),
    ]
    with build_tools(profile, workspace=workspace, events=lambda _: None) as toolbox:
        reasons = [toolbox.call(tool, args).reason for tool, args in calls]

    assert reasons == ["precondition_failed", "precondition_failed", None, None, None, None, None]


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_programs_in_a_sandbox_see_the_same_tree(workspace: Path, tmp_path: Path) -> None:
    """What a file tool writes a program reads at the same path, and the other way round; both know one workspace."""
    profile = tmp_path / "p.yaml"
    profile.write_text("profile: p\nrunner: bwrap\nmode: dangerous\ntools: {read_file: {}, write_file: {}, bash: {}}\n")
    with build_tools(profile, workspace=workspace, events=lambda _: None) as toolbox:
        wrote = toolbox.call("write_file", {"path": f"{workspace}/new.txt", "content": "from a tool"})
        read = toolbox.call("bash", {"command": f"cat {workspace}/new.txt; echo from a program > back.txt"})
        back = toolbox.call("read_file", {"path": f"{workspace}/back.txt"})

    assert (wrote.outcome, read.text, back.text) == ("ok", "from a tool", "from a program\n")
