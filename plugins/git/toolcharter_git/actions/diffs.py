"""`diff` and `diff_since`."""

from collections.abc import Callable

from toolcharter_git.changes import changes, described
from toolcharter_git.reasons import GitReason, failed
from toolcharter_git.repository import Git, Repository
from toolcharter_git.request import Answer, Request, checked_commit_ref, checked_paths, checked_since


def diff(git: Git, request: Request) -> Callable[[], Answer]:
    """Compare `ref` with `head_ref`, or with the worktree if `head_ref` is left out."""
    reason = GitReason.GIT_DIFF_FAILED
    refs = [checked_commit_ref(git.policy, request.ref)]
    if request.head_ref:
        refs.append(checked_commit_ref(git.policy, request.head_ref, "head_ref"))
    paths = checked_paths(request.paths)
    repository = git.open(request.action, reason)
    repository.require_visible(paths)
    return lambda: _answer(repository, [repository.commit_id(ref, reason) for ref in refs], paths, reason)


def diff_since(git: Git, request: Request) -> Callable[[], Answer]:
    """Compare the last commit before `since` with `HEAD`."""
    reason = GitReason.BASE_COMMIT_RESOLUTION_FAILED
    since = checked_since(git.policy, request.since)
    paths = checked_paths(request.paths)
    repository = git.open(request.action, reason)
    repository.require_visible(paths)

    def work() -> Answer:
        head = repository.commit_id("HEAD", reason)
        base = repository.line(["rev-list", "--max-count=1", f"--until={since}", head], reason)
        if not base:
            raise failed(GitReason.NO_COMMIT_BEFORE_SINCE, f"there is no commit before {since!r}.")
        return _answer(repository, [base, head], paths, GitReason.GIT_DIFF_FAILED)

    return work


def _answer(repository: Repository, ids: list[str], paths: tuple[str, ...], reason: GitReason) -> Answer:
    changed = changes(repository, ids, paths, reason)
    head = ids[1] if len(ids) > 1 else None
    return Answer(described(changed), {"base": ids[0], "head": head, **changed})
