"""Paths, patterns and URLs as a model writes them: read only where every agent reads them alike.

The guard judges a text, and the agent's own tool reads it again. What the two could take for different things is refused:
an agent in JavaScript cuts blanks off a path that Python keeps, and expands braces that Python does not.
"""

import re
import unicodedata

_SCHEME = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]*://|file:)", re.IGNORECASE)
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+")
_LOOKS_LIKE_URL = re.compile(r"://|\b(?:https?|ftp|file|wss?):", re.IGNORECASE)
# What both JavaScript and Python take for blanks between words. The rest stays in a word, where the network's checks refuse it.
_BLANKS = re.compile(r"[ \t\n\v\f\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_MAGIC = re.compile(r"[*?\[{]")
_PLAIN_BRACES = re.compile(r"\{[\w-]+(?:,[\w-]+)+\}")


class UnknownForm(Exception):
    """A tool's arguments are not those that this version of the guard knows."""


def exact_path(text: object) -> str:
    """*text*, if it names one file in every reading.

    Raises:
        UnknownForm: It is no text, or one that an agent may change before it opens the file.
    """
    if not isinstance(text, str) or not text or "\0" in text:
        raise UnknownForm("a path is no text")
    if text != text.strip() or not text.isprintable():
        raise UnknownForm("a path begins or ends with a blank, or has a character that cannot be seen; leave it out")
    if _SCHEME.match(text):
        raise UnknownForm("a path is a URL; give the path alone")
    if not unicodedata.is_normalized("NFC", text):
        raise UnknownForm("a path is not in the form NFC of Unicode, to which agents change it; write it in that form")
    return text


def is_pattern(text: str) -> bool:
    """Whether *text* may stand for several files."""
    return _MAGIC.search(text) is not None


def folder_of_pattern(pattern: object) -> str:
    """The folder below which *pattern* finds files: its part before the first wildcard; empty for the present folder.

    Raises:
        UnknownForm: It may lead out of that folder.
    """
    text = exact_path(pattern)
    if "\\" in text:
        raise UnknownForm("a pattern has a backslash; leave it out")
    head = _MAGIC.split(text, maxsplit=1)[0].rpartition("/")[0]
    *folders, _ = text[len(head) :].split("/")
    for folder in folders:
        if re.sub(r"[\[\](){}|,@+!]", "", folder) == "..":
            raise UnknownForm("a pattern goes up by '..' behind a wildcard; name the folder before it")
        if re.search(r"[{}]", _PLAIN_BRACES.sub("", folder)):
            raise UnknownForm("a pattern has braces in a folder that are not plain names; use one pattern for each")
    return head or ("/" if text.startswith("/") else "")


def urls_in(text: object) -> list[str]:
    """The URLs in a prompt, each a word of its own.

    Raises:
        UnknownForm: There are none, or one is not apart from other text, so that an agent could read another from it.
    """
    words = _BLANKS.split(text) if isinstance(text, str) else []
    urls = [word for word in words if _LOOKS_LIKE_URL.search(word)]
    if not urls:
        raise UnknownForm("the prompt names no URL")
    for url in urls:
        if not _URL.fullmatch(url):
            raise UnknownForm("a URL in the prompt is not apart from other text; put blanks around it")
    return urls
