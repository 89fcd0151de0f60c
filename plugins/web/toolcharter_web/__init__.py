"""The web tools of toolcharter: `web` searches and reads pages, `http_get` and `html_scraper` take one URL each.

They reach public addresses, through `rt.http`, and change nothing. What they bring was written by strangers and is
marked as such.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_web import html_scraper, http_get, web


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The three tools of this distribution."""
    return [html_scraper.SPEC, http_get.SPEC, web.SPEC]
