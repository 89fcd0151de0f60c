"""The file tools of toolcharter, reading half: `read_file`, `list_files`, `glob` and `grep`.

They look and change nothing. All that they show was read through `rt.paths`, so nothing from
outside the workspace and nothing protected can appear in a result.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_files import glob_files, grep, list_files, read_file


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The four file tools."""
    return [glob_files.SPEC, grep.SPEC, list_files.SPEC, read_file.SPEC]
