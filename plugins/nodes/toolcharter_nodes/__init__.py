"""The tool `nodes` of toolcharter: stored graphs of calls.

A graph holds no rights: each of its calls goes through the gate when the graph runs, as a child of that call.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_nodes.nodes import SPEC


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The one tool of this distribution."""
    return [SPEC]
