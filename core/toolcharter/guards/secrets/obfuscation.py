"""Text without its veils: characters that are not seen taken out, escaped ones put in, and the way back."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from toolcharter.guards.secrets.patterns import JOINTS, VEILED

_VEIL = re.compile(f"{VEILED}|{JOINTS}".encode())
_CODE = re.compile(rb"(?:%|\\x|\\u00|&#[xX])([02-7][0-9A-Fa-f]);?")
_NUMBER = re.compile(rb"&#([0-9]+);")
_NAMED = {
    b"\\/": b"/",
    b"&quot;": b'"',
    b"&apos;": b"'",
    b"&amp;": b"&",
    b"&lt;": b"<",
    b"&gt;": b">",
    b"&equals;": b"=",
    b"&colon;": b":",
}

Span = tuple[int, int]


def bare_of(data: bytes) -> bytes:
    """*data* without its veils: enough to know whether it is worth finding out where they were."""
    return _VEIL.sub(lambda veil: _shown(veil[0]), data)


def unveiled(data: bytes) -> tuple[bytes, Callable[[Iterable[Span]], Iterator[Span]]]:
    """Take the veils off *data*.

    Returns:
        The bytes, and a function that turns spans of them into spans of *data*.
    """
    parts: list[bytes] = []
    places, shifts = [0], [0]
    ends = dict[int, int]()
    """Where something ends that a veil stood for, here and there."""
    length = position = 0
    for veil in _VEIL.finditer(data):
        shown = _shown(veil[0])
        parts += (data[position : veil.start()], shown)
        length += veil.start() - position + len(shown)
        position = veil.end()
        places.append(length)
        shifts.append(position - length)
        if shown:
            ends[length] = position
    parts.append(data[position:])

    def back(spans: Iterable[Span]) -> Iterator[Span]:
        for start, end in spans:
            # A veil behind the end, such as a colour, stays.
            behind = ends.get(end, end + shifts[bisect_left(places, end) - 1])
            yield start + shifts[bisect_right(places, start) - 1], behind

    return b"".join(parts), back


@lru_cache(maxsize=512)
def _shown(veil: bytes) -> bytes:
    code = _CODE.fullmatch(veil)
    if code:
        return bytes.fromhex(code[1].decode())
    number = _NUMBER.fullmatch(veil)
    return bytes([int(number[1])]) if number else _NAMED.get(veil, b"")
