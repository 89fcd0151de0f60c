"""Makes untrusted HTML harmless: bounded in depth and size, without parts that readers do not see.

The page is rewritten with few attributes per tag, and libxml2 parses the result. libxml2 stops at a depth of 256 and
never makes more elements than there are tags. Parsers that repair HTML as browsers do can be made to build millions of
elements from one megabyte. The rest may still take long (`colspan`, numbers of lists), so this module runs in a child
process with limits, through `rt.compute`.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from lxml import etree  # type: ignore[import-untyped]
from markdownify import MarkdownConverter

from toolcharter_web.common import shorten, truncate_text
from toolcharter_web.content import without_invisible
from toolcharter_web.markup import rewrite_markup

MAX_CHARS = 1_000_000
"""How many characters of a page are read at most, whatever its limit in bytes is."""
MAX_TITLE = 300
MAX_ELEMENTS = 20_000
MAX_DEPTH = 80
"""Deeper elements are shown as text. Converting takes three frames of Python's stack per level."""
UNREAD = ("script", "style", "noscript", "template", "iframe", "object", "svg", "math", "canvas", "head")
_HIDDEN = etree.XPath(
    "/*//*[@hidden or contains(translate(@style, ' ', ''), 'display:none')"
    " or contains(translate(@style, ' ', ''), 'visibility:hidden')]"
)
_NUMBERS = {"start": re.compile("[0-9]{1,9}"), "colspan": re.compile("[0-9]{1,2}")}
_SHOWN = ("http://", "https://", "mailto:")


class Document(NamedTuple):
    """A parsed page."""

    title: str
    root: Any
    """The root of the cleaned page: an element of lxml."""
    truncated: bool

    @property
    def html(self) -> str:
        """The cleaned page as HTML."""
        # Cleaned again: character references such as `&#x202e;` have been decoded by now.
        return without_invisible(etree.tostring(self.root, method="html", encoding="unicode"))


def page_as_markdown(text: str, url: str, limit: int) -> dict[str, Any]:
    """Return a page as Markdown under its title, at most *limit* bytes. `web` calls this through `rt.compute`."""
    document = parse_page(text)
    content = to_markdown(document, url)
    kept = truncate_text(
        f"# {document.title}\n\n{content}" if document.title else content, limit, truncated=document.truncated
    )
    return {"title": document.title, "text": kept.text, "truncated": kept.truncated}


def parse_page(text: str) -> Document:
    """Parse and clean a page of HTML; any text is accepted."""
    markup = rewrite_markup(text[:MAX_CHARS])
    root = _parse(markup.text)
    title = shorten(" ".join(without_invisible(root.findtext(".//title") or "").split()), MAX_TITLE)
    truncated = _bound(root) or markup.truncated or len(text) > MAX_CHARS
    etree.strip_elements(root, *UNREAD, with_tail=False)
    for hidden in _HIDDEN(root):
        _drop(hidden)
    return Document(title, root, truncated)


def to_markdown(document: Document, url: str) -> str:
    """Convert a page to Markdown. Links become absolute; links that lead nowhere become text."""
    soup = BeautifulSoup("", "html.parser")
    _feed(soup, document.root)
    soup.endData()
    resolve = partial(_absolute_link, url)
    for tag, attribute in (("a", "href"), ("img", "src")):
        for element in soup.find_all(tag):
            target = resolve(str(element.get(attribute, "")))
            if target:
                element[attribute] = target
            elif tag == "img":
                element.decompose()
            else:
                del element[attribute]
    converted: str = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        table_infer_header=True,
        escape_underscores=False,  # a secret with a backslash in it would not be recognized
    ).convert_soup(soup)
    return "\n".join(_without_gaps(converted))


def _feed(soup: BeautifulSoup, element: Any) -> None:
    """Feed *element* to *soup* as a parser would. Through text, a second parser could read `<li><li>` differently."""
    attributes = {name: without_invisible(value) for name, value in element.items() if _is_useful(name, value)}
    soup.handle_starttag(element.tag, None, None, attributes)
    if element.text:
        soup.handle_data(without_invisible(element.text))
    for child in element:
        _feed(soup, child)
        if child.tail:
            soup.handle_data(without_invisible(child.tail))
    soup.handle_endtag(element.tag)


def _is_useful(name: str, value: str) -> bool:
    """Return whether the converter can handle the number in an attribute; it would loop or raise for others."""
    return name not in _NUMBERS or _NUMBERS[name].fullmatch(value.strip()) is not None


def _parse(text: str) -> Any:
    """Parse *text*, and return the root, which exists even for an empty text."""
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, collect_ids=False
    )
    # As bytes: a declaration in the page names its former encoding, and must not count.
    return etree.fromstring(b"<html>" + text.encode(), parser)


def _bound(root: Any) -> bool:
    """Remove surplus elements, and flatten those that are too deep; return whether elements were removed."""
    surplus = list(islice(root.iter(), MAX_ELEMENTS, None))
    for element in surplus:
        element.getparent().remove(element)
    for element in list(_too_deep(root)):
        text = "".join(element.itertext())
        for child in list(element):
            element.remove(child)
        element.text = text
    return bool(surplus)


def _too_deep(root: Any) -> Iterator[Any]:
    depth = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if event == "start" and depth == MAX_DEPTH:
            yield element


def _drop(element: Any) -> None:
    """Remove an element and keep the text after it."""
    parent, before = element.getparent(), element.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (element.tail or "")
    else:
        parent.text = (parent.text or "") + (element.tail or "")
    parent.remove(element)


def _absolute_link(base: str, target: str) -> str:
    """Return the absolute URL of a link; empty if it is malformed, or neither `http`, `https` nor `mailto`."""
    if not target.strip():
        return ""
    try:
        found = urljoin(base, target.strip())
    except ValueError:
        return ""
    return found if found.lower().startswith(_SHOWN) else ""


def _without_gaps(text: str) -> Iterator[str]:
    """Yield lines without trailing blanks, with at most one empty line between two others."""
    empty = True
    for line in map(str.rstrip, text.split("\n")):
        if line or not empty:
            yield line
        empty = not line
