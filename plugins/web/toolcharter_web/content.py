"""Decodes the bytes of an answer: its media type, its encoding, and the removal of invisible characters."""

import codecs
import re

TEXT_TYPES = re.compile(
    r"text/.+|(?:application|image|message|model)/(?:.+\+)?(?:json|xml|yaml|toml|csv|javascript|ecmascript|sql|graphql"
    r"|x-javascript|x-yaml|x-toml|x-sh|x-httpd-php|x-ndjson|jsonl|x-www-form-urlencoded|xhtml\+xml|rtf|rfc822|problem)"
)
"""The media types of text. An answer without a media type is inspected."""
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,64}/[a-z0-9!#$&^_.+-]{1,64}")
"""A valid media type; others are ignored, so that a server cannot address the model in it.

Source: RFC 6838, section 4.2.
"""
HTML = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_META_BYTES = 1024
"""How many bytes at its beginning may declare a page's encoding. Source: HTML, section 13.2.3.2."""
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
ENCODINGS = frozenset(
    {
        *(
            "utf-8",
            "utf-16",
            "utf-16-le",
            "utf-16-be",
            "big5",
            "euc_jp",
            "iso2022_jp",
            "euc_kr",
            "gb18030",
            "gbk",
            "gb2312",
        ),
        *("shift_jis", "cp932", "cp949", "cp866", "koi8-r", "koi8-u", "mac-roman", "ascii", "tis-620"),
        *(f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))),
        *(f"cp{page}" for page in (874, *range(1250, 1259))),
    }
)
"""The encodings of pages, by Python's names. Python has others, such as UTF-7 and IDNA. Source: WHATWG Encoding."""
FALLBACK = "cp1252"
"""The encoding that browsers use without a declaration, and for Latin-1 and ASCII. Source: as above, section 4.2."""
_LATIN = frozenset({"iso8859-1", "ascii"})
_BINARY = bytes(byte for byte in range(32) if byte not in b"\a\b\t\n\f\r\x1b")
"""The bytes that do not occur in text, as in file(1): all control characters except common ones."""
_BINARY_SAMPLE = 8192
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
"""Control characters, changes of direction, and tag characters, which carry invisible text."""


class NotText(Exception):
    """The answer is not text; the exception's text is its media type, or `binary`."""


def media_type(declared: str, text: str) -> str:
    """Return the media type of an answer, in lower case without parameters; HTML or plain text if it has none."""
    given = _base_type(declared)
    if given:
        return given
    beginning = text[:_META_BYTES].lstrip().lower()
    return "text/html" if beginning.startswith(("<!doctype html", "<html")) else "text/plain"


def decode_body(body: bytes, declared: str, *, truncated: bool = False) -> str:
    """Decode *body*, which is only a beginning if it is *truncated*.

    The encoding comes from a byte-order mark, or else the header, or else a page's own declaration. Otherwise it is
    UTF-8 if the bytes are valid UTF-8, or else `FALLBACK`.

    Raises:
        NotText: The media type is not one of text, or the bytes are binary.
    """
    given = _base_type(declared)
    if given and not TEXT_TYPES.fullmatch(given):
        raise NotText(repr(given[:80]))
    encoding = _encoding(body, declared) or ("utf-8" if _is_utf8(body, truncated=truncated) else FALLBACK)
    if "utf-16" not in encoding and set(_BINARY) & set(body[:_BINARY_SAMPLE]):
        raise NotText("binary")
    text = body.decode(encoding, "replace").replace("\r\n", "\n").replace("\r", "\n")
    return without_invisible(text)


def without_invisible(text: str) -> str:
    """Return *text* without invisible characters."""
    return _UNSEEN.sub("", text)


def _base_type(declared: str) -> str:
    found = declared.partition(";")[0].strip().lower()
    return found if _TYPE.fullmatch(found) else ""


def _encoding(body: bytes, declared: str) -> str | None:
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return encoding
    in_header = _CHARSET.search(declared)
    in_page = _META.search(body[:_META_BYTES]) if _base_type(declared) in HTML else None
    for label in (in_header and in_header[1], in_page and in_page[1].decode()):
        if label and (known := _known_encoding(label)):
            return known
    return None


def _known_encoding(label: str) -> str | None:
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return None
    return FALLBACK if name in _LATIN else name if name in ENCODINGS else None


def _is_utf8(body: bytes, *, truncated: bool) -> bool:
    """Return whether *body* is UTF-8; if it is *truncated*, its last character may be incomplete."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body, not truncated)
    except UnicodeDecodeError:
        return False
    return True
