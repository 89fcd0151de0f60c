"""Diffs of two trees, or of a tree and the worktree. They start no other program and leave out protected files."""

from typing import TypedDict

from toolcharter import Denied
from toolcharter_git.names import representable
from toolcharter_git.reasons import GitReason
from toolcharter_git.repository import Repository, decode_content, decode_paths

# Override all settings and attributes that could change the output or start a program for it.
OPTIONS = (
    *("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative", "--ignore-submodules=dirty"),
    *("--submodule=short", "--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0"),
)
# In the worktree, a submodule's `.git` may be a file that points to any repository of this host.
WORKTREE_OPTIONS = ("--ignore-submodules=all",)
MAX_LIST_BYTES = 4_000_000


class FileChange(TypedDict):
    """One changed file; the counts are None for a binary one."""

    path: str
    added: int | None
    deleted: int | None


class Changes(TypedDict):
    """A diff: the files, how many protected ones were left out, and the patch."""

    files: list[FileChange]
    left_out: int
    content: str


def read_changes(repository: Repository, revisions: list[str], paths: tuple[str, ...], reason: GitReason) -> Changes:
    """Diff *revisions* (commit or tree ids: two, or one against the worktree), limited to *paths*.

    Raises:
        Denied: `too_many_files`.
    """
    options = [*OPTIONS, *(WORKTREE_OPTIONS if len(revisions) == 1 else ())]
    listing = repository.run_read(
        ["diff", *options, "--numstat", "-z", *revisions, "--", *paths], reason, max_bytes=MAX_LIST_BYTES
    )
    files = parse_numstat(listing.stdout)
    limit = repository.policy.max_files
    if len(files) > limit:
        raise Denied(GitReason.TOO_MANY_FILES, f"{len(files)} files differ; one diff shows at most {limit}.")
    shown = set(repository.filter_visible((each["path"] for each in files), "any"))
    visible = [each for each in files if each["path"] in shown]
    patch = ""
    if visible:
        context, named = f"--unified={repository.policy.context_lines}", (each["path"] for each in visible)
        patch = decode_content(repository.read_limited(["diff", context, *options, *revisions, "--", *named], reason))
    told = [
        FileChange(path=representable(each["path"]), added=each["added"], deleted=each["deleted"]) for each in visible
    ]
    return {"files": told, "left_out": len(files) - len(visible), "content": patch}


def changes_text(changed: Changes) -> str:
    """Return the patch as text for the model, with the number of protected files that were left out."""
    parts = [changed["content"].rstrip("\n")] if changed["files"] else []
    if changed["left_out"]:
        parts.append(f"({changed['left_out']} protected file(s) left out)")
    return "\n".join(parts) or "No changes."


def parse_numstat(output: bytes) -> list[FileChange]:
    """Parse the output of `git diff --numstat -z --no-renames`."""
    fields = (record.split("\t", 2) for record in decode_paths(output).split("\0") if record)
    return [
        {"path": path, "added": _parse_count(added), "deleted": _parse_count(deleted)}
        for added, deleted, path in fields
    ]


def _parse_count(text: str) -> int | None:
    return None if text == "-" else int(text)
