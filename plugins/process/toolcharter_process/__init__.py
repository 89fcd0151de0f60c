"""The tool `background_process` of toolcharter: programs on real terminals that go on between calls.

What may run is for the profile's `bash:` rules and the gate's shell guard; where it runs, for the profile's runner.
"""

from toolcharter import ToolSpec, hookimpl
from toolcharter_process.policy import ProcessPolicy
from toolcharter_process.tool import SPEC


@hookimpl
def register_tools() -> list[ToolSpec[ProcessPolicy]]:
    """The one tool of this distribution."""
    return [SPEC]
