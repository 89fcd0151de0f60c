"""HTML of strangers, made harmless to work with: bounded in depth and size, without what nobody reads.

It is written anew, with few attributes to a tag, and libxml2 reads that. It stops at a depth of 256 and never makes more
elements than there are tags, where parsers that mend HTML as browsers do can be made to build millions out of a page of
one megabyte. What is left may still take long (`colspan`, numbers of lists), so that this runs in a child process with
limits, through `rt.compute`.
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

from toolcharter_web.common import cut, shortened
from toolcharter_web.content import seen
from toolcharter_web.markup import rewritten

MAX_CHARS = 1_000_000
"""What is read of a page, whatever the limit of bytes is."""
MAX_TITLE = 300
MAX_ELEMENTS = 20_000
MAX_DEPTH = 80
"""Deeper elements are shown as text. Converting takes three frames of Python's stack for each."""
UNREAD = ("script", "style", "noscript", "template", "iframe", "object", "svg", "math", "canvas", "head")
_HIDDEN = etree.XPath(
    "/*//*[@hidden or contains(translate(@style, ' ', ''), 'display:none')"
    " or contains(translate(@style, ' ', ''), 'visibility:hidden')]"
)
_NUMBERS = {"start": re.compile("[0-9]{1,9}"), "colspan": re.compile("[0-9]{1,2}")}
_SHOWN = ("http://", "https://", "mailto:")


class Document(NamedTuple):
    """A page that has been read."""

    title: str
    root: Any
    """What is left of it: an element of lxml's."""
    truncated: bool

    @property
    def html(self) -> str:
        """The same as text."""
        # Once more: references (`&#x202e;`) have become what they stand for.
        return seen(etree.tostring(self.root, method="html", encoding="unicode"))


def shown(text: str, url: str, limit: int) -> dict[str, Any]:
    """A page as Markdown with its title above, at most *limit* bytes: what `web` has `rt.compute` call."""
    document = read(text)
    content = markdown(document, url)
    kept = cut(f"# {document.title}\n\n{content}" if document.title else content, limit, truncated=document.truncated)
    return {"title": document.title, "text": kept.text, "truncated": kept.truncated}


def read(text: str) -> Document:
    """Read a page of HTML; every text is one."""
    markup = rewritten(text[:MAX_CHARS])
    root = _parse(markup.text)
    title = shortened(" ".join(seen(root.findtext(".//title") or "").split()), MAX_TITLE)
    truncated = _bound(root) or markup.truncated or len(text) > MAX_CHARS
    etree.strip_elements(root, *UNREAD, with_tail=False)
    for hidden in _HIDDEN(root):
        _drop(hidden)
    return Document(title, root, truncated)


def markdown(document: Document, url: str) -> str:
    """A page as Markdown; links are absolute, and those that are no links to elsewhere are text."""
    soup = BeautifulSoup("", "html.parser")
    _tell(soup, document.root)
    soup.endData()
    resolve = partial(_absolute, url)
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
        escape_underscores=False,  # a token with a backslash in it is not known for one
    ).convert_soup(soup)
    return "\n".join(_without_gaps(converted))


def _tell(soup: BeautifulSoup, element: Any) -> None:
    """Tell *soup* of *element* as a parser would, not by way of text: a second parser reads `<li><li>` otherwise."""
    attributes = {name: seen(value) for name, value in element.items() if _is_useful(name, value)}
    soup.handle_starttag(element.tag, None, None, attributes)
    if element.text:
        soup.handle_data(seen(element.text))
    for child in element:
        _tell(soup, child)
        if child.tail:
            soup.handle_data(seen(child.tail))
    soup.handle_endtag(element.tag)


def _is_useful(name: str, value: str) -> bool:
    """Whether a number in an attribute is one that the converter works with; the others it counts up to, or raises for."""
    return name not in _NUMBERS or _NUMBERS[name].fullmatch(value.strip()) is not None


def _parse(text: str) -> Any:
    """The root; there is one for every text, an empty one as well."""
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, collect_ids=False
    )
    # As bytes: a declaration in the page is about an encoding that it no longer is in.
    return etree.fromstring(b"<html>" + text.encode(), parser)


def _bound(root: Any) -> bool:
    """Take away what is too deep or too much; whether anything was lost."""
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


def _absolute(base: str, target: str) -> str:
    """Where a link leads, or nothing if that is nowhere to go."""
    if not target.strip():
        return ""
    try:
        found = urljoin(base, target.strip())
    except ValueError:
        return ""
    return found if found.lower().startswith(_SHOWN) else ""


def _without_gaps(text: str) -> Iterator[str]:
    """Lines without blanks at their ends, and one empty line at most between two others."""
    empty = True
    for line in map(str.rstrip, text.split("\n")):
        if line or not empty:
            yield line
        empty = not line
