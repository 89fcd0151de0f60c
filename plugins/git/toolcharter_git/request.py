"""One call's arguments, and those checks that need only the policy. Pure."""

from dataclasses import dataclass

from toolcharter import Denied, Reason, ToolError
from toolcharter_git import names
from toolcharter_git.policy import ACTIONS, GitPolicy
from toolcharter_git.reasons import GitReason, git_error

_MAX_COUNT = 999_999_999
"""A larger count is reduced to this: it fits every C int."""


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of one call, as the tool's signature describes them."""

    action: str
    ref: str = ""
    head_ref: str = ""
    since: str = ""
    max_count: int | str = 20
    branch: str = ""
    message: str = ""
    remote: str = ""
    tag: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of an action: text for the model, and the same as JSON types."""

    text: str
    data: dict[str, object]


def check_action(policy: GitPolicy, action: str) -> None:
    """Refuse an action that does not exist or is not in the policy's list, and `push` without `allow_push`."""
    if action not in ACTIONS:
        raise git_error(GitReason.UNSUPPORTED_ACTION, f"unsupported action {action!r}.")
    if action not in policy.allowed_actions:
        raise Denied(GitReason.ACTION_NOT_ALLOWED, hint=f"Allowed: {', '.join(sorted(policy.allowed_actions))}.")
    if action == "push" and not policy.allow_push:
        raise Denied(GitReason.PUSH_NOT_ALLOWED)


def parse_ref(policy: GitPolicy, ref: str, name: str = "ref") -> str:
    """Check *ref* and return it; `HEAD` if it is empty."""
    if ref and not names.is_ref(ref, policy.ref_pattern):
        raise git_error(GitReason.INVALID_REF, f"{name} contains unsupported characters.")
    return ref or "HEAD"


def parse_commit_ref(policy: GitPolicy, ref: str, name: str = "ref") -> str:
    """Check *ref* as `parse_ref` does; it must name a commit, not a file in a commit or a range."""
    checked = parse_ref(policy, ref, name)
    if ":" in checked or ".." in checked:
        raise git_error(GitReason.INVALID_REF, f"{name} must name one commit.")
    return checked


def parse_max_count(value: int | str) -> int:
    """Return *value*, a number or its text, as a whole number from 1 on. Any size is valid: the policy limits it."""
    text = str(value).strip()
    digits = text.lstrip("0")
    if not (text.isascii() and text.isdigit() and digits):
        raise git_error(GitReason.INVALID_MAX_COUNT, "max_count must be a whole number from 1 on.")
    return int(digits) if len(digits) <= len(str(_MAX_COUNT)) else _MAX_COUNT


def parse_since(policy: GitPolicy, since: str) -> str:
    """Check a date and return it without spaces around it."""
    since = since.strip()
    if not since:
        raise git_error(GitReason.EMPTY_SINCE, "since is empty.", hint="For instance '2 weeks ago' or '2024-01-31'.")
    if len(since) > policy.max_since_chars:
        raise Denied(GitReason.SINCE_TOO_LONG, f"since is longer than {policy.max_since_chars} characters.")
    if not names.is_since(since):
        raise git_error(GitReason.INVALID_SINCE_FORMAT, "since is not a date.")
    return since


def parse_branch(policy: GitPolicy, branch: str) -> str:
    """Check *branch* and return its full name: with the managed prefix, also if the call left it out."""
    if not branch.strip():
        raise git_error(GitReason.EMPTY_BRANCH, "branch is empty.")
    prefix = policy.managed_branch_prefix
    full = branch if branch.startswith(prefix) else prefix + branch
    if not (names.is_branch_name(full) and names.is_branch_name(branch)):
        raise git_error(GitReason.INVALID_BRANCH, "branch contains unsupported characters.")
    return full


def parse_tag(policy: GitPolicy, tag: str) -> str:
    """Check *tag* and return it; the policy's pattern must match it."""
    if not tag.strip():
        raise git_error(GitReason.EMPTY_TAG, "tag is empty.")
    if not names.is_branch_name(tag):
        raise git_error(GitReason.INVALID_TAG, "tag contains unsupported characters.")
    if not (policy.tag_pattern and names.matches(policy.tag_pattern, tag)):
        raise Denied(GitReason.TAG_NOT_ALLOWED, f"The profile does not allow the tag {tag!r} to be made or pushed.")
    return tag


def parse_message(message: str) -> bytes:
    """Check the message of a commit or tag and return it as bytes for git's standard input."""
    if not message.strip() or "\0" in message:
        raise git_error(GitReason.EMPTY_COMMIT_MESSAGE, "message is empty or contains a NUL.")
    return message.encode(errors="replace")


def parse_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Check relative paths with `/`, taken literally; `.` is the whole worktree.

    Raises:
        Denied: `path_outside_workspace`, for an absolute path or one with `..`.
        ToolError: `invalid_path`.
    """
    return tuple(_parse_path(path) for path in paths)


def _parse_path(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise Denied(Reason.PATH_OUTSIDE_WORKSPACE, f"{path!r} is not a path below the workspace.")
    parts = names.split_path(path)
    if parts is None:
        raise ToolError(f"{path[:100]!r} is not a path.", reason="invalid_path")
    return "/".join(parts) or "."
