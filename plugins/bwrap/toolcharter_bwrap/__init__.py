"""The runner `bwrap`: bubblewrap runs each program in a new sandbox, which contains the workspace and little else.

There is no fallback to the host: if bubblewrap is missing or the kernel refuses it, every program is refused.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import ExtensionSpec, hookimpl, lazy
from toolcharter_bwrap.policy import BwrapPolicy

if TYPE_CHECKING:
    from toolcharter_bwrap import runner
else:
    runner = lazy("toolcharter_bwrap.runner")  # listing the plugins does not need it


def build(workspace: Path, policy: BwrapPolicy) -> Any:  # noqa: ARG001 - a runner is opened for a scope, which names the workspace
    """Return the object whose hook opens the runner. It starts no program."""
    return runner.Bwrap(policy)


SPEC = ExtensionSpec("bwrap", BwrapPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[BwrapPolicy]]:
    """Offer the extension `bwrap`."""
    return [SPEC]
