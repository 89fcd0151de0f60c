"""The runner `bwrap`: each program in a sandbox of its own, made by bubblewrap, with the workspace and little else.

Nothing falls back to the host: without bubblewrap, or where the kernel refuses it, every program is refused.
"""

from pathlib import Path
from typing import Any

from toolcharter import ExtensionSpec, hookimpl
from toolcharter_bwrap.policy import BwrapPolicy


def build(workspace: Path, policy: BwrapPolicy) -> Any:  # noqa: ARG001 - a runner is opened for a scope, which names the workspace
    """The object whose hook opens the runner; it starts nothing."""
    from toolcharter_bwrap.runner import Bwrap  # noqa: PLC0415 - a list of plugins needs none of it

    return Bwrap(policy)


SPEC = ExtensionSpec("bwrap", BwrapPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[BwrapPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
