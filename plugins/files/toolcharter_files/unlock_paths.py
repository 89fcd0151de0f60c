"""`unlock_paths`: locks go before their time."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_files.locks import LOCKS_UNAVAILABLE, Locks, owner_of


class UnlockPathsPolicy(ToolPolicy):
    """Nothing to say: each caller unlocks what is its own."""


class UnlockPathsReason(StrEnum):
    """Why `unlock_paths` fails."""

    LOCKS_UNAVAILABLE = LOCKS_UNAVAILABLE


class UnlockPathsData(BaseModel):
    """The structured result."""

    globs: list[str]
    """What is no longer locked."""


def build(
    workspace: Path,
    policy: UnlockPathsPolicy,  # noqa: ARG001 - every constructor takes it
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `unlock_paths` to one profile."""
    locks = Locks(workspace)

    def unlock_paths(tokens: str | list[str] | None = None) -> str:
        """Let others write again what this caller has locked.

        Args:
            tokens: The `lock_id` that `lock_paths` gave, or several; all locks of this caller by default.
        """
        ctx = rt.start("unlock_paths")
        wanted = [tokens] if isinstance(tokens, str) else tokens
        owner = owner_of(rt.caller)
        ctx.policy_passed()
        globs = locks.release(owner, wanted, rt.deadline)
        said = f"Unlocked {', '.join(globs)}" if globs else "Nothing was locked by this caller by such a name."
        return ctx.ok(said, data={"globs": globs})

    return unlock_paths


SPEC = ToolSpec(
    "unlock_paths",
    UnlockPathsPolicy,
    build,
    reasons=UnlockPathsReason,
    capabilities={"fs:lock"},
    safety="low",
    staged=True,
    group="fs",
    argument_aliases={"token": "tokens", "lock_id": "tokens"},
    output=UnlockPathsData,
)
