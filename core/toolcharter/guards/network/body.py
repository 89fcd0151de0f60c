"""A body as it was before compression, never more of it than the limit."""

import zlib
from collections.abc import Callable

from toolcharter.api.reasons import GuardReason
from toolcharter.errors import ToolError

ACCEPTED = "gzip, deflate"
"""For the header `Accept-Encoding`: what can be unpacked piece by piece with a limit, with the standard library."""
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_FORMS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}


class Body:
    """Takes what arrives and gives what it means.

    Args:
        encoding: The header `Content-Encoding`, or empty.
        limit: Bytes after decompression.

    Raises:
        ToolError: `invalid_response`, for an encoding that was not asked for.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        self._room = limit
        self.truncated = False
        """More has come than the limit; the rest need not be read."""
        self._unpack = _unpacker(encoding.strip().lower())

    def feed(self, data: bytes) -> bytes:
        """What *data* adds to the body.

        Raises:
            ToolError: `invalid_response`, for what does not unpack.
        """
        try:
            plain = self._unpack(data, self._room + 1)
        except zlib.error as error:
            raise ToolError(f"The answer does not unpack: {error}.", reason=GuardReason.INVALID_RESPONSE) from error
        self.truncated = len(plain) > self._room
        kept = plain[: self._room]
        self._room -= len(kept)
        return kept


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """`(data, most) -> bytes`, at most so many."""
    if encoding in {"", "identity"}:
        return lambda data, most: data[:most]
    if encoding not in _FORMS:
        # Shown shortened: a stranger wrote it.
        message = f"The answer is encoded as {encoding[:32]!r}, which was not asked for."
        raise ToolError(message, reason=GuardReason.INVALID_RESPONSE)
    return _Inflater(_FORMS[encoding]).unpack


class _Inflater:
    """zlib by pieces. Some servers send `deflate` without its frame; browsers bear it, and so do we."""

    def __init__(self, form: int) -> None:
        self._form = form
        self._stream = zlib.decompressobj(form)
        self._begun = False

    def unpack(self, data: bytes, most: int) -> bytes:
        if not self._begun and self._form == _ZLIB and data and not _has_frame(data[0]):
            self._form = _RAW
            self._stream = zlib.decompressobj(_RAW)
        self._begun = self._begun or bool(data)
        plain = b""
        while data and len(plain) < most:
            plain += self._stream.decompress(data, most - len(plain))
            data = self._stream.unconsumed_tail
            if self._stream.eof:  # gzip may hold several members
                data, self._stream = self._stream.unused_data, zlib.decompressobj(self._form)
                if self._form != _GZIP or not data.startswith(b"\x1f"):
                    return plain
        return plain


def _has_frame(first: int) -> bool:
    """Source: RFC 1950, section 2.2: the method is 8, the window at most 7."""
    return first & 0x0F == 8 and first >> 4 <= 7  # noqa: PLR2004 - as in the source
