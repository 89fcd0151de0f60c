"""Rewrites HTML before any parser reads it, so that none has to repair it: tag by tag, with few attributes each.

Parsers compare each attribute of a tag with all earlier ones, which takes quadratic time. This module reads a text
once, as browsers do. Source: HTML, section 13.2.5.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_ATTRIBUTES = 100
"""The maximum number of attributes of one tag; further attributes are dropped."""
_SPACE = r"[ \t\n\f\r]"
_VALUE = r"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)"""
_ATTRIBUTE = rf"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+(?:{_SPACE}*+=(?:{_SPACE}*+{_VALUE})?+)?+"
# `<` and a letter begin a tag, which ends at its `>` or at the end of the text: nothing is read twice. No group
# captures within a possessive repetition, because Python 3.11 handles that wrongly.
_TOKEN = re.compile(
    rf"<(?P<name>[A-Za-z][^ \t\n\f\r/>]*+)(?P<attributes>(?:[ \t\n\f\r/]++|{_ATTRIBUTE})*+)(?P<end>>?)"
    rf"|</(?P<closed>[A-Za-z][^ \t\n\f\r/>]*+)(?:[ \t\n\f\r/]++|{_ATTRIBUTE})*+>?"
    r"|<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<[!?/][^>]*+>?",
    re.DOTALL,
)
_ONE_ATTRIBUTE = re.compile(
    rf"(?P<name>[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)"
    rf"(?:{_SPACE}*+=(?:{_SPACE}*+(?:\"(?P<double>[^\"]*+)\"?|'(?P<single>[^']*+)'?|(?P<bare>[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)))?+)?+"
)
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:._-]*")
_ODD_IN_NAME = re.compile(r"[\"'<=\x00-\x20]")
UNREAD = frozenset({"script", "style", "iframe", "noembed", "noframes"})
"""Elements whose content has no tags and is dropped."""
VERBATIM = frozenset({"title", "textarea", "xmp"})
"""Elements whose content has no tags and is kept."""
_FOREIGN = frozenset({"svg", "math"})
_ENDS = {name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE) for name in UNREAD | VERBATIM}


class Markup(NamedTuple):
    """Rewritten HTML."""

    text: str
    truncated: bool
    """Whether attributes beyond `MAX_ATTRIBUTES` were dropped."""


def rewrite_markup(text: str) -> Markup:
    """Return *text* without comments, declarations, scripts and styles, in time linear in its length."""
    writer = _Writer(text)
    return Markup("".join(writer.pieces()), writer.truncated)


class _Writer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._foreign = 0
        self.truncated = False

    def pieces(self) -> Iterator[str]:
        """Yield the pieces of the rewritten text, in order."""
        text, at = self._text, 0
        while found := _TOKEN.search(text, at):
            yield _escaped(text[at : found.start()])
            at = found.end()
            if closed := found["closed"]:
                yield self._close_tag(closed.lower())
            elif found["end"]:  # otherwise the text ends within the tag, which then does not count
                name, attributes = found["name"].lower(), found["attributes"]
                is_empty = self._is_empty(name, attributes)
                yield self._open_tag(name, attributes, is_empty=is_empty)
                if name in _ENDS and not is_empty:
                    content, at = self._content(name, at)
                    yield content
        yield _escaped(text[at:])

    def _is_empty(self, name: str, attributes: str) -> bool:
        """Return whether the `/` before `>` ends the element: only in SVG and MathML, and if no value ends in it."""
        if not attributes.endswith("/") or not (self._foreign or name in _FOREIGN):
            return False
        *_, last = (0, *(one.end() for one in _ONE_ATTRIBUTE.finditer(attributes)))
        return last < len(attributes)

    def _open_tag(self, name: str, attributes: str, *, is_empty: bool) -> str:
        if name in UNREAD or not _PLAIN_NAME.fullmatch(name):
            return ""
        self._foreign += name in _FOREIGN and not is_empty
        return f"<{name}{''.join(self._attributes(attributes)) if attributes else ''}{'/' if is_empty else ''}>"

    def _close_tag(self, name: str) -> str:
        if self._foreign:
            self._foreign -= name in _FOREIGN
        return f"</{name}>" if _PLAIN_NAME.fullmatch(name) and name not in UNREAD else ""

    def _attributes(self, text: str) -> Iterator[str]:
        for number, one in enumerate(_ONE_ATTRIBUTE.finditer(text)):
            if number == MAX_ATTRIBUTES:
                self.truncated = True
                return
            if not _ODD_IN_NAME.search(one["name"]):
                value = one["double"] or one["single"] or one["bare"] or ""
                yield f' {one["name"]}="{_escaped(value).replace(chr(34), "&quot;")}"'

    def _content(self, name: str, at: int) -> tuple[str, int]:
        """Return the content of an element without tags, empty if it is dropped, and where the content ends."""
        end = _ENDS[name].search(self._text, at)
        until = end.start() if end else len(self._text)
        return "" if name in UNREAD else _escaped(self._text[at:until]), until


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;")
