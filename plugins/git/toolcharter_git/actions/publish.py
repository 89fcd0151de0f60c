"""`push`: push one branch or one tag to one remote that the policy lists."""

from collections.abc import Callable

from toolcharter import Denied
from toolcharter_git import names
from toolcharter_git.layout import has_old_remotes
from toolcharter_git.policy import GitPolicy
from toolcharter_git.reasons import GitReason, git_error
from toolcharter_git.repository import Git, Repository
from toolcharter_git.request import Answer, Request, parse_branch, parse_tag
from toolcharter_git.worktree import require_clean, require_managed_branch

# Always by URL, never by the remote's name: git then ignores the repository's settings for that remote.
_PUSH = (
    *("push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--no-thin", "--no-force"),
    *("--no-mirror", "--no-all", "--no-tags", "--no-prune", "--no-set-upstream", "--recurse-submodules=no"),
)


def push(git: Git, request: Request) -> Callable[[], Answer]:
    """Push `branch` (the current one by default), or `tag`, under its own name and without force."""
    reason = GitReason.GIT_PUSH_FAILED
    if not request.remote.strip():
        raise git_error(GitReason.EMPTY_REMOTE, "remote is empty.")
    if not names.is_remote_name(request.remote):
        raise git_error(GitReason.REMOTE_NOT_ALLOWED, "remote is not the name of a remote.")
    named = _requested_ref(git.policy, request)
    if request.remote not in git.policy.allowed_remotes:
        raise Denied(GitReason.REMOTE_NOT_ALLOWED, f"The profile allows no pushes to the remote {request.remote!r}.")
    repository = git.open(request.action, GitReason.BRANCH_RESOLUTION_FAILED)
    current = require_managed_branch(repository)
    require_clean(repository)
    ref = named or _current_or_named(git.policy, current)
    if has_old_remotes(repository.git_dir):
        raise Denied(GitReason.UNSAFE_REPOSITORY, "'.git/remotes' or '.git/branches' describes remotes.")
    url, protocol = _push_url(repository, request.remote)
    source = repository.read_line(["rev-parse", "--verify", "--quiet", "--end-of-options", ref], reason)

    def work() -> Answer:
        answer = repository.run_write([*_PUSH, "--", url, f"{source}:{ref}"], reason, protocol=protocol)
        summary = _push_summary(answer.stdout)
        data: dict[str, object] = {"remote": request.remote, "ref": ref, "id": source, "summary": summary}
        return Answer(f"Pushed {ref} to {request.remote}: {summary}", data)

    return work


def _requested_ref(policy: GitPolicy, request: Request) -> str | None:
    """The reference that the call names; None if it names neither a tag nor a branch."""
    if request.tag:
        return f"refs/tags/{parse_tag(policy, request.tag)}"
    return _current_or_named(policy, request.branch) if request.branch else None


def _current_or_named(policy: GitPolicy, name: str) -> str:
    branch = parse_branch(policy, name)
    if policy.allowed_branches is not None and branch not in policy.allowed_branches:
        raise Denied(GitReason.BRANCH_NOT_ALLOWED, f"The branch {branch!r} may not be pushed.")
    return f"refs/heads/{branch}"


def _push_url(repository: Repository, remote: str) -> tuple[str, str]:
    """The URL to push to and its protocol: from the policy, or else from the repository's configuration."""
    pinned = repository.policy.remote_urls.get(remote)
    urls = [pinned] if pinned is not None else repository.setting_values(f"remote.{remote}.url")
    if len(urls) != 1:
        raise git_error(GitReason.GIT_PUSH_FAILED, f"the remote {remote!r} has {len(urls)} URLs, not one.")
    protocol = names.protocol_of(urls[0])
    if protocol is None or (protocol == "file" and pinned is None):
        raise Denied(
            GitReason.REMOTE_NOT_ALLOWED,
            f"The URL of the remote {remote!r} is neither https nor ssh.",
            hint="An operator may list a 'file' URL under remote_urls.",
        )
    return urls[0], protocol


def _push_summary(output: bytes) -> str:
    """Git's summary for the pushed reference: `[new branch]`, `1a2b3c..4d5e6f`, `[up to date]`."""
    rows = [line.split("\t") for line in output.decode(errors="replace").splitlines()]
    return next((row[2] for row in rows if len(row) == 3), "done")  # noqa: PLR2004 - flag, reference, summary
