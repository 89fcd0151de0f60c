"""What the environment says to every git that a shell line starts: run nothing that the repository chose. Pure.

A clone, an archive or an earlier step may have written `.git/config`. Settings that start a program or lead out of the
workspace are replaced by name, as `GIT_CONFIG_KEY_<n>` variables, which git reads after all files. Those that cannot
be replaced so are what `git_repository` refuses.

Source: git-config(1) and git(1) of git 2.39 to 2.51; GIT_CONFIG_COUNT since 2.31, GIT_CONFIG_GLOBAL since 2.32.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "commit.gpgSign": "false",
        "commit.template": "",
        "core.askPass": "",
        "core.attributesFile": "/dev/null",
        "core.editor": "false",
        "core.excludesFile": "/dev/null",  # `git check-ignore -v` shows lines of that file.
        "core.fsmonitor": "false",
        "core.hooksPath": "/dev/null",
        "core.pager": "cat",
        "core.sshCommand": "ssh -o BatchMode=yes",
        "core.untrackedCache": "false",
        "credential.helper": "",
        "diff.ignoreSubmodules": "all",  # `git status` would start git in each, under that one's own settings.
        "diff.orderFile": "/dev/null",
        "diff.submodule": "short",
        "fetch.recurseSubmodules": "false",
        "gc.auto": "0",
        "gpg.openpgp.program": "false",
        "gpg.program": "false",
        "gpg.ssh.defaultKeyCommand": "",
        "gpg.ssh.program": "false",
        "gpg.x509.program": "false",
        "init.templateDir": "",
        "log.showSignature": "false",
        "mailmap.file": "",
        "maintenance.auto": "false",
        "protocol.ext.allow": "never",
        "push.gpgSign": "false",
        "push.recurseSubmodules": "no",
        "safe.bareRepository": "explicit",  # A folder of the workspace that looks like a repository is none.
        "sequence.editor": "false",
        "status.submoduleSummary": "false",
        "submodule.recurse": "false",
        "tag.gpgSign": "false",
    }
)
"""By key, the values that win over every file."""

VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
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
        "PAGER": "cat",
    }
)
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def git_overrides(workspace: str, settings: Mapping[str, str] = _NOTHING) -> dict[str, str]:
    """The variables that a shell's environment carries for git.

    Args:
        workspace: Its real path. A repository around it is none: git looks no further up.
        settings: More keys and values, such as `user.name`; they cannot undo ours.
    """
    merged = {**settings, **SETTINGS}
    variables = {**VARIABLES, "GIT_CEILING_DIRECTORIES": workspace.rpartition("/")[0] or "/"}
    variables["GIT_CONFIG_COUNT"] = str(len(merged))
    for number, (key, value) in enumerate(merged.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables
