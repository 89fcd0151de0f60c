"""The text tools of toolcharter: `json_parse` and `text_search`, for text in the call and for single files.

They only read. Files are read through `rt.paths`; the cost of a pattern or a query is bounded.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_text import json_parse, text_search


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The two tools of this distribution."""
    return [json_parse.SPEC, text_search.SPEC]
