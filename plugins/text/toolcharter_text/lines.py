"""Bytes to text, and lines as they are shown."""

import codecs

MAX_LINE_CHARS = 500
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TOKEN = frozenset("+/=-_.")


class NotText(Exception):
    """The bytes are no text in any encoding that they could be in."""


def decoded(raw: bytes) -> str:
    """The text of *raw*: a byte-order mark decides, else UTF-8, else Latin-1.

    Raises:
        NotText: A NUL, or what its mark promises does not follow.
    """
    encoding = next((name for mark, name in _BOMS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            raise NotText from None
        text = raw.decode("latin-1")
    if "\0" in text:
        raise NotText
    return text


def shown(line: str) -> str:
    """The line, or the beginning of a long one, cut where no token is cut in two.

    Half a secret would no longer be recognised as one, nor one whose name before it is left out.
    """
    if len(line) <= MAX_LINE_CHARS:
        return line
    end = MAX_LINE_CHARS
    while end and (line[end - 1].isalnum() or line[end - 1] in _TOKEN):
        end -= 1
    return f"{line[: end or MAX_LINE_CHARS]}[...]"
