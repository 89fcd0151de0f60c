"""The shell tools of toolcharter: `bash` runs a command line, `execute_code` a program that an agent has written.

The profile's `bash:` rules and the gate's shell guard decide what may run; the profile's runner decides where.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_shell import bash, execute_code


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The two tools of this distribution."""
    return [bash.SPEC, execute_code.SPEC]
