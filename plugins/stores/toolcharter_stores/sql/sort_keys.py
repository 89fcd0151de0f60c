"""Encodes keys and indexed values as bytes that sort like the keys and values, whatever the database's collation is.

Each part of a key is UTF-8, which sorts by code point, and ends with `00 01`. A NUL within a part is `00 ff`. So
`("a",)` sorts before `("a", "b")`, and both sort before `("a!",)`. An encoded value begins with a byte for its type.
"""

import base64
import hashlib
from typing import Final

from toolcharter import ToolError

# An index of PostgreSQL holds up to 2,704 bytes a row, and a key of 512 emojis alone has 2,048.
MAX_HEAD: Final = 1100
"""The most bytes of a key or value in the index of values. Longer keys with the same beginning sort arbitrarily."""
_END, _NUL = b"\x00\x01", b"\x00\xff"
_NONE, _FALSE, _TRUE, _INT, _TEXT = b"\x05", b"\x10", b"\x11", b"\x20", b"\x30"
_INT64 = 1 << 63


def key_bytes(key: tuple[str, ...]) -> bytes:
    """Encode *key* as bytes that sort like the tuples."""
    return b"".join(_utf8(part).replace(b"\x00", _NUL) + _END for part in key)


def key_of(raw: bytes) -> tuple[str, ...]:
    """Decode the bytes from `key_bytes`."""
    parts = raw.split(_END)[:-1]
    return tuple(part.replace(_NUL, b"\x00").decode(errors="surrogatepass") for part in parts)


def value_bytes(value: str | int | bool | None) -> bytes:  # noqa: FBT001 - a field may be one
    """Encode *value* as bytes that sort: None first, then False, True, whole numbers and text.

    Raises:
        ToolError: A number does not fit into 64 bits.
    """
    match value:
        case None:
            return _NONE
        case bool():
            return _TRUE if value else _FALSE
        case int():
            if not -_INT64 <= value < _INT64:
                raise ToolError("an indexed whole number has at most 64 bits", reason="invalid_arguments")
            return _INT + (value + _INT64).to_bytes(8, "big")
        case str():
            return head(_TEXT + _utf8(value))


def head(raw: bytes) -> bytes:
    """Return *raw* or, if it is longer than `MAX_HEAD`, its beginning and a hash of all of it."""
    return raw if len(raw) <= MAX_HEAD else raw[:MAX_HEAD] + hashlib.sha256(raw).digest()


def cursor_text(*parts: bytes) -> str:
    """Encode the end of a page as an opaque cursor. Only `cursor_parts` reads it."""
    raw = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def cursor_parts(text: str, count: int) -> list[bytes]:
    """Decode a cursor from `cursor_text`.

    Raises:
        ToolError: *text* is no such cursor, or does not have *count* parts.
    """
    parts: list[bytes] = []
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    while len(raw) >= 4:  # noqa: PLR2004 - the bytes of a length
        size = int.from_bytes(raw[:4], "big")
        parts.append(raw[4 : 4 + size])
        raw = raw[4 + size :]
    if raw or len(parts) != count or cursor_text(*parts) != text:
        raise ToolError(
            "`after` must be the cursor of the previous page, with the same order", reason="invalid_arguments"
        )
    return parts


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
