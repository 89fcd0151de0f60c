"""`create_branch` and `checkout`: they switch only to branches, and never overwrite work in the worktree."""

from collections.abc import Callable

from toolcharter import Denied, Reason
from toolcharter_git.changes import MAX_LIST_BYTES
from toolcharter_git.names import quote_unprintable
from toolcharter_git.reasons import GitReason, git_error
from toolcharter_git.repository import Git, Repository, decode_paths
from toolcharter_git.request import Answer, Request, parse_branch, parse_commit_ref
from toolcharter_git.worktree import State, require_clean

# `switch` takes only branches and refuses to overwrite changes, but by default it overwrites ignored files.
_SWITCH = ("switch", "--quiet", "--no-guess", "--no-overwrite-ignore", "--no-recurse-submodules", "--no-progress")


def create_branch(git: Git, request: Request) -> Callable[[], Answer]:
    """Make `branch` at `ref`, the current commit by default, and switch to it."""
    reason = GitReason.GIT_CREATE_BRANCH_FAILED
    repository = git.open(request.action, GitReason.BRANCH_RESOLUTION_FAILED)
    state = require_clean(repository)
    branch = parse_branch(git.policy, request.branch)
    ref = parse_commit_ref(git.policy, request.ref)
    start = [repository.commit_id(ref, reason)] if request.ref or state.commit else []
    _require_unchanged_places(repository, state, start, reason)
    return lambda: _switch(repository, ["--no-track", "--create", branch, *start], branch, reason)


def checkout(git: Git, request: Request) -> Callable[[], Answer]:
    """Switch to the existing local branch `branch`."""
    reason = GitReason.GIT_CHECKOUT_FAILED
    repository = git.open(request.action, GitReason.BRANCH_RESOLUTION_FAILED)
    state = require_clean(repository)
    branch = parse_branch(git.policy, request.branch)
    if not repository.read_line(["for-each-ref", "--format=%(refname)", f"refs/heads/{branch}"], reason):
        raise git_error(reason, f"there is no branch {branch!r}.")
    _require_unchanged_places(repository, state, [repository.commit_id(f"refs/heads/{branch}", reason)], reason)
    return lambda: _switch(repository, [branch], branch, reason)


def _require_unchanged_places(repository: Repository, state: State, target: list[str], reason: GitReason) -> None:
    """Refuse a switch that would replace files that no tool may change, such as profiles."""
    if not target or target[0] == state.commit:
        return
    base = state.commit or repository.empty_tree(reason)
    listing = repository.run_read(
        ["diff-tree", "-r", "-z", "--name-only", "--no-renames", base, *target], reason, max_bytes=MAX_LIST_BYTES
    )
    changed = filter(None, decode_paths(listing.stdout).split("\0"))
    paths = repository.git.rt.paths
    kept = next((path for path in changed if not paths.changeable(path)), None)
    if kept is not None:
        raise Denied(Reason.PROTECTED_PATH, f"The switch would change {quote_unprintable(kept)}, which is protected.")


def _switch(repository: Repository, args: list[str], branch: str, reason: GitReason) -> Answer:
    repository.run_write([*_SWITCH, *args], reason)
    return Answer(f"On branch {branch}", {"branch": branch})
