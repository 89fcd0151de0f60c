"""The extension `scripted`: runs agents by a script, for tests and demonstrations without a model.

The calls of a script are governed like those of any agent: a call that the profile denies is denied.
"""

from pathlib import Path

from toolcharter import ExtensionSpec, hookimpl
from toolcharter_scripted.policy import ScriptedPolicy
from toolcharter_scripted.script import Script


def build(workspace: Path, policy: ScriptedPolicy) -> Script:  # noqa: ARG001 - the same for every workspace
    """Return the extension that runs the agents of one toolbox."""
    return Script(policy)


SPEC = ExtensionSpec("scripted", ScriptedPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[ScriptedPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
