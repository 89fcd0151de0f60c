"""`add`, `commit` and `tag`."""

from collections.abc import Callable

from toolcharter import Denied
from toolcharter_git.names import quote_unprintable, representable
from toolcharter_git.reasons import GitReason, git_error
from toolcharter_git.repository import Git
from toolcharter_git.request import (
    Answer,
    Request,
    parse_commit_ref,
    parse_message,
    parse_paths,
    parse_tag,
)
from toolcharter_git.worktree import inspect_state, require_clean, require_managed_branch


def add(git: Git, request: Request) -> Callable[[], Answer]:
    """Stage the changes at `paths`: new, changed and deleted files, except protected ones."""
    reason = GitReason.GIT_ADD_FAILED
    repository = git.open(request.action, GitReason.BRANCH_RESOLUTION_FAILED)
    require_managed_branch(repository)
    paths = parse_paths(request.paths)
    if not paths:
        raise git_error(GitReason.EMPTY_PATHS, "paths is empty.", hint="Use ['.'] for everything.")
    repository.require_visible(path for path in paths if path != ".")
    changed = [entry for entry in inspect_state(repository, reason, paths).entries if entry.worktree != "."]
    staged = repository.filter_visible(entry.path for entry in changed)
    nested = next((entry.path for entry in changed if entry.is_repository), None)
    if nested is not None:
        raise Denied(GitReason.NESTED_REPOSITORY, f"{nested!r} is a separate repository.")
    limit = git.policy.max_files
    if len(staged) > limit:
        raise Denied(GitReason.TOO_MANY_FILES, f"{len(staged)} files would be added; one call may add at most {limit}.")
    if not staged:
        raise git_error(reason, "nothing at these paths has changed.")

    def work() -> Answer:
        stdin = b"\0".join(path.encode(errors="surrogateescape") for path in staged)
        repository.run_write(["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"], reason, stdin=stdin)
        items = [*map(representable, staged)]
        return Answer(f"Added {len(items)} file(s):\n" + "\n".join(map(quote_unprintable, items)), {"items": items})

    return work


def commit(git: Git, request: Request) -> Callable[[], Answer]:
    """Commit the staged changes."""
    reason = GitReason.GIT_COMMIT_FAILED
    repository = git.open(request.action, GitReason.BRANCH_RESOLUTION_FAILED)
    branch = require_managed_branch(repository)
    state = require_clean(repository, staged_is_clean=True)
    message = parse_message(request.message)
    staged = [entry.path for entry in state.entries if entry.index not in ".?"]
    repository.require_visible(staged)
    if not staged:
        raise git_error(reason, "nothing is staged.", hint="Use add first.")

    def work() -> Answer:
        repository.run_write(
            ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status", "--file=-"], reason, stdin=message
        )
        made = repository.commit_id("HEAD", reason)
        return Answer(f"Committed {made[:12]} on {branch}", {"commit": made, "branch": branch})

    return work


def tag(git: Git, request: Request) -> Callable[[], Answer]:
    """Make the annotated tag `tag` at `ref`; an existing tag is never moved."""
    reason = GitReason.GIT_TAG_FAILED
    name = parse_tag(git.policy, request.tag)
    repository = git.open(request.action, GitReason.BRANCH_RESOLUTION_FAILED)
    require_managed_branch(repository)
    require_clean(repository)
    message = parse_message(request.message)
    target = repository.commit_id(parse_commit_ref(git.policy, request.ref), reason)

    def work() -> Answer:
        repository.run_write(
            ["tag", "--annotate", "--no-sign", "--file=-", "--end-of-options", name, target], reason, stdin=message
        )
        return Answer(f"Tagged {target[:12]} as {name}", {"tag": name, "commit": target})

    return work
