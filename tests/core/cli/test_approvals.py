"""`toolcharter approvals`: what was approved for good, and taking it back."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolcharter.gate.approvals.kept import Kept, entries, keep

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
EVER = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(desk, tmp_path, monkeypatch) -> Path:
    """Three approvals: two of one profile, of which one has expired, and one of another."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "state/toolcharter/approvals"
    keep(folder, Kept("bash:pytest -q", "bash", "/a", "demo", "ann", START, EVER), desk)
    keep(folder, Kept("bash:wc x", "bash", "/b", "demo", None, START, START + timedelta(1)), desk)
    rule = {"rule": "echo", "when": {"word": {"const": "ö"}}}
    keep(folder, Kept(rule, "echo", "/a", "other", "bob", START, EVER), desk)
    return folder


def ids(folder: Path) -> list[str]:
    return [kept.id for kept in entries(folder)]


def test_kept_approvals_are_listed(run, folder) -> None:
    """Where each holds, who gave it, when, and until when."""
    one, two, three = ids(folder)

    result = run("approvals", "list")

    moments = "2026-01-31T12:00:00Z  "
    table = [
        "id            profile  rule                                                workspace  by   at                    until",
        f"{one}  demo     bash:pytest -q                                      /a         ann  {moments}2999-01-01T00:00:00Z",
        f"{two}  demo     bash:wc x                                           /b              {moments}2026-02-01T12:00:00Z (expired)",
        f'{three}  other    {{"rule": "echo", "when": {{"word": {{"const": "ö"}}}}}}  /a         bob  {moments}2999-01-01T00:00:00Z',
    ]
    assert (result.stdout.splitlines(), result.exit_code) == (table, 0)


def test_kept_approvals_as_json(run, folder) -> None:
    """With the place of each in its file."""
    result = run("approvals", "list", "--json", "--profile", "other")

    assert json.loads(result.stdout) == [
        {
            "id": ids(folder)[2],
            "rule": {"rule": "echo", "when": {"word": {"const": "ö"}}},
            "call": "echo",
            "workspace": "/a",
            "profile": "other",
            "by": "bob",
            "at": "2026-01-31T12:00:00Z",
            "until": "2999-01-01T00:00:00Z",
            "place": f"{folder}/other.yaml:2:3",
            "code": None,
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
    monkeypatch.setattr("toolcharter.gate.approvals.folder.state_folder", lambda _: None)

    result = run("approvals", "list")

    told = "Error: There is no home folder to keep approvals in; set XDG_STATE_HOME.\n"
    assert (result.exit_code, result.stderr.endswith(told)) == (2, True)
