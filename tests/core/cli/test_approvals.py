"""`toolcharter approvals`: what was approved for good, and taking it back."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolcharter.gate.approvals.saved import Binding, SavedApproval, read_approvals, save_approval

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
EVER = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(desk, tmp_path, monkeypatch) -> Path:
    """Three approvals: two of one profile, of which one has expired, and one of another."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "state/toolcharter/approvals"
    bound = Binding("bash", "1", "/a", "d", "bwrap", agent="planner")
    save_approval(folder, SavedApproval(bound, 'command="pytest -q"', "demo", "ann", START, EVER), desk)
    elsewhere = bound._replace(workspace="/b", agent=None)
    save_approval(folder, SavedApproval(elsewhere, "command=wc", "demo", None, START, START + timedelta(1)), desk)
    echo = Binding("echo", "2", "/a", "d", "host")
    save_approval(folder, SavedApproval(echo, "word=ö", "other", "bob", START, EVER), desk)
    return folder


def ids(folder: Path) -> list[str]:
    return [kept.id for kept in read_approvals(folder)]


def test_kept_approvals_are_listed(run, folder) -> None:
    """Where each holds, who gave it, when, and until when."""
    one, two, three = ids(folder)

    result = run("approvals", "list")

    moments = "2026-01-31T12:00:00Z  "
    table = [
        "id            profile  tool  shows                agent    workspace  by   at                    until",
        f'{one}  demo     bash  command="pytest -q"  planner  /a         ann  {moments}2999-01-01T00:00:00Z',
        f"{two}  demo     bash  command=wc                    /b              {moments}2026-02-01T12:00:00Z (expired)",
        f"{three}  other    echo  word=ö                        /a         bob  {moments}2999-01-01T00:00:00Z",
    ]
    assert (result.stdout.splitlines(), result.exit_code) == (table, 0)


def test_what_cannot_be_seen_is_written_out(run, desk, folder) -> None:
    """No name and no folder of an approval passes for another, and none drives the terminal."""
    unseen = "a\u200b\u2028\u202e\u00ad\x1b[2J\u3164b"
    bound = Binding(unseen, "1", unseen, "d", "host", agent=unseen)
    save_approval(folder, SavedApproval(bound, unseen, "unseen", unseen, START, EVER), desk)

    row = run("approvals", "list", "-p", "unseen").stdout.splitlines()[1]

    shown = r"a\u200b\u2028\u202e\xad\x1b[2J\u3164b"
    assert (row.count(shown), row.isprintable()) == (5, True)


def test_kept_approvals_as_json(run, folder) -> None:
    """With the place of each in its file."""
    result = run("approvals", "list", "--json", "--profile", "other")

    assert json.loads(result.stdout) == [
        {
            "id": ids(folder)[2],
            "shows": "word=ö",
            "profile": "other",
            "by": "bob",
            "at": "2026-01-31T12:00:00Z",
            "until": "2999-01-01T00:00:00Z",
            "place": f"{folder}/other.yaml:2:3",
            "tool": "echo",
            "args": "2",
            "workspace": "/a",
            "profile_digest": "d",
            "runner": "host",
            "agent": None,
            "user": None,
            "code": None,
            "tenant": None,
            "expired": False,
        }
    ]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        pytest.param(["-p", "demo"], [0, 1], id="a profile's name"),
        pytest.param(["-p", "./demo.yaml"], [0, 1], id="a profile's path"),
        pytest.param(["--workspace", "/a"], [0, 2], id="a folder"),
        pytest.param(["-p", "demo", "--workspace", "/a", "--events", "stderr:"], [0], id="both"),
        pytest.param(["-p", "unknown"], [], id="nothing"),
    ],
)
def test_lists_are_narrowed(run, folder, options, shown) -> None:
    """By profile and by folder."""
    result = run("approvals", "list", "--json", *options)

    assert [row["id"] for row in json.loads(result.stdout)] == [ids(folder)[index] for index in shown]


@pytest.mark.parametrize(
    ("chosen", "options", "left", "told"),
    [
        pytest.param([0, 2], [], [1], "Forgot 2 approvals.\n", id="by id"),
        pytest.param([], ["--all"], [], "Forgot 3 approvals.\n", id="all"),
        pytest.param([], ["--all", "-p", "demo"], [2], "Forgot 2 approvals.\n", id="all of a profile"),
        pytest.param([], ["--all", "-p", "unknown"], [0, 1, 2], "Forgot nothing.\n", id="nothing"),
    ],
)
def test_approvals_are_forgotten(run, folder, chosen, options, left, told) -> None:
    """Those that are named, or all that would be listed."""
    before = ids(folder)

    result = run("approvals", "forget", *(before[index] for index in chosen), *options)

    assert (result.stdout, result.exit_code) == (told, 0)
    assert ids(folder) == [before[index] for index in left]


def test_what_was_forgotten_is_told_as_json(run, folder) -> None:
    """For programs the same rows as in the list."""
    rows = json.loads(run("approvals", "list", "--json").stdout)

    assert json.loads(run("approvals", "forget", "--all", "--json").stdout) == rows


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["forget"], "Name the IDs to forget, or --all", id="nothing named"),
        pytest.param(["forget", "0", "--all"], "Name the IDs to forget, or --all", id="both"),
        pytest.param(["list", "0"], "'list' takes no IDs and no --all.", id="a list of one"),
        pytest.param(["list", "--all"], "'list' takes no IDs and no --all.", id="a list of all"),
    ],
)
def test_mistakes_forget_nothing(run, folder, words, told) -> None:
    """Usage is told, and the status is 2."""
    result = run("approvals", *words)

    assert (result.exit_code, told in result.stderr, len(ids(folder))) == (2, True, 3)


def test_one_unknown_id_forgets_nothing(run, folder) -> None:
    """Neither do the others beside it."""
    result = run("approvals", "forget", ids(folder)[0], "mistyped")

    told = "Error: No approval has the ID 'mistyped'; 'toolcharter approvals list' shows them.\n"
    assert (result.exit_code, result.stderr.endswith(told), len(ids(folder))) == (2, True, 3)


def test_broken_files_are_told(run, folder) -> None:
    """Each at its place."""
    for name in ("demo", "other"):
        (folder / f"{name}.yaml").write_text("- x\n")

    result = run("approvals", "list")

    assert result.exit_code == 2
    assert [line.partition(": ")[0] for line in result.stderr.splitlines() if line.startswith("/")] == [
        f"{folder}/demo.yaml:1:3",
        f"{folder}/other.yaml:1:3",
    ]


def test_without_a_home_there_is_nothing_to_list(run, monkeypatch) -> None:
    """The way out is named."""
    monkeypatch.setattr("toolcharter.guards.state_folder.state_path", lambda *_: None)

    result = run("approvals", "list")

    told = "Error: There is no home folder to keep approvals in; set XDG_STATE_HOME.\n"
    assert (result.exit_code, result.stderr.endswith(told)) == (2, True)
