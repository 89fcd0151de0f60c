"""What the environment says to git, tried with git."""

import os
import subprocess
from pathlib import Path

import pytest

from toolcharter.guards.shell.git.settings import (
    GIT_SETTINGS,
    GIT_VARIABLES,
    SHELL_SETTINGS,
    SHELL_VARIABLES,
    git_overrides,
    git_setting_variables,
)

PATH = "/usr/local/bin:/usr/bin:/bin"
_PEOPLE = [(who, what) for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
SET = {"user.name": "a", "user.email": "a@example.com"}


def test_settings_are_numbered_behind_what_the_caller_adds() -> None:
    """Git reads as many pairs as are counted; the caller's cannot undo ours, and nothing above is looked at."""
    variables = git_overrides("/work/space", {"user.name": "a", "core.fsmonitor": "evil"})

    count = int(variables["GIT_CONFIG_COUNT"])
    pairs = {variables[f"GIT_CONFIG_KEY_{n}"]: variables[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}
    assert pairs == {**GIT_SETTINGS, **SHELL_SETTINGS, "user.name": "a"}
    assert variables["GIT_CEILING_DIRECTORIES"] == "/work"
    assert len(variables) == len(GIT_VARIABLES) + len(SHELL_VARIABLES) + 2 + 2 * count


def test_settings_reach_git_as_counted_variables() -> None:
    """Names and values stand apart, so that neither can end the other."""
    assert git_setting_variables({"a.b=c.d": "e=f"}) == {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "a.b=c.d",
        "GIT_CONFIG_VALUE_0": "e=f",
    }


def test_root_of_the_system_has_a_ceiling() -> None:
    """A workspace right below the root is not looked around either."""
    assert git_overrides("/space")["GIT_CEILING_DIRECTORIES"] == "/"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of one commit and a change, whose settings start a program wherever git asks them."""
    folder = tmp_path / "space"
    folder.mkdir()
    (folder / "a").write_text("a\n")
    for words in (["init", "--quiet"], ["add", "a"], ["commit", "--quiet", "-m", "a"]):
        assert _git(folder, *words).returncode == 0
    (folder / "a").write_text("b\n")
    evil = folder / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    evil.chmod(0o755)
    hooks = folder / ".git/hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "post-commit", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(evil.read_text())
        (hooks / name).chmod(0o755)
    with (folder / ".git/config").open("a") as config:
        config.write(f"[core]\nfsmonitor = {evil}\npager = {evil}\neditor = {evil}\nsshCommand = {evil}\n")
        config.write(f"[pager]\nlog = {evil}\nstatus = {evil}\n[gpg]\nprogram = {evil}\n[log]\nshowSignature = true\n")
        config.write(f"[commit]\ngpgSign = true\n[credential]\nhelper = {evil}\n[sequence]\neditor = {evil}\n")
        config.write(f"[status]\nsubmoduleSummary = true\n[core]\nhooksPath = {hooks}\n")
    return folder


@pytest.mark.needs_program("git")
@pytest.mark.parametrize(
    "line",
    [
        *("status", "status --short", "diff", "log -p", "show", "add a", "commit -m b a", "commit --allow-empty -m b"),
        *("blame a", "branch --list", "stash list", "ls-files -m", "grep b", "describe --always --dirty", "reflog"),
        *("rev-parse HEAD", "diff-index HEAD", "cat-file -p HEAD", "log --format=%G?"),
    ],
)
def test_repository_starts_no_program_of_its_own(repository: Path, line: str) -> None:
    """What the repository would have run does not run, and git still works."""
    ended = _git(repository, *line.split())

    assert (ended.returncode, (repository.parent / "ran").exists()) == (0, False), ended.stderr


@pytest.mark.needs_program("git")
@pytest.mark.parametrize("line", ["status", "commit --allow-empty -m b"])
def test_repository_would_start_programs_otherwise(repository: Path, line: str) -> None:
    """The repository of these tests is as bad as it looks."""
    environment = {"PATH": PATH, "HOME": "/nonexistent", **{f"GIT_{who}_{what}": "a@b" for who, what in _PEOPLE}}

    subprocess.run(["git", *line.split()], cwd=repository, env=environment, capture_output=True, check=False)

    assert (repository.parent / "ran").exists()


@pytest.mark.needs_program("git")
def test_editor_is_never_opened(repository: Path) -> None:
    """A commit without a message fails at once."""
    ended = _git(repository, "commit", "-a")

    assert (ended.returncode != 0, (repository.parent / "ran").exists()) == (True, False)


@pytest.mark.needs_program("git")
def test_folder_that_looks_like_a_repository_is_none(repository: Path) -> None:
    """A bare repository among the files is not used."""
    bare = repository / "evil.git"
    assert _git(repository, "clone", "--quiet", "--bare", ".", "evil.git").returncode == 0

    assert _git(bare, "log").returncode != 0


@pytest.mark.needs_program("git")
def test_repository_around_the_workspace_is_none(repository: Path) -> None:
    """Git looks no further up than the workspace."""
    inner = repository / "inner"
    inner.mkdir()
    environment = {**os.environ, **git_overrides(str(inner))}

    ended = subprocess.run(["git", "log"], cwd=inner, env=environment, capture_output=True, check=False)

    assert ended.returncode != 0


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    workspace = folder if folder.name == "space" else folder.parent
    environment = {"PATH": PATH, "HOME": "/nonexistent", "LC_ALL": "C", **git_overrides(str(workspace), SET)}
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
