"""The reasons for which `git` refuses a call or reports an error. A test compares them with the README's table."""

from enum import StrEnum

from toolcharter import ToolError


class GitReason(StrEnum):
    """The reasons of `git`. A forbidden call is denied; a malformed or failed call is an error."""

    ACTION_NOT_ALLOWED = "action_not_allowed"
    PUSH_NOT_ALLOWED = "push_not_allowed"
    BRANCH_PREFIX_REQUIRED = "branch_prefix_required"
    BRANCH_NOT_ALLOWED = "branch_not_allowed"
    TAG_NOT_ALLOWED = "tag_not_allowed"
    REMOTE_NOT_ALLOWED = "remote_not_allowed"
    DIRTY_WORKTREE = "dirty_worktree"
    SINCE_TOO_LONG = "since_too_long"
    TOO_MANY_FILES = "too_many_files"
    UNSAFE_REPOSITORY = "unsafe_repository"
    UNSAFE_REPOSITORY_CONFIG = "unsafe_repository_config"
    NESTED_REPOSITORY = "nested_repository"

    UNSUPPORTED_ACTION = "unsupported_action"
    INVALID_REF = "invalid_ref"
    INVALID_MAX_COUNT = "invalid_max_count"
    EMPTY_SINCE = "empty_since"
    INVALID_SINCE_FORMAT = "invalid_since_format"
    BASE_COMMIT_RESOLUTION_FAILED = "base_commit_resolution_failed"
    NO_COMMIT_BEFORE_SINCE = "no_commit_before_since"
    EMPTY_BRANCH = "empty_branch"
    INVALID_BRANCH = "invalid_branch"
    EMPTY_TAG = "empty_tag"
    INVALID_TAG = "invalid_tag"
    EMPTY_COMMIT_MESSAGE = "empty_commit_message"
    EMPTY_REMOTE = "empty_remote"
    EMPTY_PATHS = "empty_paths"
    BRANCH_RESOLUTION_FAILED = "branch_resolution_failed"
    WORKTREE_INSPECTION_FAILED = "worktree_inspection_failed"
    GIT_STATUS_FAILED = "git_status_failed"
    GIT_LOG_FAILED = "git_log_failed"
    GIT_SHOW_FAILED = "git_show_failed"
    GIT_REV_PARSE_FAILED = "git_rev_parse_failed"
    GIT_DIFF_FAILED = "git_diff_failed"
    GIT_CREATE_BRANCH_FAILED = "git_create_branch_failed"
    GIT_CHECKOUT_FAILED = "git_checkout_failed"
    GIT_ADD_FAILED = "git_add_failed"
    GIT_COMMIT_FAILED = "git_commit_failed"
    GIT_TAG_FAILED = "git_tag_failed"
    GIT_PUSH_FAILED = "git_push_failed"


def git_error(reason: GitReason, message: str, *, hint: str | None = None) -> ToolError:
    """Return an error with one of the reasons above."""
    return ToolError(message, reason=reason, hint=hint)
