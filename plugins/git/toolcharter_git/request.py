"""One call's arguments, and the checks of them that need the policy and nothing else. Pure."""

from dataclasses import dataclass

from toolcharter import Denied, Reason, ToolError
from toolcharter_git import names
from toolcharter_git.policy import ACTIONS, GitPolicy
from toolcharter_git.reasons import GitReason, failed

_MOST_COUNTED = 999_999_999
"""No count is taken for more: it fits every C int."""


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
    """What an action gives: text for the model, and the same as JSON types."""

    text: str
    data: dict[str, object]


def check_action(policy: GitPolicy, action: str) -> None:
    """Refuse an action that there is not or that the policy does not list, and push without its own switch."""
    if action not in ACTIONS:
        raise failed(GitReason.UNSUPPORTED_ACTION, f"unsupported action {action!r}.")
    if action not in policy.allowed_actions:
        raise Denied(GitReason.ACTION_NOT_ALLOWED, hint=f"Allowed: {', '.join(sorted(policy.allowed_actions))}.")
    if action == "push" and not policy.allow_push:
        raise Denied(GitReason.PUSH_NOT_ALLOWED)


def checked_ref(policy: GitPolicy, ref: str, name: str = "ref") -> str:
    """*ref*, or `HEAD` if it was left out."""
    if ref and not names.is_ref(ref, policy.ref_pattern):
        raise failed(GitReason.INVALID_REF, f"{name} contains unsupported characters.")
    return ref or "HEAD"


def checked_commit_ref(policy: GitPolicy, ref: str, name: str = "ref") -> str:
    """*ref* as `checked_ref`, which must name a commit: no file in one, no range."""
    checked = checked_ref(policy, ref, name)
    if ":" in checked or ".." in checked:
        raise failed(GitReason.INVALID_REF, f"{name} must name one commit.")
    return checked


def checked_max_count(value: int | str) -> int:
    """A whole number from 1 on, also as text, however large: the policy has the last word on it."""
    text = str(value).strip()
    digits = text.lstrip("0")
    if not (text.isascii() and text.isdigit() and digits):
        raise failed(GitReason.INVALID_MAX_COUNT, "max_count must be a whole number from 1 on.")
    return int(digits) if len(digits) <= len(str(_MOST_COUNTED)) else _MOST_COUNTED


def checked_since(policy: GitPolicy, since: str) -> str:
    """A date that git may read."""
    since = since.strip()
    if not since:
        raise failed(GitReason.EMPTY_SINCE, "since is empty.", hint="For instance '2 weeks ago' or '2024-01-31'.")
    if len(since) > policy.max_since_chars:
        raise Denied(GitReason.SINCE_TOO_LONG, f"since is longer than {policy.max_since_chars} characters.")
    if not names.is_since(since):
        raise failed(GitReason.INVALID_SINCE_FORMAT, "since is no date.")
    return since


def checked_branch(policy: GitPolicy, branch: str) -> str:
    """The full name of *branch*: with the managed prefix, whether the call wrote it or not."""
    if not branch.strip():
        raise failed(GitReason.EMPTY_BRANCH, "branch is empty.")
    prefix = policy.managed_branch_prefix
    full = branch if branch.startswith(prefix) else prefix + branch
    if not (names.is_branch_name(full) and names.is_branch_name(branch)):
        raise failed(GitReason.INVALID_BRANCH, "branch contains unsupported characters.")
    return full


def checked_tag(policy: GitPolicy, tag: str) -> str:
    """*tag*, which the policy's pattern must cover."""
    if not tag.strip():
        raise failed(GitReason.EMPTY_TAG, "tag is empty.")
    if not names.is_branch_name(tag):
        raise failed(GitReason.INVALID_TAG, "tag contains unsupported characters.")
    if not (policy.tag_pattern and names.matches(policy.tag_pattern, tag)):
        raise Denied(GitReason.TAG_NOT_ALLOWED, f"The tag {tag!r} is not one that may be made or pushed.")
    return tag


def checked_message(message: str) -> bytes:
    """A commit message or a tag's, as git reads it from its standard input."""
    if not message.strip() or "\0" in message:
        raise failed(GitReason.EMPTY_COMMIT_MESSAGE, "message is empty or holds NUL.")
    return message.encode(errors="replace")


def checked_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Relative paths with `/`, taken literally; `.` for the whole worktree."""
    return tuple(_checked_path(path) for path in paths)


def _checked_path(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise Denied(Reason.PATH_OUTSIDE_WORKSPACE, f"{path!r} is not a path below the workspace.")
    parts = names.parts_of(path)
    if parts is None:
        raise ToolError(f"{path[:100]!r} is no path.", reason="invalid_path")
    return "/".join(parts) or "."
