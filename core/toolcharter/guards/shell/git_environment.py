"""What the environment says to every git that a shell line starts: run nothing that the repository chose. Pure.

`git_settings` has the table that all callers share. What cannot be switched off by name is what `git_repository` refuses.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolcharter.guards.shell.git_settings import GIT_SETTINGS, GIT_VARIABLES, git_setting_variables

SHELL_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # `git status` would start git in each submodule, under that one's own settings. The tool `git` says it by options.
        "diff.ignoreSubmodules": "all",
        # `git init` would copy hooks and more from the machine into the workspace. The tool `git` makes no repository.
        "init.templateDir": "",
        # A folder of the workspace that looks like a repository is none. The tool `git` names its repository.
        "safe.bareRepository": "explicit",
    }
)
"""What a line needs beside `GIT_SETTINGS`, because it chooses its own folder and options."""
SHELL_VARIABLES: Final[Mapping[str, str]] = MappingProxyType({"PAGER": "cat"})
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def git_overrides(workspace: str, settings: Mapping[str, str] = _NOTHING) -> dict[str, str]:
    """The variables that a shell's environment carries for git.

    Args:
        workspace: Its real path. A repository around it is none: git looks no further up.
        settings: More keys and values, such as `user.name`; they cannot undo ours.
    """
    return {
        **GIT_VARIABLES,
        **SHELL_VARIABLES,
        **git_setting_variables({**settings, **GIT_SETTINGS, **SHELL_SETTINGS}),
        "GIT_CEILING_DIRECTORIES": workspace.rpartition("/")[0] or "/",
    }
