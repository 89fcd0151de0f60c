"""Finds the hidden files that a workspace's repository holds: in its index, or in any commit that a reference leads to.

The git tool shows none of them. A program that runs git in the workspace does: hiding covers files, not git's objects.
"""

import subprocess
from pathlib import Path
from typing import NamedTuple

from toolcharter.errors import Denied, ToolError
from toolcharter.guards.paths.hidden import HiddenNames
from toolcharter.guards.process.governed import CLEAN_ENVIRONMENT
from toolcharter.guards.process.programs import Programs
from toolcharter.guards.shell.git.settings import git_overrides

PATIENCE_S = 20
_LISTINGS = (
    ("ls-files", "-z"),
    ("log", "--all", "--format=", "--name-only", "--no-renames", "--diff-filter=A", "-c", "-z"),
)


class Held(NamedTuple):
    """What git holds of what is hidden."""

    names: tuple[str, ...] = ()
    """Sorted paths. Files that are hidden for what they hold are not among them."""
    is_whole: bool = True
    """False if git failed, or took too long."""


def hidden_in_git(workspace: Path, hidden: HiddenNames) -> Held:
    """Ask git, without running anything that the repository names. A folder that is no repository holds nothing."""
    if not (workspace / ".git").exists() or not hidden.globs:
        return Held()
    environment = {**CLEAN_ENVIRONMENT, **git_overrides(str(workspace))}
    names = set[str]()
    for listing in _LISTINGS:
        try:
            ran = subprocess.run(
                [Programs(workspace).resolve("git"), "--no-pager", "-C", str(workspace), *listing],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE_S,
                check=True,
            )
        except (Denied, ToolError, OSError, subprocess.SubprocessError):
            return Held(tuple(sorted(names)), is_whole=False)
        listed = {name.strip("\n") for name in ran.stdout.decode(errors="replace").split("\0")}
        names |= {name for name in listed if name and hidden.covers(name.split("/"))}
    return Held(tuple(sorted(names)))
