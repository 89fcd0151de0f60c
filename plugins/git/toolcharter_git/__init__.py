"""The `git` tool of toolcharter: a closed list of actions on the workspace's own repository.

It runs the installed git without a shell, with the repository's configuration defused, and
never outside the workspace. It is no general git: what no action below names cannot be done.
"""

from toolcharter import ToolSpec, hookimpl
from toolcharter_git.policy import GitPolicy
from toolcharter_git.tool import SPEC


@hookimpl
def register_tools() -> list[ToolSpec[GitPolicy]]:
    """The one tool of this distribution."""
    return [SPEC]
