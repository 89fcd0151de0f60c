"""Where the repository of a workspace lies when `.git` is not its folder."""

import subprocess
from pathlib import Path

import pytest

from toolcharter.guards.paths.git_dirs import paths_through_links, repository_folders


def test_repository_of_its_own_needs_no_more(workspace: Path) -> None:
    """Neither without one nor with a `.git` that is its folder is there any other."""
    nothing = repository_folders(workspace)
    (workspace / ".git").mkdir()

    assert (nothing, repository_folders(workspace)) == ((), ())


def test_link_leads_to_the_repository(workspace: Path, outside: Path) -> None:
    """A link counts by what it leads to, if that lies in the workspace."""
    (workspace / ".git").symlink_to("sub/store")
    inside = repository_folders(workspace)
    (workspace / ".git").unlink()
    (workspace / ".git").symlink_to(outside)

    assert (inside, repository_folders(workspace)) == ((workspace / "sub/store",), ())


@pytest.mark.needs_program("git")
def test_file_leads_to_the_repository(workspace: Path) -> None:
    """As git itself writes it."""
    subprocess.run(["git", "init", "--quiet", "--separate-git-dir", "store", "."], cwd=workspace, check=True)

    assert repository_folders(workspace) == (workspace / "store",)


def test_file_leads_to_what_work_trees_share(workspace: Path) -> None:
    """The common folder holds the hooks."""
    (workspace / ".git").write_text("gitdir: main/.git/worktrees/one\n")
    (workspace / "main/.git/worktrees/one").mkdir(parents=True)
    (workspace / "main/.git/worktrees/one/commondir").write_text("../..\n")

    assert repository_folders(workspace) == (workspace / "main/.git/worktrees/one", workspace / "main/.git")


@pytest.mark.parametrize("content", [b"", b"no pointer", b"gitdir: /etc", b"gitdir: ..", b"gitdir: .", b"\0\xff"])
def test_other_files_lead_nowhere_in_the_workspace(workspace: Path, content: bytes) -> None:
    """What is no pointer, or leads out or to the workspace itself, adds nothing."""
    (workspace / ".git").write_bytes(content)

    assert repository_folders(workspace) == ()


@pytest.mark.parametrize("is_link", [True, False])
def test_links_on_the_way_to_the_repository_count(workspace: Path, *, is_link: bool) -> None:
    """Whoever replaces one of them leads to a repository of his own."""
    (workspace / "store/repo").mkdir(parents=True)
    (workspace / "one").symlink_to("./two")
    (workspace / "two").symlink_to(workspace / "store")
    if is_link:
        (workspace / ".git").symlink_to("one/repo")
    else:
        (workspace / ".git").write_text("gitdir: one/repo\n")

    assert repository_folders(workspace) == tuple(workspace / name for name in ("one/repo", "two/repo", "store/repo"))


def test_way_with_a_climb_ends_before_it(workspace: Path) -> None:
    """What lies behind is not where the text says."""
    (workspace / "a/b").mkdir(parents=True)
    (workspace / "link").symlink_to("a/b")

    assert list(paths_through_links(workspace, "link/c/../../d")) == [workspace / "link/c", workspace / "a/d"]


def test_links_without_an_end_are_walked_for_a_while(workspace: Path) -> None:
    """As the kernel does."""
    (workspace / "loop").symlink_to("loop")

    assert set(paths_through_links(workspace, "loop")) == {workspace / "loop"}
