"""Makes DuckDuckGo's request and parses its results with the library `ddgs`, but without the library's HTTP client.

Imported only in a child process, through `rt.compute`, because the page is untrusted HTML.
"""

from contextlib import suppress
from typing import Any

from ddgs.engines.duckduckgo import Duckduckgo

from toolcharter import ToolError


class _RequestCaptured(Exception):
    """Ends the library's search at the point where it would send its request."""


class _Engine(Duckduckgo):
    """The library's engine without a client. It captures the request, and answers it with *page* if there is one."""

    def __init__(self, page: str | None = None) -> None:
        """Skip the library's constructor, which makes an HTTP client."""
        self.page = page
        self.captured: list[Any] = []

    def request(self, *args: Any, **options: Any) -> Any:
        self.captured = [args[1], options["data"]]
        if self.page is None:
            raise _RequestCaptured
        return self.page


def build_request(query: str) -> list[Any]:
    """Return the URL to post to, and the fields of the form."""
    engine = _Engine()
    with suppress(_RequestCaptured):
        engine.search(query)
    return engine.captured


def parse_results(query: str, page: str) -> list[dict[str, str]]:
    """Parse the results in a page.

    Raises:
        ToolError: `search_failed`.
    """
    try:
        found = _Engine(page).search(query) or []
    except Exception as error:  # a library that parses untrusted HTML
        raise ToolError("The search provider's answer cannot be read.", reason="search_failed") from error
    return [{"title": one.title, "url": one.href, "snippet": one.body} for one in found]
