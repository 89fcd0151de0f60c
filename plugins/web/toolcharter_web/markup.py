"""HTML written anew before any parser sees it, so that none has to guess: one tag at a time, with few attributes each.

Parsers compare each attribute of a tag with all before it, which takes the square of their number. Here a text is read
once, as browsers read it. Source: HTML, section 13.2.5.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_ATTRIBUTES = 100
"""Of one tag; the others are left out."""
_SPACE = r"[ \t\n\f\r]"
_VALUE = r"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)"""
_ATTRIBUTE = rf"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+(?:{_SPACE}*+=(?:{_SPACE}*+{_VALUE})?+)?+"
# Whatever follows `<` and a letter is a tag, up to its `>` or the end of the text: nothing is read twice. Python 3.11
# loses count of groups that capture within possessive repetitions.
_TOKEN = re.compile(
    rf"<(?P<name>[A-Za-z][^ \t\n\f\r/>]*+)(?P<attributes>(?:[ \t\n\f\r/]++|{_ATTRIBUTE})*+)(?P<end>>?)"
    rf"|</(?P<closed>[A-Za-z][^ \t\n\f\r/>]*+)(?:[ \t\n\f\r/]++|{_ATTRIBUTE})*+>?"
    r"|<!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|<[!?/][^>]*+>?",
    re.DOTALL,
)
_ONE = re.compile(
    rf"(?P<name>[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)"
    rf"(?:{_SPACE}*+=(?:{_SPACE}*+(?:\"(?P<double>[^\"]*+)\"?|'(?P<single>[^']*+)'?|(?P<bare>[^ \t\n\f\r>\"'][^ \t\n\f\r>]*+)))?+)?+"
)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9:._-]*")
_ODD = re.compile(r"[\"'<=\x00-\x20]")
UNREAD = frozenset({"script", "style", "iframe", "noembed", "noframes"})
"""What holds no tags, and nothing to be read."""
VERBATIM = frozenset({"title", "textarea", "xmp"})
"""What holds no tags."""
_FOREIGN = frozenset({"svg", "math"})
_ENDS = {name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE) for name in UNREAD | VERBATIM}


class Markup(NamedTuple):
    """A text of HTML, written anew."""

    text: str
    truncated: bool
    """Something was left out that a reader might have wanted."""


def rewritten(text: str) -> Markup:
    """*text* with its tags and words, without comments, declarations, scripts and styles; linear in its length."""
    writer = _Writer(text)
    return Markup("".join(writer.pieces()), writer.truncated)


class _Writer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._foreign = 0
        self.truncated = False

    def pieces(self) -> Iterator[str]:
        """The text anew, in order."""
        text, at = self._text, 0
        while found := _TOKEN.search(text, at):
            yield _escaped(text[at : found.start()])
            at = found.end()
            if closed := found["closed"]:
                yield self._closed(closed.lower())
            elif found["end"]:  # without it the text ends within the tag, which then is none
                name, attributes = found["name"].lower(), found["attributes"]
                is_empty = self._is_empty(name, attributes)
                yield self._opened(name, attributes, is_empty=is_empty)
                if name in _ENDS and not is_empty:
                    content, at = self._content(name, at)
                    yield content
        yield _escaped(text[at:])

    def _is_empty(self, name: str, attributes: str) -> bool:
        """Whether the `/` before `>` ends the element: within pictures and formulas only, and if it is of no value."""
        if not attributes.endswith("/") or not (self._foreign or name in _FOREIGN):
            return False
        *_, last = (0, *(one.end() for one in _ONE.finditer(attributes)))
        return last < len(attributes)

    def _opened(self, name: str, attributes: str, *, is_empty: bool) -> str:
        if name in UNREAD or not _PLAIN.fullmatch(name):
            return ""
        self._foreign += name in _FOREIGN and not is_empty
        return f"<{name}{''.join(self._attributes(attributes)) if attributes else ''}{'/' if is_empty else ''}>"

    def _closed(self, name: str) -> str:
        if self._foreign:
            self._foreign -= name in _FOREIGN
        return f"</{name}>" if _PLAIN.fullmatch(name) and name not in UNREAD else ""

    def _attributes(self, text: str) -> Iterator[str]:
        for number, one in enumerate(_ONE.finditer(text)):
            if number == MAX_ATTRIBUTES:
                self.truncated = True
                return
            if not _ODD.search(one["name"]):
                value = one["double"] or one["single"] or one["bare"] or ""
                yield f' {one["name"]}="{_escaped(value).replace(chr(34), "&quot;")}"'

    def _content(self, name: str, at: int) -> tuple[str, int]:
        """What an element without tags holds, as far as it is read, and where it ends."""
        end = _ENDS[name].search(self._text, at)
        until = end.start() if end else len(self._text)
        return "" if name in UNREAD else _escaped(self._text[at:until]), until


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;")
