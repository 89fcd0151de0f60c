"""The `git` tool: one function, which checks each action before it runs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolcharter import ToolRuntime, ToolSpec
from toolcharter_git.actions import TABLE
from toolcharter_git.policy import ACTIONS, READ_ACTIONS, GitPolicy
from toolcharter_git.reasons import GitReason
from toolcharter_git.repository import Git
from toolcharter_git.request import Request, check_action

_READS = frozenset({"fs:read", "proc:exec"})
_WRITES = _READS | {"fs:write"}
CAPABILITIES: Mapping[str, frozenset[str]] = {
    **{action: _READS if action in READ_ACTIONS else _WRITES for action in ACTIONS},
    "push": _WRITES | {"net:write"},
}


def build(workspace: Path, policy: GitPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Build the tool for one workspace and policy."""
    opener = Git(workspace, policy, rt)

    def git(  # noqa: PLR0913, PLR0917 - one tool with an action instead of twelve tools
        action: str,
        ref: str = "",
        head_ref: str = "",
        since: str = "",
        max_count: int | str = 20,
        branch: str = "",
        message: str = "",
        remote: str = "",
        tag: str = "",
        paths: tuple[str, ...] = (),
    ) -> str:
        """Look at the workspace's git repository, or change it as far as the profile allows.

        Args:
            action: status; log (ref or A..B, max_count, paths); show (ref, or ref:path for a file or
                folder); rev_parse (ref); diff (from ref to head_ref, or to the worktree, paths);
                diff_since (since, paths); create_branch (branch, ref); checkout (branch); add (paths);
                commit (message); tag (tag, message, ref); push (remote, and branch or tag).
            ref: A commit, branch or tag; HEAD if left out.
            head_ref: The other end of a diff.
            since: A date such as "2 weeks ago" or "2024-01-31"; diff_since starts at the last commit before it.
            max_count: How many commits log lists.
            branch: The name of a local branch.
            message: The message of a commit or tag.
            remote: The name of a remote.
            tag: The name of a tag.
            paths: Files or folders, relative to the workspace, taken literally.
        """
        ctx = rt.start("git", action=action)
        request = Request(action.strip().lower(), ref, head_ref, since, max_count, branch, message, remote, tag, paths)
        check_action(policy, request.action)
        work = TABLE[request.action](opener, request)
        ctx.policy_passed()  # above this line git only reads
        answer = work()
        return ctx.ok(answer.text, data=answer.data, truncated=answer.data.get("truncated") is True)

    return git


def advertise(policy: GitPolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model only the actions that its profile allows."""
    allowed = policy.allowed_actions
    usable = [action for action in ACTIONS if action in allowed and (action != "push" or policy.allow_push)]
    properties = schema.get("properties", {})
    narrowed = {**properties, "action": {**properties.get("action", {}), "enum": usable}}
    return {**schema, "properties": narrowed}


SPEC = ToolSpec(
    "git",
    GitPolicy,
    build,
    reasons=GitReason,
    capabilities=CAPABILITIES,
    safety="medium",
    staged=True,
    group="vcs",
    advertise=advertise,
)
