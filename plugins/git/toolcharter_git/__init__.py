"""The `git` tool of toolcharter: a closed list of actions on the workspace's own repository.

It runs the installed git without a shell, never outside the workspace, and with dangerous settings of the repository
overridden. It offers no other git commands than its actions.
"""

from toolcharter import ToolSpec, hookimpl
from toolcharter_git.policy import GitPolicy
from toolcharter_git.tool import SPEC


@hookimpl
def register_tools() -> list[ToolSpec[GitPolicy]]:
    """Offer the `git` tool."""
    return [SPEC]
