r"""Decodes the escapes in `$'...'`.

Source: bash(1), "QUOTING"; lib/sh/strtrans.c (`ansicstr`) of bash 5.2 for what the manual leaves open.
"""

import re

from toolcharter.guards.shell.charset import check_text
from toolcharter.guards.shell.nodes import NotUnderstood

_SIMPLE = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11} | {
    mark: ord(mark) for mark in "\\'\"?"
}
_LAST_ASCII = 0x7F
_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c([A-Za-z])|(.))", re.DOTALL
)


def decode_escapes(body: str) -> str:
    """Decode *body*, the text between the quotes.

    Raises:
        NotUnderstood: The result holds a NUL, is no UTF-8, or depends on the locale.
    """
    if "\\" not in body:
        return body
    parts: list[bytes] = []
    end = 0
    for found in _ESCAPE.finditer(body):
        parts += body[end : found.start()].encode(), _decode_escape(found, body)
        end = found.end()
    parts.append(body[end:].encode())
    return _decode_bytes(b"".join(parts))


def _decode_escape(found: re.Match[str], body: str) -> bytes:
    octal, byte, short, long, control, other = found.groups()
    if octal:
        return bytes([int(octal, 8) & 255])
    if byte:
        return bytes([int(byte, 16)])
    if control:
        return bytes([ord(control) & 31])
    if point := short or long:
        if int(point, 16) > _LAST_ASCII:
            raise NotUnderstood("A character beyond ASCII is written as an escape, which depends on the locale.")
        return bytes([int(point, 16)])
    if other == "c" or (other == "x" and body.startswith("{", found.end())):
        raise NotUnderstood("An escape is one that bash does not document.")
    return bytes([_SIMPLE[other]]) if other in _SIMPLE else found.group().encode()


def _decode_bytes(raw: bytes) -> str:
    if b"\0" in raw:
        raise NotUnderstood("A quoted text holds a NUL, at which bash cuts it.")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise NotUnderstood("A quoted text is no UTF-8.") from None
    if not text.isascii():
        check_text("".join(character for character in text if character > "\x7f"))
    return text
