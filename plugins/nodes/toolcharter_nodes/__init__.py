"""The tool `nodes` of toolcharter: stored graphs of tool calls.

A graph has no permissions of its own: when it runs, each of its calls goes through the gate, as a child of the run's
call.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_nodes.nodes import SPEC


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """Offer the tool `nodes`."""
    return [SPEC]
