"""Whether the table of git divides words as the git of this machine does.

An option that is read as taking the next word, while git does not take it, would hide what that word does.
"""

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.programs.table import Table
from toolcharter.guards.shell.programs.tables import CORE_TABLES

GIT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
UNKNOWN = "--what-no-git-knows"

pytestmark = pytest.mark.needs_program("git")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of one commit."""
    folder = tmp_path_factory.mktemp("repository")
    _git(folder, "init", "--quiet")
    (folder / "a").write_text("a\n")
    _git(folder, "add", "a")
    _git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "a")
    return folder


@each_row("name", ["log", "diff", "commit", "branch", "tag", "grep", "ls-files", "status", "add", "blame"])
def test_option_that_takes_the_next_word_does_so_in_git(repository: Path, name: str) -> None:
    """Git does not say that a word is unknown which the table gives to the option before it."""
    table = CORE_TABLES.find("git")
    assert table is not None
    complaint = _complaint(repository, name, UNKNOWN)

    wrong = [
        option
        for option in _separate(table.table.subcommands[name])
        if _complaint(repository, name, option, UNKNOWN) == complaint
    ]

    assert wrong == []


def _separate(table: Table) -> Iterator[str]:
    for spelling, spec in table.options.items():
        if spec.roles and not spec.is_attached:
            yield spelling


def _complaint(folder: Path, *words: str) -> str:
    ended = _git(folder, *words, "HEAD")
    return (ended.stderr or ended.stdout).partition("\n")[0] if ended.returncode else ""


@cache
def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        env=GIT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
