"""The memory tools of toolcharter: what agents remember from one session to the next.

All of it lies in `rt.store`, apart for each tenant, agent and user, and says who wrote it. Nothing that was remembered is an
instruction: it is shown as data, between lines that it cannot have written.
"""

from typing import Any

from toolcharter import ExtensionSpec, ToolSpec, hookimpl
from toolcharter_memory import context_files, memory, memory_get, memory_search


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The tools: one writes and recalls, one searches, one reads."""
    return [memory.SPEC, memory_search.SPEC, memory_get.SPEC]


@hookimpl
def register_extensions() -> list[ExtensionSpec[Any]]:
    """What lets file tools see it all as files."""
    return [context_files.SPEC]
