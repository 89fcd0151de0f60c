"""Keys and indexed values as bytes that sort as their texts and numbers do, whatever the collation of a database is.

A part of a key is UTF-8, whose bytes sort by code point; it ends with `00 01`, and a NUL within is `00 ff`, so that `("a",)` comes
before `("a", "b")` and both before `("a!",)`. A value begins with its type.
"""

import base64
import hashlib
from typing import Final

from toolcharter import ToolError

# An index of PostgreSQL holds up to 2,704 bytes a row, and a key of 512 emojis alone has 2,048.
MAX_HEAD: Final = 1100
"""How many bytes of a key or value are in the index of values; of longer ones that begin alike, the order is arbitrary."""
_END, _NUL = b"\x00\x01", b"\x00\xff"
_NONE, _FALSE, _TRUE, _INT, _TEXT = b"\x05", b"\x10", b"\x11", b"\x20", b"\x30"
_INT64 = 1 << 63


def key_bytes(key: tuple[str, ...]) -> bytes:
    """*key*, sorted as the tuples are."""
    return b"".join(_utf8(part).replace(b"\x00", _NUL) + _END for part in key)


def key_of(raw: bytes) -> tuple[str, ...]:
    """The key that `key_bytes` was given."""
    parts = raw.split(_END)[:-1]
    return tuple(part.replace(_NUL, b"\x00").decode(errors="surrogatepass") for part in parts)


def value_bytes(value: str | int | bool | None) -> bytes:  # noqa: FBT001 - a field may be one
    """*value*: nothing first, then no, yes, whole numbers, text.

    Raises:
        ToolError: It is a number that does not fit into 64 bits.
    """
    match value:
        case None:
            return _NONE
        case bool():
            return _TRUE if value else _FALSE
        case int():
            if not -_INT64 <= value < _INT64:
                raise ToolError("a whole number that is indexed has up to 64 bits", reason="invalid_arguments")
            return _INT + (value + _INT64).to_bytes(8, "big")
        case str():
            return head(_TEXT + _utf8(value))


def head(raw: bytes) -> bytes:
    """*raw*, or what stands for it in an index if it is long: its beginning and a hash of all."""
    return raw if len(raw) <= MAX_HEAD else raw[:MAX_HEAD] + hashlib.sha256(raw).digest()


def cursor_text(*parts: bytes) -> str:
    """What a page ends with: text that only `cursor_parts` reads."""
    raw = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def cursor_parts(text: str, count: int) -> list[bytes]:
    """The *count* parts that `cursor_text` was given.

    Raises:
        ToolError: It was given others.
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
        raise ToolError("`after` is what the page before gave, for the same order", reason="invalid_arguments")
    return parts


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
