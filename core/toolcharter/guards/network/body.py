"""Decompress a body piece by piece, never beyond its limit."""

import zlib
from collections.abc import Callable

from toolcharter.api.reasons import GuardReason
from toolcharter.errors import ToolError

ACCEPTED_ENCODINGS = "gzip, deflate"
"""The header `Accept-Encoding`: the encodings that the standard library can unpack piece by piece with a limit."""
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_FORMS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}


class BodyDecoder:
    """Decodes the pieces of one body as they arrive.

    Args:
        encoding: The header `Content-Encoding`, or empty.
        limit: Bytes after decompression.

    Raises:
        ToolError: `invalid_response`, for an encoding that was not asked for.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        self._room = limit
        self.truncated = False
        """Whether the body is longer than the limit. The caller need not read the rest."""
        self._unpack = _unpacker(encoding.strip().lower())

    def feed(self, data: bytes) -> bytes:
        """Return the bytes that *data* adds to the decompressed body.

        Raises:
            ToolError: `invalid_response`, if *data* cannot be decompressed.
        """
        try:
            plain = self._unpack(data, self._room + 1)
        except zlib.error as error:
            raise ToolError(
                f"The answer cannot be decompressed: {error}.", reason=GuardReason.INVALID_RESPONSE
            ) from error
        self.truncated = len(plain) > self._room
        kept = plain[: self._room]
        self._room -= len(kept)
        return kept


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """Return a function `(data, most)` that unpacks *data* to at most *most* bytes."""
    if encoding in {"", "identity"}:
        return lambda data, most: data[:most]
    if encoding not in _FORMS:
        # Shortened: the text is untrusted.
        message = f"The answer is encoded as {encoding[:32]!r}, which was not requested."
        raise ToolError(message, reason=GuardReason.INVALID_RESPONSE)
    return _Inflater(_FORMS[encoding]).unpack


class _Inflater:
    """Incremental zlib. Some servers send `deflate` without the zlib header; browsers accept that, and so do we."""

    def __init__(self, form: int) -> None:
        self._form = form
        self._stream = zlib.decompressobj(form)
        self._begun = False

    def unpack(self, data: bytes, most: int) -> bytes:
        if not self._begun and self._form == _ZLIB and data and not _has_zlib_header(data[0]):
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


def _has_zlib_header(first: int) -> bool:
    """Source: RFC 1950, section 2.2: the method is 8, the window at most 7."""
    return first & 0x0F == 8 and first >> 4 <= 7  # noqa: PLR2004 - as in the source
