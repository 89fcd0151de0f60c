"""Applies CSS selectors to untrusted pages. Imported only in a child process, through `rt.compute` by `html_scraper`.

The parser backtracks over ancestors and siblings, which can take time exponential in the selector's length, and it
holds the interpreter's lock meanwhile. This module refuses only selectors that always cost too much; the child's limits
handle the others.
"""

import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from toolcharter import ToolError
from toolcharter_web.common import Item, format_item, truncate_text
from toolcharter_web.pages import parse_page

MAX_SELECTOR = 300
MAX_VALUE = 500
"""The longest value of an attribute in the result, in characters."""
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_FREE = frozenset(
    {"first-child", "last-child", "only-child", "first-of-type", "last-of-type", "empty", "root", "not", "is", "where"}
)
"""Pseudo-classes that take time linear in the page."""
_COUNTING = frozenset({"nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"})
"""Pseudo-classes that take quadratic time: one per call. `:has`, which can take more, is refused."""


def select(text: str, selectors: list[str], attributes: list[str] | None, most: int, limit: int) -> dict[str, Any]:
    """Return at most *most* matching elements, within *limit* bytes, and whether anything was left out."""
    document = parse_page(text)
    items, whole = _take_fitting(_matches(document.html, selectors, attributes), most, limit)
    return {"items": items, "truncated": not whole or document.truncated}


def require_valid(selectors: list[str]) -> None:
    """Refuse invalid and costly selectors before a page is fetched.

    Raises:
        ToolError: `invalid_selector`.
    """
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
    message = f"{selector[:MAX_SELECTOR]!r} is no supported CSS selector: at most {MAX_SELECTOR} characters, one `:nth-` in a call, no `:has`, no \\."
    return ToolError(message, reason="invalid_selector")


def _matches(html: str, selectors: list[str], attributes: list[str] | None) -> Iterator[Item]:
    """Yield every element once for each selector that matches it, in the order of selectors and of the page."""
    tree = LexborHTMLParser(html)
    for selector in selectors:
        for node in _select(tree, selector):
            values = {name: (value or "")[:MAX_VALUE] for name, value in node.attributes.items()}
            kept = values if attributes is None else {name: values[name] for name in attributes if name in values}
            yield {"tag": node.tag or "", "text": " ".join(node.text(separator=" ").split()), "attributes": kept}


def _take_fitting(found: Iterator[Item], most: int, limit: int) -> tuple[list[Item], bool]:
    """Return at most *most* items within *limit* bytes, and whether these are all. The first item is cut if necessary.

    No further items are read: each may hold the text of the whole page.
    """
    kept: list[Item] = []
    for item in found:
        text = truncate_text(item["text"], max(limit, 0))
        limit -= len(format_item(item).encode()) + 1
        if len(kept) == most or (limit < 0 and kept):
            return kept, False
        kept.append({**item, "text": text.text})
    return kept, limit >= 0
