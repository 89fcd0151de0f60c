"""The web tools of toolcharter: `web` searches and reads pages, `http_get` and `html_scraper` fetch one URL each.

They reach only public addresses, through `rt.http`, and only read. The text that they return is untrusted, and marked
as such.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_web import html_scraper, http_get, web


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The three tools of this distribution."""
    return [html_scraper.SPEC, http_get.SPEC, web.SPEC]
