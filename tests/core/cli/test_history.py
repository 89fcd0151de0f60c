"""Hidden files that git holds: told by name, from the index and from every commit."""

import subprocess
from pathlib import Path

import pytest

from toolcharter.cli.history import HiddenInGit, find_hidden_in_git
from toolcharter.guards.paths.hidden import HiddenNames
from toolcharter.profile.settings import DEFAULT_HIDDEN

pytestmark = pytest.mark.needs_program("git")
HIDDEN = HiddenNames(DEFAULT_HIDDEN)


def git(folder: Path, *args: str) -> None:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.invalid", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One hidden file was committed and removed, one lies on another branch, one is staged, others are no secret."""
    folder = tmp_path / "repo"
    (folder / "app").mkdir(parents=True)
    git(folder, "init")
    for name in ("app/.env", ".env.example", "app/é.py"):
        (folder / name).write_text("x")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "one")
    git(folder, "switch", "-c", "other")
    (folder / "id_rsa").write_text("x")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "two")
    git(folder, "switch", "main")
    git(folder, "rm", "app/.env")
    git(folder, "commit", "-m", "three")
    (folder / ".netrc").write_text("x")
    git(folder, "add", ".netrc")
    return folder


def test_all_of_them_are_named(repository: Path) -> None:
    """Whether they are staged, removed since, or on another branch."""
    assert find_hidden_in_git(repository, HIDDEN) == HiddenInGit((".netrc", "app/.env", "id_rsa"))


def test_files_that_are_hidden_for_what_they_hold_are_named(repository: Path) -> None:
    """In an earlier version, and in the index; those that hold nothing of the kind are not."""
    key = "-----BEGIN " + "PRIVATE KEY-----"
    for name, text in (("server.key", key), ("public.key", "ssh-ed25519"), (".npmrc", "//x/:_auth" + "Token=1")):
        (repository / name).write_text(text)
    git(repository, "add", "server.key", "public.key")
    git(repository, "commit", "-m", "keys")
    (repository / "server.key").write_text("gone")
    git(repository, "add", "server.key", ".npmrc")

    assert find_hidden_in_git(repository, HIDDEN) == HiddenInGit(
        (".netrc", ".npmrc", "app/.env", "id_rsa", "server.key")
    )


def test_without_a_repository_or_globs_git_is_not_asked(tmp_path: Path, repository: Path, monkeypatch) -> None:
    """Nothing is held."""
    monkeypatch.setattr(subprocess, "run", None)

    assert (find_hidden_in_git(tmp_path, HIDDEN), find_hidden_in_git(repository, HiddenNames())) == (
        HiddenInGit(),
        HiddenInGit(),
    )


def test_a_repository_runs_no_program(repository: Path) -> None:
    """What its settings name stays where it is."""
    for key in ("core.fsmonitor", "core.pager", "diff.external"):
        git(repository, "config", key, f"touch {repository}/pwned")

    assert find_hidden_in_git(repository, HIDDEN).names == (".netrc", "app/.env", "id_rsa")
    assert not (repository / "pwned").exists()


def test_what_cannot_be_listed_is_said(repository: Path) -> None:
    """A broken repository gives what it can, and says that this is not all."""
    (repository / ".git" / "HEAD").write_text("broken")

    assert find_hidden_in_git(repository, HIDDEN) == HiddenInGit((), is_whole=False)
