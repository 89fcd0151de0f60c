"""The memory tools of toolcharter: what agents remember from one session to the next.

Memories are kept in `rt.store`, separately for each tenant, agent and user, with their authors. A remembered text is no
instruction: it is shown as data, between marker lines that the text cannot contain.
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
    """The extension that shows context files and memory documents to file tools."""
    return [context_files.SPEC]
