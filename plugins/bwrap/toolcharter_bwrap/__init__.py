"""The runner `bwrap`: each program in a sandbox of its own, made by bubblewrap, with the workspace and little else.

Nothing falls back to the host: without bubblewrap, or where the kernel refuses it, every program is refused.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import ExtensionSpec, hookimpl, lazy
from toolcharter_bwrap.policy import BwrapPolicy

if TYPE_CHECKING:
    from toolcharter_bwrap import runner
else:
    runner = lazy("toolcharter_bwrap.runner")  # a list of plugins needs none of it


def build(workspace: Path, policy: BwrapPolicy) -> Any:  # noqa: ARG001 - a runner is opened for a scope, which names the workspace
    """The object whose hook opens the runner; it starts nothing."""
    return runner.Bwrap(policy)


SPEC = ExtensionSpec("bwrap", BwrapPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[BwrapPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
