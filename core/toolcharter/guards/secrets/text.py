"""Scrub bytes and text: first a cheap search for hints, and only after a hit the search for spans."""

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

import orjson

from toolcharter.guards.secrets.engine import Span, add_secrets, hints

MASK = "[REDACTED]"
"""Always the same: a mask as long as the secret would reveal its length."""

_MASK_BYTES = MASK.encode()
_BACKSLASH = 0x5C
_LONGEST_MEMBER = 400
"""In bytes: how far before a number a JSON key is searched for."""
_LOOKED_AT = 16
_JSON_NAME_END = re.compile(rb"(\\{0,4}\")\s*:\Z")
_JSON_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_JSON_END = re.compile(rb"\s*(?:[,}\]\r\n]|\Z)")
_IN_WORDS = frozenset(b"0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def scrub_text(text: str) -> tuple[str, int]:
    """Mask the secrets of *text*.

    Returns:
        The text, the same object if it is clean, and how many spans were masked. Everything except
        the secrets stays, such as keys and quotes.
    """
    # A lone surrogate may be in a text that was decoded from a file name.
    data = text.encode("utf-8", "surrogatepass")
    masked, count = scrub_bytes(data)
    if not count:
        return text, 0
    return _documents().keep_valid(text, masked.decode("utf-8", "surrogatepass")), count


def scrub_bytes(data: bytes) -> tuple[bytes, int]:
    """Mask the secrets of *data*, in any encoding that contains ASCII; the same object if it is clean."""
    families = hints.match(data)
    if not families:
        return data, 0
    spans: list[Span] = _spans().find_spans(data, families)
    if not spans:
        return data, 0
    masked = _apply_mask(data, spans)
    if not any(_touches_word(data, *span) for span in spans):
        return masked, len(spans)
    masked, more = scrub_bytes(masked)
    return masked, len(spans) + more


@cache
def _documents() -> Any:
    """The module for whole documents, imported on the first hit."""
    return import_module("toolcharter.guards.secrets.documents")


@cache
def _spans() -> Any:
    """The module that finds spans, imported on the first hit, since its expressions take milliseconds."""
    return import_module("toolcharter.guards.secrets.spans")


def _touches_word(data: bytes, start: int, end: int) -> bool:
    """Whether a word touches the span. The mask gives that word a boundary, so it may match afterwards."""
    return (start > 0 and data[start - 1] in _IN_WORDS) or (end < len(data) and data[end] in _IN_WORDS)


def _mask_for(data: bytes, start: int, end: int) -> bytes:
    """Return the mask; in the quotes of its key if the value is a JSON number."""
    if not _JSON_NUMBER.fullmatch(data, start, end) or not _JSON_END.match(data, end):
        return _MASK_BYTES
    before = data[max(0, start - _LONGEST_MEMBER) : start].rstrip()
    if before.endswith((b"[", b",")):
        before = before[: before.rfind(b"[")].rstrip()
    quote = _JSON_NAME_END.search(before[-_LOOKED_AT:]) if before.endswith(b":") else None
    return quote[1] + _MASK_BYTES + quote[1] if quote else _MASK_BYTES


def _apply_mask(data: bytes, spans: Iterable[Span]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for start, stop in spans:
        end = stop
        if data[stop - 1] == _BACKSLASH and stop < len(data):
            # The last of an odd number of backslashes escapes the byte after the secret: it stays.
            end -= (stop - start - len(data[start:stop].rstrip(b"\\"))) % 2
        parts += (data[position:start], _mask_for(data, start, end))
        position = end
    parts.append(data[position:])
    return b"".join(parts)


def scrub_line(line: bytes) -> bytes:
    """Answer one JSON line, `{"id", "text"}`, with `{"id", "text", "redactions"}`; neither has a newline.

    If the line has `values`, they are secrets from then on: see `add_secrets`. A line that is not such an object is
    answered with a null `text` and the `reason` `invalid_arguments`. The answer repeats nothing from it, except an `id`
    that is a whole number or contains no secret.
    """
    record: Any = None
    try:
        record = orjson.loads(line)
        add_secrets(record.get("values", ()))
        masked, count = scrub_text(record["text"])
        return orjson.dumps({"id": record.get("id"), "text": masked, "redactions": count})
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, KeyError, TypeError, AttributeError):
        return orjson.dumps({"id": _safe_id(record), "text": None, "redactions": 0, "reason": "invalid_arguments"})


def _safe_id(record: Any) -> str | int | None:
    """The `id` of a malformed line, by which the caller finds the answer; None if it may contain a secret."""
    given = record.get("id") if isinstance(record, dict) else None
    if isinstance(given, str):
        return given if scrub_text(given) == (given, 0) else None
    return given if isinstance(given, int) else None
