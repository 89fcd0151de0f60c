"""Determines the kind of a file by its content alone: pictures with their size, MP3 with its length."""

import struct
from collections.abc import Callable
from typing import NamedTuple


class NoSuchKind(ValueError):
    """The content is none of the requested kinds."""


class Picture(NamedTuple):
    """A picture."""

    suffix: str
    mime_type: str
    width: int
    height: int
    """The height in pixels, as the width."""


class Speech(NamedTuple):
    """A piece of MP3."""

    suffix: str
    mime_type: str
    seconds: float


def parse_picture(content: bytes) -> Picture:
    """Parse the head of the picture *content*.

    Raises:
        NoSuchKind: *content* is not a PNG, JPEG or WebP, or its head is malformed.

    Source: PNG (W3C), 5.2 and 11.2.2; JPEG (ITU T.81), B.1 and B.2.2; RFC 9649 for WebP.
    """
    for suffix, mime_type, size in _PICTURES:
        try:
            found = size(content)
        except (struct.error, IndexError):
            found = None
        if found is not None and min(found) > 0:
            return Picture(suffix, mime_type, *found)
    raise NoSuchKind("no picture in PNG, JPEG or WebP")


def _png(content: bytes) -> tuple[int, int] | None:
    if not content.startswith(b"\x89PNG\r\n\x1a\n") or content[12:16] != b"IHDR" or b"IEND" not in content[-16:]:
        return None
    width, height = struct.unpack(">II", content[16:24])
    return width, height


_MARKER = 0xFF
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The markers that begin a frame of a JPEG; the excluded ones begin tables and extensions."""
_LOSSLESS = 0x2F
_TAG = 10
"""The size of an ID3 header, in bytes."""


def _jpeg(content: bytes) -> tuple[int, int] | None:
    if not content.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while content[at] == _MARKER:
        marker = content[at + 1]
        if marker in _FRAMES:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", content[at + 2 : at + 4])[0]
    return None


def _webp(content: bytes) -> tuple[int, int] | None:
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        return None
    form, data = content[12:16], content[20:30]
    if form == b"VP8X":
        return 1 + int.from_bytes(data[4:7], "little"), 1 + int.from_bytes(data[7:10], "little")
    if form == b"VP8L" and data[0] == _LOSSLESS:
        bits = int.from_bytes(data[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 " and data[3:6] == b"\x9d\x01\x2a":
        return struct.unpack("<H", data[6:8])[0] & 0x3FFF, struct.unpack("<H", data[8:10])[0] & 0x3FFF
    return None


_PICTURES: tuple[tuple[str, str, Callable[[bytes], tuple[int, int] | None]], ...] = (
    ("png", "image/png", _png),
    ("jpg", "image/jpeg", _jpeg),
    ("webp", "image/webp", _webp),
)

_RATES = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
"""Samples per second, by the two bits of the version: 3 is MPEG 1, 2 is MPEG 2, 0 is MPEG 2.5."""
_KBITS = {
    True: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    False: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Kilobits per second: True for MPEG 1, False for MPEG 2 and 2.5."""
_SYNC, _MPEG_1, _LAYER_III = 0x7FF, 3, 1
_HEAD = 4


def parse_speech(content: bytes) -> Speech:
    """Parse the MP3 *content*, whose frames must follow each other up to its end.

    Raises:
        NoSuchKind: *content* is anything else.

    Source: ISO/IEC 11172-3, 2.4.2.3, and 13818-3; ID3v2.4, 3.1.
    """
    at = _skip_tag(content)
    seconds, frames, end = 0.0, 0, len(content) - (128 if content[-128:-125] == b"TAG" else 0)
    while at + _HEAD <= end:
        length, duration = _frame(content[at : at + _HEAD])
        at += length
        if at <= end:  # else the last frame is cut off
            seconds, frames = seconds + duration, frames + 1
    if not frames:
        raise NoSuchKind("no MP3")
    return Speech("mp3", "audio/mpeg", round(seconds, 2))


def _skip_tag(content: bytes) -> int:
    if content[:3] != b"ID3" or len(content) < _TAG:
        return 0
    size = 0
    for seven_bits in content[6:10]:
        size = size << 7 | seven_bits & 0x7F
    return _TAG + size


def _frame(head: bytes) -> tuple[int, float]:
    """Return the length of a frame in bytes and in seconds."""
    bits = int.from_bytes(head, "big")
    version, layer, kbits, rate = bits >> 19 & 3, bits >> 17 & 3, bits >> 12 & 15, bits >> 10 & 3
    is_first = version == _MPEG_1
    is_known = (
        layer == _LAYER_III and version in _RATES and 0 < kbits <= len(_KBITS[is_first]) and rate < len(_RATES[3])
    )
    if bits >> 21 != _SYNC or not is_known:
        raise NoSuchKind("no MP3")
    samples, hertz = 1152 if is_first else 576, _RATES[version][rate]
    length = samples // 8 * _KBITS[is_first][kbits - 1] * 1000 // hertz + (bits >> 9 & 1)
    return length, samples / hertz
