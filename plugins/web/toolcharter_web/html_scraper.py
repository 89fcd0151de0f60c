"""`html_scraper`: returns the elements of a page that CSS selectors match."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import Field

from toolcharter import ToolRuntime, ToolSpec
from toolcharter_web.common import URL_ALIASES, Item, WebPolicy, fence_untrusted, format_item, get_page
from toolcharter_web.content import HTML

MAX_SELECTORS = 20


class HtmlScraperPolicy(WebPolicy):
    """How far one profile lets `html_scraper` go."""

    max_results: Annotated[int, Field(ge=1)] = 200
    """The most elements that one call returns; a call may ask for fewer."""


class HtmlScraperReason(StrEnum):
    """Why `html_scraper` fails, in addition to the reasons of the network guard."""

    HTTP_STATUS = "http_status"
    BINARY_CONTENT = "binary_content"
    NO_HTML = "no_html"
    INVALID_SELECTOR = "invalid_selector"


class HtmlScraperData(TypedDict):
    """The structured result."""

    url: str
    """The URL of the last request, after redirects."""
    items: list[Item]
    """The elements; their text is untrusted."""
    truncated: bool


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: HtmlScraperPolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `html_scraper` to one policy."""

    def html_scraper(
        url: str,
        selectors: Annotated[list[str], Field(min_length=1, max_length=MAX_SELECTORS)],
        attributes: list[str] | None = None,
        max_results: Annotated[int, Field(ge=1)] | None = None,
    ) -> str:
        """Fetch a page and return the elements that CSS selectors match, each with its text and attributes.

        Args:
            url: Absolute, http or https.
            selectors: CSS selectors, such as `table.prices td` or `a[href$=".pdf"]`.
            attributes: Return only these attributes; all by default.
            max_results: Return at most so many elements; the profile may allow fewer.
        """
        ctx = rt.start("html_scraper", url=url)
        rt.http.check(url, policy)
        rt.compute("toolcharter_web.css_selectors:require_valid", selectors)
        ctx.policy_passed()
        page = get_page(rt, url, policy, "text/html, application/xhtml+xml")
        if page.media_type not in HTML:
            return ctx.error(f"The answer is {page.media_type[:80]!r}, no HTML.", reason=HtmlScraperReason.NO_HTML)
        limit = min(policy.max_results, max_results or policy.max_results)
        found = rt.compute(
            "toolcharter_web.css_selectors:select", page.text, selectors, attributes, limit, policy.max_text_bytes
        )
        items: list[Item] = found["items"]
        truncated = found["truncated"] or page.answer.truncated
        data: HtmlScraperData = {"url": page.answer.url, "items": items, "truncated": truncated}
        lines = "\n".join(map(format_item, items)) or "No element matches."
        return ctx.ok(fence_untrusted(lines, page.answer.url, truncated=truncated), data=data)

    return html_scraper


SPEC = ToolSpec(
    "html_scraper",
    HtmlScraperPolicy,
    build,
    reasons=HtmlScraperReason,
    capabilities={"net:read"},
    safety="medium",
    staged=True,
    isolate=True,  # a host may be slow, and must not block asynchronous callers
    group="web",
    aliases=("tool_html_scraper",),
    argument_aliases={**URL_ALIASES, "selector": "selectors", "attribute": "attributes", "limit": "max_results"},
    output=HtmlScraperData,
)
