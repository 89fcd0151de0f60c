"""`diff` and `diff_since`."""

from collections.abc import Callable

from toolcharter_git.changes import changes_text, read_changes
from toolcharter_git.reasons import GitReason, git_error
from toolcharter_git.repository import Git, Repository
from toolcharter_git.request import Answer, Request, parse_commit_ref, parse_paths, parse_since


def diff(git: Git, request: Request) -> Callable[[], Answer]:
    """Compare `ref` with `head_ref`, or with the worktree if `head_ref` is left out."""
    reason = GitReason.GIT_DIFF_FAILED
    refs = [parse_commit_ref(git.policy, request.ref)]
    if request.head_ref:
        refs.append(parse_commit_ref(git.policy, request.head_ref, "head_ref"))
    paths = parse_paths(request.paths)
    repository = git.open(request.action, reason)
    repository.require_visible(paths)
    return lambda: _diff_answer(repository, [repository.commit_id(ref, reason) for ref in refs], paths, reason)


def diff_since(git: Git, request: Request) -> Callable[[], Answer]:
    """Compare the last commit before `since` with `HEAD`."""
    reason = GitReason.BASE_COMMIT_RESOLUTION_FAILED
    since = parse_since(git.policy, request.since)
    paths = parse_paths(request.paths)
    repository = git.open(request.action, reason)
    repository.require_visible(paths)

    def work() -> Answer:
        head = repository.commit_id("HEAD", reason)
        base = repository.read_line(["rev-list", "--max-count=1", f"--until={since}", head], reason)
        if not base:
            raise git_error(GitReason.NO_COMMIT_BEFORE_SINCE, f"there is no commit before {since!r}.")
        return _diff_answer(repository, [base, head], paths, GitReason.GIT_DIFF_FAILED)

    return work


def _diff_answer(repository: Repository, ids: list[str], paths: tuple[str, ...], reason: GitReason) -> Answer:
    changed = read_changes(repository, ids, paths, reason)
    head = ids[1] if len(ids) > 1 else None
    return Answer(changes_text(changed), {"base": ids[0], "head": head, **changed})
