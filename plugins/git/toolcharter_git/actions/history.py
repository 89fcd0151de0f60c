"""`status`, `log`, `show` and `rev_parse`."""

from collections.abc import Callable

from toolcharter_git import names
from toolcharter_git.changes import changes_text, read_changes
from toolcharter_git.reasons import GitReason, git_error
from toolcharter_git.repository import Git, Repository, decode_content, decode_paths, decode_text
from toolcharter_git.request import Answer, Request, parse_max_count, parse_paths, parse_ref
from toolcharter_git.worktree import State, inspect_state

FIELDS = ("commit", "parents", "author", "email", "date", "subject")
_FORMAT = "%H%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%s%x1f"
_LOG = ("log", "-z", "--no-color", "--no-decorate", "--no-mailmap", "--no-notes", "--no-show-signature", "--no-patch")


def status(git: Git, request: Request) -> Callable[[], Answer]:
    """Show the current branch and every path that differs from it."""
    reason = GitReason.GIT_STATUS_FAILED
    paths = parse_paths(request.paths)
    repository = git.open(request.action, reason)
    repository.require_visible(paths)

    def work() -> Answer:
        state = inspect_state(repository, reason, paths)
        items = [entry.as_item() for entry in state.entries[: git.policy.max_files]]
        data = {"branch": state.branch, "commit": state.commit, "upstream": state.upstream}
        return Answer(_status_text(state, len(items)), {**data, "clean": not state.entries, "items": items})

    return work


def log(git: Git, request: Request) -> Callable[[], Answer]:
    """List the latest commits of `ref`, or of a range `A..B`."""
    reason = GitReason.GIT_LOG_FAILED
    ref = parse_ref(git.policy, request.ref)
    if ":" in ref:
        raise git_error(GitReason.INVALID_REF, "ref must name commits.")
    count = parse_max_count(request.max_count)
    paths = parse_paths(request.paths)
    repository = git.open(request.action, reason)
    repository.require_visible(paths)

    def work() -> Answer:
        most = git.policy.max_commits
        wanted = f"--max-count={min(count, most + 1)}"
        commits, is_cut = _read_commits(
            repository, [wanted, _resolve_range(repository, ref, reason), "--", *paths], reason
        )
        has_more = is_cut or len(commits) > most
        del commits[most:]
        lines = [f"{each['commit'][:12]} {each['date'][:10]} {each['author']}: {each['subject']}" for each in commits]
        lines += [f"[truncated: only the latest {len(commits)} commits are listed]"] if has_more else []
        return Answer("\n".join(lines) or "No commits.", {"items": commits, "truncated": has_more})

    return work


def show(git: Git, request: Request) -> Callable[[], Answer]:
    """Show one commit with its changes, or a file or folder as it is in a commit (`REF:path`)."""
    reason = GitReason.GIT_SHOW_FAILED
    ref, path = _split_place(parse_ref(git.policy, request.ref))
    if ".." in ref:
        raise git_error(GitReason.INVALID_REF, "ref must name one commit.")
    repository = git.open(request.action, reason)
    if path is None:
        return lambda: _show_commit(repository, repository.commit_id(ref, reason), reason)
    place = _require_readable_place(repository, path)
    return lambda: _show_file(repository, repository.commit_id(ref, reason), place, reason)


def rev_parse(git: Git, request: Request) -> Callable[[], Answer]:
    """Return the id of the object that `ref` names."""
    reason = GitReason.GIT_REV_PARSE_FAILED
    ref, path = _split_place(parse_ref(git.policy, request.ref))
    repository = git.open(request.action, reason)
    full = ref if path is None else f"{ref}:{_require_readable_place(repository, path)}"

    def work() -> Answer:
        found = repository.read_line(["rev-parse", "--verify", "--end-of-options", full], reason)
        return Answer(found, {"ref": full, "id": found})

    return work


def _status_text(state: State, shown: int) -> str:
    head = f"On branch {state.branch}" if state.branch != "HEAD" else f"Detached at {state.commit}"
    lines = [
        f"{entry.index}{entry.worktree} {names.quote_unprintable(names.representable(entry.path))}"
        for entry in state.entries[:shown]
    ]
    rest = len(state.entries) - shown
    tail = [f"({rest} more)"] if rest else []
    return "\n".join((head, *(lines or ["Nothing to commit, the worktree is clean."]), *tail))


def _read_commits(
    repository: Repository, args: list[str], reason: GitReason, body: str = ""
) -> tuple[list[dict[str, str]], bool]:
    """The commits, and whether the last ones are missing because git printed more than is read."""
    answer = repository.read_limited([*_LOG, f"--format=tformat:{_FORMAT}{body}", *args], reason)
    *whole, cut = decode_text(answer.stdout).split("\0")
    if not whole:  # the first commit was cut already: its last line may end within a secret
        whole = [cut[: cut.rfind("\n") + 1] or cut]
    records = [record.split("\x1f", len(FIELDS)) for record in whole]
    fields: list[str] = [*FIELDS, "body"] if body else [*FIELDS]
    found = [dict(zip(fields, record, strict=False)) for record in records if len(record) >= len(FIELDS)]
    return found, answer.truncated


def _resolve_range(repository: Repository, ref: str, reason: GitReason) -> str:
    dots = "..." if "..." in ref else ".."
    if dots not in ref:
        return repository.commit_id(ref, reason)
    base, _, head = ref.partition(dots)
    return dots.join(repository.commit_id(end or "HEAD", reason) for end in (base, head))


def _split_place(ref: str) -> tuple[str, str | None]:
    revision, colon, path = ref.partition(":")
    return revision, path if colon else None


def _require_readable_place(repository: Repository, path: str) -> str:
    parts = names.split_path(path) if path else []
    if parts is None or ".." in parts:
        raise git_error(GitReason.INVALID_REF, "the path in ref leads out of the repository.")
    place = "/".join(parts)
    if place:
        repository.require_visible([place], "any")
    return place


def _show_commit(repository: Repository, commit: str, reason: GitReason) -> Answer:
    found, _ = _read_commits(repository, ["--max-count=1", commit, "--"], reason, body="%b")
    if not found:
        raise git_error(reason, "the commit's author has too long a name to be shown.")
    item = found[0]
    message = f"{item['subject']}\n\n{item.pop('body', '')}".strip()
    first = item["parents"].partition(" ")[0] or repository.empty_tree(reason)
    changed = read_changes(repository, [first, commit], (), reason)
    head = f"commit {commit}\nAuthor: {item['author']} <{item['email']}>\nDate: {item['date']}\n\n{message}\n\n"
    return Answer(head + changes_text(changed), {"kind": "commit", **item, "message": message, **changed})


def _show_file(repository: Repository, commit: str, place: str, reason: GitReason) -> Answer:
    kind = repository.read_line(["cat-file", "-t", f"{commit}:{place}"], reason)
    if kind == "tree":
        return _show_tree(repository, commit, place, reason)
    if kind != "blob":
        raise git_error(reason, f"{place!r} is a {kind}.")
    content = decode_content(repository.read_limited(["cat-file", "blob", f"{commit}:{place}"], reason))
    return Answer(content, {"kind": "file", "commit": commit, "path": place, "content": content})


def _show_tree(repository: Repository, commit: str, place: str, reason: GitReason) -> Answer:
    listing = decode_paths(repository.run_read(["ls-tree", "-z", f"{commit}:{place}"], reason).stdout)
    rows = [record.partition("\t") for record in listing.split("\0") if record]
    found = [name + "/" * (facts.split(" ")[1] == "tree") for facts, _, name in rows]
    shown = {*repository.filter_visible("/".join(filter(None, (place, name))) for name in found)}
    items = [names.representable(name) for name in found if "/".join(filter(None, (place, name))) in shown]
    return Answer(
        "\n".join(map(names.quote_unprintable, items)) or "An empty folder.",
        {"kind": "folder", "commit": commit, "path": place, "items": items},
    )
