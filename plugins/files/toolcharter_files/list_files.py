"""`list_files`: list the entries of one folder."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from toolcharter import Entry, ToolRuntime, ToolSpec
from toolcharter_files.common import PATH_ALIASES, Count, FilesPolicy, effective_limit, quote_unprintable, to_valid_text

_KIND_MARKS = {"folder": "/", "link": "@", "file": "", "other": "?"}


class ListFilesPolicy(FilesPolicy):
    """How far one profile lets `list_files` go."""

    max_results: Count = 1000
    """The most entries one call returns; a call may ask for fewer."""


class Item(TypedDict):
    """One entry."""

    name: str
    kind: str
    """`file`, `folder`, `link` or `other`."""
    size: int
    """In bytes; 0 for anything but a file."""


class ListFilesData(TypedDict):
    """The structured result."""

    path: str
    items: list[Item]
    total: int
    """How many entries there are, protected ones not counted."""
    truncated: bool


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: ListFilesPolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `list_files` to one profile's policy."""
    paths = policy.paths(rt)

    def list_files(path: str = ".", max_results: Count | None = None) -> str:
        """List one folder of the workspace: its files with sizes, folders (`/`) and links (`@`), by name.

        Args:
            path: Relative to the workspace, or absolute inside it; taken literally.
            max_results: Return at most this many entries; the profile may allow fewer.
        """
        ctx = rt.start("list_files", path=path)
        with paths.open_folder(path) as folder:
            ctx.policy_passed()
            entries = list(folder.entries())
            shown = entries[: effective_limit(policy.max_results, max_results)]
            data = {
                "path": folder.path,
                "items": [{"name": to_valid_text(each.name), "kind": each.kind, "size": each.size} for each in shown],
                "total": len(entries),
                "truncated": len(shown) < len(entries),
            }
        return ctx.ok(_text(shown, len(entries)), data=data)

    return list_files


SPEC = ToolSpec(
    "list_files",
    ListFilesPolicy,
    build,
    reasons=(),
    capabilities={"fs:read"},
    safety="low",
    staged=True,
    group="fs",
    aliases=("list_dir", "ls", "tool_ls"),
    argument_aliases=PATH_ALIASES,
    output=ListFilesData,
)


def _text(shown: list[Entry], total: int) -> str:
    lines = [_line(entry) for entry in shown]
    if len(shown) < total:
        lines.append(f"[truncated: {len(shown)} of {total} entries]")
    return "\n".join(lines) or "(empty)"


def _line(entry: Entry) -> str:
    name = quote_unprintable(to_valid_text(entry.name)) + _KIND_MARKS[entry.kind]
    return f"{name} ({entry.size} bytes)" if entry.kind == "file" else name
