"""The state of the current branch and the worktree: `status` shows it, and actions that write depend on it."""

from dataclasses import dataclass
from typing import TypedDict

from toolcharter import Denied
from toolcharter_git.names import representable
from toolcharter_git.reasons import GitReason
from toolcharter_git.repository import Repository, decode_paths

_ARGS = (
    *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=dirty"),
    *("--no-renames", "--no-ahead-behind", "--no-show-stash"),
)
MAX_BYTES = 4_000_000


class StatusItem(TypedDict):
    """One changed path of `status`: its state in the index and in the worktree, in git's letters."""

    path: str
    index: str
    worktree: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One changed path; `.` stands for unchanged, `?` for untracked, `U` for unmerged."""

    path: str
    index: str
    worktree: str
    is_submodule: bool = False

    @property
    def is_repository(self) -> bool:
        """Whether the path is a repository within the repository, tracked or not."""
        return self.is_submodule or self.path.endswith("/")

    def as_item(self) -> StatusItem:
        """The entry as JSON types."""
        return {"path": representable(self.path), "index": self.index, "worktree": self.worktree}


@dataclass(frozen=True, slots=True)
class State:
    """The current branch (`HEAD` if there is none) and every change that is not committed."""

    branch: str
    commit: str | None
    upstream: str | None
    entries: tuple[Entry, ...]


def inspect_state(repository: Repository, reason: GitReason, paths: tuple[str, ...] = ()) -> State:
    """Ask git for the state of the whole worktree, or of *paths*."""
    answer = repository.run_read([*_ARGS, "--", *paths], reason, max_bytes=MAX_BYTES)
    return parse_state(answer.stdout)


def parse_state(output: bytes) -> State:
    """Parse the output of `git status --porcelain=v2 --branch -z --no-renames`.

    Source: git-status(1), "Porcelain Format Version 2".
    """
    headers: dict[str, str] = {}
    entries: list[Entry] = []
    for record in decode_paths(output).split("\0"):
        if record.startswith("# "):
            name, _, value = record[2:].partition(" ")
            headers[name] = value
        elif record:
            entries.append(_parse_entry(record))
    branch, commit = headers.get("branch.head", "(detached)"), headers.get("branch.oid", "(initial)")
    return State(
        branch="HEAD" if branch == "(detached)" else representable(branch),
        commit=None if commit == "(initial)" else commit,
        upstream=representable(headers["branch.upstream"]) if "branch.upstream" in headers else None,
        entries=tuple(entries),
    )


def _parse_entry(record: str) -> Entry:
    kind, _, rest = record.partition(" ")
    if kind == "?":
        return Entry(rest, "?", "?")
    fields = {"1": 7, "u": 9}[kind]
    states, submodule, *_, path = rest.split(" ", fields)
    return Entry(path, states[0], states[1], is_submodule=submodule.startswith("S"))


def require_managed_branch(repository: Repository) -> str:
    """Return the current branch; refuse it without the managed prefix if the policy requires that for writes."""
    policy = repository.policy
    branch = current_branch(repository)
    prefix = policy.managed_branch_prefix
    if policy.enforce_prefix_for_writes and not branch.startswith(prefix):
        raise Denied(
            GitReason.BRANCH_PREFIX_REQUIRED,
            f"The current branch {branch!r} does not begin with {prefix!r}.",
            hint=f"Use create_branch or checkout first: they put {prefix!r} before the name.",
        )
    return branch


def current_branch(repository: Repository) -> str:
    """Return the name of the current branch, also if it has no commit yet; `HEAD` if there is none."""
    return repository.read_line(["branch", "--show-current"], GitReason.BRANCH_RESOLUTION_FAILED) or "HEAD"


def require_clean(repository: Repository, *, staged_is_clean: bool = False) -> State:
    """Return the state; refuse a dirty worktree unless the policy allows it.

    Raises:
        Denied: `dirty_worktree`, if a change is not committed; with *staged_is_clean*, if a change is not even staged.
    """
    state = inspect_state(repository, GitReason.WORKTREE_INSPECTION_FAILED)
    dirty = [entry.path for entry in state.entries if not (staged_is_clean and entry.worktree == ".")]
    # A protected file can never be added, so it must not block the actions that need a clean worktree.
    dirty = repository.filter_visible(dirty)
    if dirty and not repository.policy.allow_worktree_dirty:
        message = f"The worktree has {len(dirty)} uncommitted change(s); the first is {dirty[0]!r}."
        raise Denied(GitReason.DIRTY_WORKTREE, message)
    return state
