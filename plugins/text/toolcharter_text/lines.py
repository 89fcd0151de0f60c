"""Decodes bytes to text, and shortens lines for the result."""

import codecs

MAX_LINE_CHARS = 500
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TOKEN = frozenset("+/=-_.")


class NotText(Exception):
    """The bytes are not text in any possible encoding."""


def decode_any(raw: bytes) -> str:
    """Decode *raw* by its byte-order mark, or else as UTF-8, or else as Latin-1.

    Raises:
        NotText: The text contains a NUL, or the bytes do not match the byte-order mark.
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


def shorten_line(line: str) -> str:
    """Return the line, or the beginning of a long line, cut between tokens.

    Half a secret would not be recognized, and neither would a secret without the name before it.
    """
    if len(line) <= MAX_LINE_CHARS:
        return line
    end = MAX_LINE_CHARS
    while end and (line[end - 1].isalnum() or line[end - 1] in _TOKEN):
        end -= 1
    return f"{line[: end or MAX_LINE_CHARS]}[...]"
