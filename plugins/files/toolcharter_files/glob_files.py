"""`glob`: find files by their paths."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TypedDict

from toolcharter import Denied, Paths, ToolError, ToolRuntime, ToolSpec
from toolcharter_files.common import Count, FilesPolicy, effective_limit, quote_unprintable, to_valid_text
from toolcharter_files.ripgrep import list_names
from toolcharter_files.scopes import Scope, open_scopes, parse_all


class GlobPolicy(FilesPolicy):
    """How far one profile lets `glob` go."""

    max_results: Count = 200
    """The most paths one call returns; a call may ask for fewer."""


class GlobReason(StrEnum):
    """Why `glob` fails. The path guard adds reasons of its own."""

    INVALID_GLOB = "invalid_glob"


class GlobData(TypedDict):
    """The structured result."""

    items: list[str]
    """Paths relative to the workspace, sorted; absolute below a read root."""
    truncated: bool


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: GlobPolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `glob` to one profile's policy."""
    paths = policy.paths(rt)

    def glob(globs: str | list[str] | None = None, path: str = ".", max_results: Count | None = None) -> str:
        """Find files of the workspace by name; ignore files (.gitignore) are respected, links not followed.

        Args:
            globs: One glob or several: `*.py` (at any depth), `src/**/test_*.py`, `docs/*.{md,rst}`.
                Everything by default.
            path: The folder that the globs are relative to.
            max_results: Return at most this many paths; the profile may allow fewer.
        """
        ctx = rt.start("glob", globs=globs, path=path)
        parsed = parse_all(globs)
        with open_scopes(paths, path, parsed) as scopes:
            ctx.policy_passed()
            found, cut = _find_names(rt, scopes)
        items, more = _existing_paths(paths, found, effective_limit(policy.max_results, max_results))
        truncated = cut or more
        lines = [quote_unprintable(item) for item in items] or ["No file matches."]
        if truncated:
            lines.append(f"[truncated: the first {len(items)} paths; narrow the globs]")
        return ctx.ok("\n".join(lines), data={"items": items, "truncated": truncated}, truncated=truncated)

    return glob


SPEC = ToolSpec(
    "glob",
    GlobPolicy,
    build,
    reasons=GlobReason,
    capabilities={"fs:read"},
    safety="low",
    staged=True,
    group="fs",
    aliases=("find_files",),
    argument_aliases={
        "glob": "globs", "pattern": "globs", "patterns": "globs",
        "dir": "path", "directory": "path", "folder": "path",
    },
    output=GlobData,
)  # fmt: skip


def _find_names(rt: ToolRuntime, scopes: list[Scope]) -> tuple[list[str], bool]:
    found: set[str] = set()
    cut = False
    for scope in scopes:
        found.update(map(scope.path, scope.virtual()))
        if not scope.folder.is_on_disk():
            continue
        names, incomplete = list_names(rt, scope.folder, scope.globs)
        found.update(scope.path(name) for name in names if scope.includes(name))
        cut = cut or incomplete
    return sorted(found), cut


def _existing_paths(paths: Paths, found: list[str], limit: int) -> tuple[list[str], bool]:
    """The paths of *found* that exist now and may be shown, at most *limit*, and whether there are more."""
    items: list[str] = []
    for name in found:
        if len(items) == limit:
            return items, True
        if _exists(paths, name):
            items.append(to_valid_text(name))
    return items, False


def _exists(paths: Paths, name: str) -> bool:
    try:
        with paths.open_file(name):
            return True
    except Denied:
        return False
    except ToolError as error:
        return error.reason in {"read_failure", "invalid_path"}  # a link swapped in on the way cannot cause these
