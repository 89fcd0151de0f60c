"""Check that the workspace's `.git` is a complete repository of its own. Follows no links."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from toolcharter import Denied, read_regular
from toolcharter_git.reasons import GitReason

MAX_CONFIG_BYTES = 1_048_576

# Folders in which a link would make git read or write outside: git follows a link in `logs` when it appends to a
# branch's log. Hooks are switched off, so `hooks` may be a link.
_SEARCHED = (".", "info")
_SEARCHED_WHOLE = ("logs", "objects", "refs", "reftable")
_IGNORED = ("./hooks",)
MAX_ENTRIES = 200_000
_LEADS_ELSEWHERE = ("commondir", "objects/info/alternates", "objects/info/http-alternates")


@dataclass(frozen=True, slots=True)
class Layout:
    """A repository folder without links or references to other repositories."""

    git_dir: str
    configs: tuple[bytes, ...]
    """The content of `config` and, if there is one, `config.worktree`."""


def inspect_layout(workspace: Path) -> Layout | None:
    """Check the workspace's own `.git`; return None if there is none.

    Raises:
        Denied: `unsafe_repository`, if any part of it lies outside, it has too many files, or a configuration file is
            unreadable or too large.
    """
    git_dir = os.path.join(workspace, ".git")  # noqa: PTH118 - the hot path of every call
    try:
        mode = os.lstat(git_dir).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(mode):
        raise _unsafe_layout("'.git' is not a folder: linked worktrees and submodules keep their repository elsewhere")
    for name in _LEADS_ELSEWHERE:
        if os.path.lexists(f"{git_dir}/{name}"):
            raise _unsafe_layout(f"'.git/{name}' leads to another repository")
    for folder in _SEARCHED:
        _refuse_links(git_dir, folder)
    _refuse_links_below(git_dir, _SEARCHED_WHOLE)
    return Layout(git_dir, tuple(_read(f"{git_dir}/{name}") for name in ("config", "config.worktree")))


def has_old_remotes(git_dir: str) -> bool:
    """Return whether files in `remotes` or `branches` describe remotes. Git prefers them to a URL of the same name.

    Source: git-push(1), "Named file in $GIT_DIR/remotes" and "in $GIT_DIR/branches".
    """
    return any(_refuse_links(git_dir, folder)[0] for folder in ("remotes", "branches"))


def _refuse_links_below(git_dir: str, folders: tuple[str, ...]) -> None:
    pending = list(folders)
    left = MAX_ENTRIES
    while pending:
        count, subfolders = _refuse_links(git_dir, pending.pop())
        pending += subfolders
        left -= count
        if left < 0:
            raise _unsafe_layout(f"'.git' holds more than {MAX_ENTRIES} files")


def _refuse_links(git_dir: str, folder: str) -> tuple[int, list[str]]:
    """Refuse links in one folder; return how many entries it has, and its subfolders."""
    try:
        with os.scandir(f"{git_dir}/{folder}") as listing:
            entries = list(listing)
    except (FileNotFoundError, NotADirectoryError):
        return 0, []
    for entry in entries:
        if entry.is_symlink() and f"{folder}/{entry.name}" not in _IGNORED:
            raise _unsafe_layout(f"'.git/{folder}/{entry.name}' is a link")
    return len(entries), [f"{folder}/{entry.name}" for entry in entries if entry.is_dir(follow_symlinks=False)]


def _read(path: str) -> bytes:
    try:
        content = read_regular(path, MAX_CONFIG_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError:
        content = None
    if content is None or len(content) > MAX_CONFIG_BYTES:
        raise _unsafe_layout(f"{os.path.basename(path)!r} is not a regular file, or is too large")  # noqa: PTH119 - text
    return content


def _unsafe_layout(what: str) -> Denied:
    return Denied(GitReason.UNSAFE_REPOSITORY, f"The repository is not used: {what}.")
