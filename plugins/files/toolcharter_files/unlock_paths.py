"""`unlock_paths`: release locks before they expire."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec


class UnlockPathsPolicy(ToolPolicy):
    """No settings: each caller can release only its own locks."""


class UnlockPathsData(TypedDict):
    """The structured result."""

    globs: list[str]
    """The globs that are no longer locked."""


def build(
    workspace: Path,  # noqa: ARG001 - `rt.leases`
    policy: UnlockPathsPolicy,  # noqa: ARG001 - every constructor takes it
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `unlock_paths` to one profile."""

    def unlock_paths(tokens: str | list[str] | None = None) -> str:
        """Release this caller's locks, so that other agents can write the files again.

        Args:
            tokens: The `lock_id` that `lock_paths` returned, or several; all locks of this caller by default.
        """
        ctx = rt.start("unlock_paths")
        wanted = [tokens] if isinstance(tokens, str) else tokens
        ctx.policy_passed()
        globs = rt.leases.release(wanted)
        summary = f"Unlocked {', '.join(globs)}" if globs else "This caller has no such lock."
        return ctx.ok(summary, data={"globs": globs})

    return unlock_paths


SPEC = ToolSpec(
    "unlock_paths",
    UnlockPathsPolicy,
    build,
    reasons=(),
    capabilities={"fs:lock"},
    safety="low",
    staged=True,
    group="fs",
    argument_aliases={"token": "tokens", "lock_id": "tokens"},
    output=UnlockPathsData,
)
