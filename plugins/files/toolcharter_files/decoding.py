"""Decode a whole file, and encode it again so that only the edited bytes change."""

import codecs
from typing import NamedTuple

from toolcharter import ToolError
from toolcharter_files.text import CHUNK_BYTES, NotText, candidate_encodings

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: this mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Decoded(NamedTuple):
    """The text of a file, its encoding and its byte-order mark."""

    text: str
    encoding: str
    mark: bytes
    """The byte-order mark at the beginning of the file; empty if there is none."""

    def encode(self, text: str) -> bytes:
        """Encode *text* as this file is encoded, with its byte-order mark.

        Raises:
            ToolError: `not_encodable`.
        """
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            what = f"The file is encoded in {self.encoding}, which cannot encode {text[error.start]!r}."
            raise ToolError(what, reason="not_encodable", hint="Write the whole file again, in UTF-8.") from error


def decode(raw: bytes, encoding: str | None) -> Decoded:
    """Decode the text of a file.

    Args:
        raw: The whole file.
        encoding: None to detect it: by a byte-order mark, else UTF-8, else Latin-1.

    Raises:
        NotText: The text holds a NUL, or does not encode to the same bytes again.
    """
    mark, marked = next(((mark, name) for mark, name in _MARKS if raw.startswith(mark)), (b"", ""))
    if encoding is not None and not marked.startswith(encoding):
        mark = b""
    names = (marked,) if mark else (encoding,) if encoding else candidate_encodings(raw[:CHUNK_BYTES])
    body = raw[len(mark) :]
    for name in names:
        try:
            text = body.decode(name)
            if "\0" not in text and text.encode(name) == body:
                return Decoded(text, name, mark)
        except UnicodeError:
            continue
    raise NotText
