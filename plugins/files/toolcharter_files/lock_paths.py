"""`lock_paths`: keep other owners from writing the paths that some globs match, for a limited time."""

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TypedDict

from toolcharter import Denied, Lease, Paths, ToolError, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_files.claims import build_claim, find_conflicts
from toolcharter_files.common import Count, effective_limit
from toolcharter_files.globs import InvalidGlob, escape_glob, expand_braces, is_plain, parse_glob, parse_whole_glob

PATH_LOCKED = "path_locked"
MAX_GLOBS = 32
MAX_CHARS = 256
MAX_ALTERNATIVES = 16
ALIASES = dict.fromkeys(("glob", "path", "paths", "pattern", "patterns"), "globs")


class LockPathsPolicy(ToolPolicy):
    """How far one profile lets `lock_paths` go."""

    max_ttl_ms: Count = 300_000
    """The longest lease, in milliseconds; a call may ask for a shorter one."""


class LockPathsReason(StrEnum):
    """Why `lock_paths` fails."""

    INVALID_GLOB = "invalid_glob"


class LockPathsData(TypedDict):
    """The structured result."""

    lock_id: str
    """The token that `unlock_paths` takes."""
    globs: list[str]
    ttl_ms: int


def build(workspace: Path, policy: LockPathsPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.leases`
    """Bind `lock_paths` to one profile's policy."""

    def lock_paths(globs: str | list[str], ttl_ms: Count | None = None) -> str:
        """Keep other agents from writing files for a limited time. Locks all of *globs*, or none if one is taken.

        Args:
            globs: One glob or several, relative to the workspace: `src/**`, `docs/*.md`.
            ttl_ms: How long the lock lasts at most, in milliseconds; the profile may allow less.
        """
        ctx = rt.start("lock_paths", globs=globs)
        wanted = _with_targets(rt.paths, _require_globs([globs] if isinstance(globs, str) else globs))
        ttl = effective_limit(policy.max_ttl_ms, ttl_ms)
        parsed = [parse_whole_glob(glob) for glob in wanted]

        free: set[str] = set()

        def find_new_conflicts(held: list[Lease]) -> list[Lease]:
            """Return the leases in the way. Skip the globs that an earlier call found free.

            `acquire` calls this again while it keeps all other writers waiting.
            """
            found = list(find_conflicts([lease for lease in held if lease.name not in free], parsed, rt.deadline))
            free.update({lease.name for lease in held} - {lease.name for lease in found})
            return found

        _require_free(find_new_conflicts(rt.leases.others()))
        ctx.policy_passed()
        lock_id, taken = rt.leases.acquire([build_claim(glob) for glob in wanted], ttl / 1000, find_new_conflicts)
        _require_free(taken)
        data = LockPathsData(lock_id=lock_id, globs=wanted, ttl_ms=ttl)
        return ctx.ok(f"Locked {', '.join(wanted)} for {ttl} ms, as {lock_id}", data=data)

    return lock_paths


SPEC = ToolSpec(
    "lock_paths",
    LockPathsPolicy,
    build,
    reasons=LockPathsReason,
    capabilities={"fs:lock"},
    safety="low",
    staged=True,
    group="fs",
    argument_aliases={**ALIASES, "ttl": "ttl_ms"},
    output=LockPathsData,
)


def _require_globs(globs: list[str]) -> list[str]:
    if not 1 <= len(globs) <= MAX_GLOBS:
        raise ToolError(f"Give 1 to {MAX_GLOBS} globs.", reason=LockPathsReason.INVALID_GLOB)
    for glob in globs:
        _require_size(glob)
    return list(dict.fromkeys(globs))


def _with_targets(paths: Paths, globs: list[str]) -> list[str]:
    """*globs*, and the same globs with links resolved: a write through a link changes the link's target."""
    targets = [_resolve_target(paths, glob) for glob in globs]
    for target in targets:
        _require_size(target)
    return list(dict.fromkeys((*globs, *targets)))


def _resolve_target(paths: Paths, glob: str) -> str:
    split, whole = parse_glob(glob), parse_whole_glob(glob).rest
    if is_plain(whole):
        resolved = _resolve_links(paths, whole)
        return glob if resolved == whole else escape_glob(resolved)
    resolved = _resolve_links(paths, split.folder)
    return glob if resolved == split.folder else f"{escape_glob(resolved)}/{split.rest}"


def _resolve_links(paths: Paths, path: str) -> str:
    """*path* with links resolved; *path* itself if no file or folder can be opened there."""
    for opened in (paths.open_folder, paths.open_file):
        with suppress(Denied, ToolError), opened(path) as held:
            return held.path
    return path


def _require_size(glob: str) -> None:
    try:
        fits = len(glob) <= MAX_CHARS and len(expand_braces(parse_whole_glob(glob).rest)) <= MAX_ALTERNATIVES
    except InvalidGlob as error:
        raise ToolError(f"Invalid glob: {error}.", reason=LockPathsReason.INVALID_GLOB) from error
    if not fits:
        message = (
            f"Invalid glob: it has more than {MAX_CHARS} characters, or its braces more than {MAX_ALTERNATIVES}"
            " alternatives."
        )
        raise ToolError(message, reason=LockPathsReason.INVALID_GLOB)


def _require_free(taken: list[Lease]) -> None:
    if taken:
        held = ", ".join(f"{lease.name!r} by {lease.holder}" for lease in taken)
        message = f"Nothing was locked: there are locks on {held}."
        raise Denied(PATH_LOCKED, message, hint="Work on something else, and try again later.")
