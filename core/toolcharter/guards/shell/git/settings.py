"""The settings and variables that make any repository harmless, for every git that toolcharter starts. Pure.

A clone, an archive or an earlier step may have written `.git/config`. Keys that start a program, read a file elsewhere or send
more than was asked are overridden by name, as `GIT_CONFIG_KEY_<n>` variables, which git reads after all files. No caller needs
what these keys switch off. Keys for only one caller are separate: `SHELL_SETTINGS` for shell lines, and those of the plugin
`git` in that plugin. `repository` refuses settings that cannot be switched off by name.

Source: git-config(1) and git(1) of git 2.39 to 2.51; GIT_CONFIG_COUNT since 2.31, GIT_CONFIG_GLOBAL since 2.32.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

GIT_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "commit.gpgSign": "false",  # would start `gpg.program`
        "commit.template": "",  # any file would become a commit's message
        "core.askPass": "",  # a program
        "core.attributesFile": "/dev/null",  # any file, which can name filters and drivers
        "core.editor": "false",  # a program
        "core.excludesFile": "/dev/null",  # any file; `git check-ignore -v` shows lines of it
        "core.fsmonitor": "false",  # a program
        "core.hooksPath": "/dev/null",  # programs; also keeps git from those in `.git/hooks`
        "core.pager": "cat",  # a program
        "core.protectHFS": "true",  # a disk may take another name for `.git`
        "core.protectNTFS": "true",  # the same
        "core.sshCommand": "ssh -o BatchMode=yes",  # a program; ssh itself must not ask for a password
        "core.untrackedCache": "false",  # `git status` would believe what the index says of untracked files, and write it
        "credential.helper": "",  # programs; the empty name takes back all that stand before it
        "diff.orderFile": "/dev/null",  # any file; an error tells whether there is one
        "diff.submodule": "short",  # the others start git in each submodule, under that one's own settings
        "fetch.recurseSubmodules": "false",  # the same
        "gc.auto": "0",  # would rewrite the repository, and start a hook, after a command that was not asked to
        "gpg.openpgp.program": "false",  # a program
        "gpg.program": "false",  # a program
        "gpg.ssh.defaultKeyCommand": "false",  # a program
        "gpg.ssh.program": "false",  # a program
        "gpg.x509.program": "false",  # a program
        "log.showSignature": "false",  # would start `gpg.program`
        "mailmap.file": "",  # any file, whose names the log shows
        "maintenance.auto": "false",  # as `gc.auto`
        "protocol.ext.allow": "never",  # a URL `ext::...` is a program
        "push.followTags": "false",  # a push sends what was named, and no tags beside it
        "push.gpgSign": "false",  # would start `gpg.program`
        "push.negotiate": "false",  # a push would fetch first
        "push.pushOption": "",  # would tell the server to do more than take a push, such as to open a merge request
        "push.recurseSubmodules": "no",  # would push each submodule, under that one's own settings
        "sequence.editor": "false",  # a program
        "status.submoduleSummary": "false",  # `git status` would start git in each submodule
        "submodule.recurse": "false",  # reading and checking out would go on in each submodule
        "tag.gpgSign": "false",  # would start `gpg.program`
    }
)
"""The value of each key, which wins over every file; the comment beside it says what the key could do otherwise."""

GIT_VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "GIT_ASKPASS": "",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_EDITOR": "false",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_SEQUENCE_EDITOR": "false",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        "GIT_TERMINAL_PROMPT": "0",
    }
)
"""Variables for what git reads only from its environment, or before any setting."""
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
"""Further settings for shell lines, which choose their own folder and options."""
SHELL_VARIABLES: Final[Mapping[str, str]] = MappingProxyType({"PAGER": "cat"})
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def git_setting_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that give git *settings*, which override all of its files.

    Source: git-config(1), GIT_CONFIG_COUNT.
    """
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def git_overrides(workspace: str, settings: Mapping[str, str] = _NOTHING) -> dict[str, str]:
    """The variables for git in a shell's environment.

    Args:
        workspace: The real path of the workspace. Git does not search its parents for a repository.
        settings: Further keys and values, such as `user.name`; they cannot override ours.
    """
    return {
        **GIT_VARIABLES,
        **SHELL_VARIABLES,
        **git_setting_variables({**settings, **GIT_SETTINGS, **SHELL_SETTINGS}),
        "GIT_CEILING_DIRECTORIES": workspace.rpartition("/")[0] or "/",
    }
