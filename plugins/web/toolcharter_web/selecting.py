"""CSS selectors on pages of strangers. Imported in a child process alone, where `html_scraper` has `rt.compute` call it.

The parser goes back over every choice of ancestors and siblings that a selector leaves open, which takes time exponential
in its length, and it holds the interpreter's lock meanwhile. What is refused here beforehand is only what always costs
too much; the child's limits do the rest.
"""

import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from toolcharter import ToolError
from toolcharter_web.common import Item, cut, line
from toolcharter_web.pages import read

MAX_SELECTOR = 300
MAX_VALUE = 500
"""Characters of one attribute's value."""
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_FREE = frozenset(
    {"first-child", "last-child", "only-child", "first-of-type", "last-of-type", "empty", "root", "not", "is", "where"}
)
"""Pseudo-classes that take time linear in the page."""
_COUNTING = frozenset({"nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"})
"""Those that take the square of it: one in a call. `:has` can take more."""


def select(text: str, selectors: list[str], attributes: list[str] | None, most: int, limit: int) -> dict[str, Any]:
    """At most *most* elements of a page that fit into *limit* bytes, and whether something was left out."""
    document = read(text)
    items, whole = _fitting(_matches(document.html, selectors, attributes), most, limit)
    return {"items": items, "truncated": not whole or document.truncated}


def check(selectors: list[str]) -> None:
    """Refuse what is no selector before anything is fetched for it.

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
    message = f"{selector[:MAX_SELECTOR]!r} is no CSS selector that is taken: at most {MAX_SELECTOR} characters, one `:nth-` in a call, no `:has`, no \\."
    return ToolError(message, reason="invalid_selector")


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
        limit -= len(line(item).encode()) + 1
        if len(kept) == most or (limit < 0 and kept):
            return kept, False
        kept.append({**item, "text": text.text})
    return kept, limit >= 0
