"""What DuckDuckGo is asked, and what its page of results says: the library `ddgs`, without its HTTP client.

Imported in a child process alone, through `rt.compute`: the page is a stranger's HTML.
"""

from contextlib import suppress
from typing import Any

from ddgs.engines.duckduckgo import Duckduckgo

from toolcharter import ToolError


class _Asked(Exception):
    """Ends the library's search where it would send its question."""


class _Engine(Duckduckgo):
    """Its questions and its reading of answers; *page* is the answer, if there is one yet."""

    def __init__(self, page: str | None = None) -> None:
        """Without the client of its own."""
        self.page = page
        self.question: list[Any] = []

    def request(self, *args: Any, **options: Any) -> Any:
        self.question = [args[1], options["data"]]
        if self.page is None:
            raise _Asked
        return self.page


def question(query: str) -> list[Any]:
    """The URL to post to, and the fields of the form."""
    engine = _Engine()
    with suppress(_Asked):
        engine.search(query)
    return engine.question


def results(query: str, page: str) -> list[dict[str, str]]:
    """The results that a page holds.

    Raises:
        ToolError: `search_failed`.
    """
    try:
        found = _Engine(page).search(query) or []
    except Exception as error:  # a library that reads a stranger's HTML
        raise ToolError("The search provider's answer cannot be read.", reason="search_failed") from error
    return [{"title": one.title, "url": one.href, "snippet": one.body} for one in found]
