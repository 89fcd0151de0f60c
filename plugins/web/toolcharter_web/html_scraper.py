"""`html_scraper`: the elements of a page that CSS selectors name."""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import Field
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from toolcharter import ToolError, ToolRuntime, ToolSpec
from toolcharter_web.common import URL_ALIASES, WebPolicy, cut, fenced, get_page
from toolcharter_web.content import HTML
from toolcharter_web.pages import read

MAX_SELECTOR = 300
MAX_SELECTORS = 20
MAX_VALUE = 500
"""Characters of one attribute's value."""
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_FREE = frozenset(
    {"first-child", "last-child", "only-child", "first-of-type", "last-of-type", "empty", "root", "not", "is", "where"}
)
"""Pseudo-classes that take time linear in the page."""
_COUNTING = frozenset({"nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"})
"""Those that take the square of it: one in a call. `:has` can take more, and the parser lets nothing else run meanwhile."""


class HtmlScraperPolicy(WebPolicy):
    """How far one profile lets `html_scraper` go."""

    max_results: Annotated[int, Field(ge=1)] = 200
    """The most elements that one call returns; a call may ask for fewer."""


class HtmlScraperReason(StrEnum):
    """Why `html_scraper` fails, beside what the network guard reports."""

    HTTP_STATUS = "http_status"
    BINARY_CONTENT = "binary_content"
    NO_HTML = "no_html"
    INVALID_SELECTOR = "invalid_selector"


class Item(TypedDict):
    """One element. Source: the form of source 001."""

    tag: str
    text: str
    attributes: dict[str, str]


class HtmlScraperData(TypedDict):
    """The structured result."""

    url: str
    """Of the last request, redirects followed."""
    items: list[Item]
    """Untrusted."""
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
        _check(selectors)
        ctx.policy_passed()
        page = get_page(rt, url, policy, "text/html, application/xhtml+xml")
        if page.media_type not in HTML:
            return ctx.error(f"The answer is {page.media_type[:80]!r}, no HTML.", reason=HtmlScraperReason.NO_HTML)
        document = read(page.text)
        limit = min(policy.max_results, max_results or policy.max_results)
        items, whole = _fitting(_matches(document.html, selectors, attributes), limit, policy.max_text_bytes)
        truncated = not whole or document.truncated or page.answer.truncated
        data: HtmlScraperData = {"url": page.answer.url, "items": items, "truncated": truncated}
        lines = "\n".join(map(_line, items)) or "No element matches."
        return ctx.ok(fenced(lines, page.answer.url, truncated=truncated), data=data)

    return html_scraper


def _check(selectors: list[str]) -> None:
    """Refuse what is no selector before anything is fetched for it."""
    counting = 0
    for selector in selectors:
        words = re.findall(r":+([a-z-]*)", _QUOTED.sub("", selector).lower())
        counting += sum(word in _COUNTING for word in words)
        plain = "\\" not in selector and _FREE.union(_COUNTING).issuperset(words)
        if len(selector) > MAX_SELECTOR or not selector.strip() or not plain or counting > 1:
            raise _invalid(selector)
        _select(LexborHTMLParser("<p></p>"), selector)


def _select(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    try:
        return tree.css(selector)
    except SelectolaxError:
        raise _invalid(selector) from None


def _invalid(selector: str) -> ToolError:
    message = f"{selector[:MAX_SELECTOR]!r} is no CSS selector that is taken: at most {MAX_SELECTOR} characters, one `:nth-` in a call, no `:has`, no \\."
    return ToolError(message, reason=HtmlScraperReason.INVALID_SELECTOR)


def _matches(html: str, selectors: list[str], attributes: list[str] | None) -> Iterator[Item]:
    """Every element once for each selector that matches it, in the order of selectors and of the page."""
    tree = LexborHTMLParser(html)
    for selector in selectors:
        for node in _select(tree, selector):
            values = {name: (value or "")[:MAX_VALUE] for name, value in node.attributes.items()}
            kept = values if attributes is None else {name: values[name] for name in attributes if name in values}
            yield {"tag": node.tag or "", "text": " ".join(node.text(separator=" ").split()), "attributes": kept}


def _fitting(found: Iterator[Item], most: int, limit: int) -> tuple[list[Item], bool]:
    """At most *most* that fit into *limit* bytes; the first is cut if need be. And whether that is all.

    No more are taken than that: each may hold the text of the whole page.
    """
    kept: list[Item] = []
    for item in found:
        text = cut(item["text"], max(limit, 0))
        limit -= len(_line(item).encode()) + 1
        if len(kept) == most or (limit < 0 and kept):
            return kept, False
        kept.append({**item, "text": text.text})
    return kept, limit >= 0


def _line(item: Item) -> str:
    attributes = "".join(f" {name}={value!r}" for name, value in item["attributes"].items())
    return f"<{item['tag']}{attributes}> {item['text']}"


SPEC = ToolSpec(
    "html_scraper",
    HtmlScraperPolicy,
    build,
    reasons=HtmlScraperReason,
    capabilities={"net:read"},
    safety="medium",
    staged=True,
    isolate=True,  # a host may take its time, and the callers of asynchronous code must not wait for it
    group="web",
    aliases=("tool_html_scraper",),
    argument_aliases={**URL_ALIASES, "selector": "selectors", "attribute": "attributes", "limit": "max_results"},
    output=HtmlScraperData,
)
