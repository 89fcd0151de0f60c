"""The extension `scripted`: runs agents by the lines of a script, where tests and demonstrations have no model.

The calls of a script are governed as those of any agent: what the profile denies is denied.
"""

from pathlib import Path

from toolcharter import ExtensionSpec, hookimpl
from toolcharter_scripted.policy import ScriptedPolicy
from toolcharter_scripted.script import Script


def build(workspace: Path, policy: ScriptedPolicy) -> Script:  # noqa: ARG001 - a script is the same for every workspace
    """What runs the agents of one toolbox."""
    return Script(policy)


SPEC = ExtensionSpec("scripted", ScriptedPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[ScriptedPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
