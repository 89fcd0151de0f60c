"""`create_branch` and `checkout`: branches only, and never at the cost of work in the worktree."""

from collections.abc import Callable

from toolcharter_git.reasons import GitReason, failed
from toolcharter_git.repository import Git, Repository
from toolcharter_git.request import Answer, Request, checked_branch, checked_commit_ref
from toolcharter_git.worktree import require_clean

# `switch` takes branches only and refuses to overwrite changes; ignored files it would overwrite.
_SWITCH = ("switch", "--quiet", "--no-guess", "--no-overwrite-ignore", "--no-recurse-submodules", "--no-progress")


def create_branch(git: Git, request: Request) -> Callable[[], Answer]:
    """Make `branch` from `ref`, the current commit by default, and switch to it."""
    reason = GitReason.GIT_CREATE_BRANCH_FAILED
    repository = git.open(request.action, GitReason.BRANCH_RESOLUTION_FAILED)
    state = require_clean(repository)
    branch = checked_branch(git.policy, request.branch)
    ref = checked_commit_ref(git.policy, request.ref)
    start = [repository.commit_id(ref, reason)] if request.ref or state.commit else []
    return lambda: _switch(repository, ["--no-track", "--create", branch, *start], branch, reason)


def checkout(git: Git, request: Request) -> Callable[[], Answer]:
    """Switch to the existing local branch `branch`."""
    reason = GitReason.GIT_CHECKOUT_FAILED
    repository = git.open(request.action, GitReason.BRANCH_RESOLUTION_FAILED)
    require_clean(repository)
    branch = checked_branch(git.policy, request.branch)
    if not repository.line(["for-each-ref", "--format=%(refname)", f"refs/heads/{branch}"], reason):
        raise failed(reason, f"there is no branch {branch!r}.")
    return lambda: _switch(repository, [branch], branch, reason)


def _switch(repository: Repository, args: list[str], branch: str, reason: GitReason) -> Answer:
    repository.act([*_SWITCH, *args], reason)
    return Answer(f"On branch {branch}", {"branch": branch})
