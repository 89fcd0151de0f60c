"""Remove veils from a text (invisible characters, escapes, joints of strings), and map spans back to the original."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

from toolcharter.guards.secrets.patterns import JOINTS, OBFUSCATED, SERIAL

_OBFUSCATION = re.compile(f"{OBFUSCATED}|{JOINTS}".encode())
_OBFUSCATION_RUNS = re.compile(
    "({}|{}|{})".format("|".join(f"{one}(?:{one})++" for one in SERIAL), OBFUSCATED, JOINTS).encode()
)
"""Like `_OBFUSCATION`, but several veils of one kind in a row are one match."""
_CODES = re.compile(rb"(?:%[02-7][0-9A-Fa-f])+|(?:\\x[02-7][0-9A-Fa-f])+|(?:\\u00[02-7][0-9A-Fa-f])+")
_CODE = re.compile(rb"&#[xX]([0-7][0-9A-Fa-f]);")
_NUMBER = re.compile(rb"&#([0-9]+);")
_NAMED = {
    b"&quot;": b'"',
    b"&apos;": b"'",
    b"&amp;": b"&",
    b"&lt;": b"<",
    b"&gt;": b">",
    b"&equals;": b"=",
    b"&colon;": b":",
}

Span = tuple[int, int]


def strip_obfuscation(data: bytes) -> bytes:
    """Return *data* without its veils. Cheaper than `deobfuscate`, to find out whether that is worthwhile."""
    parts = _OBFUSCATION_RUNS.split(data)
    parts[1::2] = map(_Replacements().__getitem__, parts[1::2])
    return b"".join(parts)


def deobfuscate(data: bytes) -> tuple[bytes, Callable[[Iterable[Span]], Iterator[Span]]]:
    """Remove the veils from *data*.

    Returns:
        The bytes, and a function that converts their spans into spans of *data*.
    """
    parts, replacements = list[bytes](), _Replacements()
    places, shifts = [0], [0]
    ends = dict[int, int]()
    """For each veil that is replaced by a character: the end of the character, and the end of the veil in *data*."""
    length = position = 0
    for veil in _OBFUSCATION.finditer(data):
        shown = replacements[veil[0]]
        parts += (data[position : veil.start()], shown)
        length += veil.start() - position + len(shown)
        position = veil.end()
        places.append(length)
        shifts.append(position - length)
        if shown:
            ends[length] = position
    parts.append(data[position:])

    def map_back(spans: Iterable[Span]) -> Iterator[Span]:
        for start, end in spans:
            # A veil after the end, such as a colour, stays.
            behind = ends.get(end, end + shifts[bisect_left(places, end) - 1])
            yield start + shifts[bisect_right(places, start) - 1], behind

    return b"".join(parts), map_back


class _Replacements(dict[bytes, bytes]):
    """The replacement of each veil, computed once for one text."""

    def __missing__(self, veil: bytes) -> bytes:
        self[veil] = shown = _replacement_of(veil)
        return shown


def _replacement_of(veil: bytes) -> bytes:
    if _CODES.fullmatch(veil):
        return bytes.fromhex(veil.replace(b"%", b"").replace(b"\\x", b"").replace(b"\\u00", b"").decode())
    if veil.startswith(b"\\/"):
        return b"/" * (len(veil) // 2)
    code, number = _CODE.fullmatch(veil), _NUMBER.fullmatch(veil)
    if code:
        return bytes.fromhex(code[1].decode())
    return bytes([int(number[1])]) if number else _NAMED.get(veil, b"")
