"""The tool `background_process` of toolcharter: programs on real terminals that keep running between calls.

The profile's `bash:` rules and the gate's shell guard decide what may run; the profile's runner decides where.
"""

from toolcharter import ToolSpec, hookimpl
from toolcharter_process.policy import ProcessPolicy
from toolcharter_process.tool import SPEC


@hookimpl
def register_tools() -> list[ToolSpec[ProcessPolicy]]:
    """The one tool of this distribution."""
    return [SPEC]
