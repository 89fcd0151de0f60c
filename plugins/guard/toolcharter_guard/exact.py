"""Parse a model's paths, patterns and URLs, and refuse those that agents parse in different ways.

The guard judges a text, and then the agent's own tool parses it again. A text that the two could parse differently is
refused: for example, an agent in JavaScript trims blanks from a path that Python keeps, and expands braces that Python
does not.
"""

import re
import unicodedata

_SCHEME = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]*://|file:)", re.IGNORECASE)
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+")
_LOOKS_LIKE_URL = re.compile(r"://|\b(?:https?|ftp|file|wss?):", re.IGNORECASE)
# Characters that are blanks in both JavaScript and Python. Other blanks stay in a word, which the network's checks
# refuse.
_BLANKS = re.compile(r"[ \t\n\v\f\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_MAGIC = re.compile(r"[*?\[{]")
_PLAIN_BRACES = re.compile(r"\{[\w-]+(?:,[\w-]+)+\}")


class UnreadableArguments(Exception):
    """A tool's arguments are not those that this version of the guard knows."""


def require_exact_path(text: object) -> str:
    """Check that every agent takes *text* for the same path, and return it.

    Raises:
        UnreadableArguments: *text* is not a text, or an agent may change it before it opens the file.
    """
    if not isinstance(text, str) or not text or "\0" in text:
        raise UnreadableArguments("a path is empty, has a NUL, or is not text")
    if text != text.strip() or not text.isprintable():
        raise UnreadableArguments("a path begins or ends with a blank, or has an invisible character; leave it out")
    if _SCHEME.match(text):
        raise UnreadableArguments("a path is a URL; give the path alone")
    if not unicodedata.is_normalized("NFC", text):
        raise UnreadableArguments(
            "a path is not in Unicode's form NFC, and some agents normalise it; write it in that form"
        )
    return text


def is_pattern(text: str) -> bool:
    """Return whether *text* may match several files."""
    return _MAGIC.search(text) is not None


def pattern_folder(pattern: object) -> str:
    """Return the folder below which *pattern* finds files: its part before the first wildcard.

    The result is empty for the current folder.

    Raises:
        UnreadableArguments: The pattern may lead out of that folder.
    """
    text = require_exact_path(pattern)
    if "\\" in text:
        raise UnreadableArguments("a pattern has a backslash; leave it out")
    head = _MAGIC.split(text, maxsplit=1)[0].rpartition("/")[0]
    *folders, _ = text[len(head) :].split("/")
    for folder in folders:
        if re.sub(r"[\[\](){}|,@+!]", "", folder) == "..":
            raise UnreadableArguments(
                "a pattern goes up by '..' after a wildcard; write the folder before the wildcard"
            )
        if re.search(r"[{}]", _PLAIN_BRACES.sub("", folder)):
            raise UnreadableArguments(
                "a pattern has a folder with braces around more than plain names; use several patterns"
            )
    return head or ("/" if text.startswith("/") else "")


def find_urls(text: object) -> list[str]:
    """Return the URLs in a prompt. Each must be a word of its own.

    Raises:
        UnreadableArguments: There are none, or a URL touches other text, so that an agent could parse another URL from
            it.
    """
    words = _BLANKS.split(text) if isinstance(text, str) else []
    urls = [word for word in words if _LOOKS_LIKE_URL.search(word)]
    if not urls:
        raise UnreadableArguments("the prompt names no URL")
    for url in urls:
        if not _URL.fullmatch(url):
            raise UnreadableArguments("a URL in the prompt touches other text; put blanks around it")
    return urls
