"""The text tools of toolcharter: `json_parse` and `text_search`, for text that is given and for single files.

They look and change nothing. Files are read through `rt.paths`; what a pattern or a query may cost is bounded.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_text import json_parse, text_search


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The two tools of this distribution."""
    return [json_parse.SPEC, text_search.SPEC]
