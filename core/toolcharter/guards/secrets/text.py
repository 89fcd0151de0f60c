"""Scrub bytes and text: a boolean search first, spans only on a hit."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

from toolcharter.guards.secrets import engine
from toolcharter.guards.secrets.engine import Span

MASK = "[REDACTED]"
"""Always the same: a mask as long as the secret would still tell its length."""

_MASK_BYTES = MASK.encode()
_IN_WORDS = frozenset(b"0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_hints = engine.hints


def find(data: bytes) -> bool:
    """Whether *data* may hold a secret; no is certain, yes means that it is worth scrubbing.

    Args:
        data: Any bytes: text in UTF-8, also broken, or a JSON document.
    """
    return bool((_hints.match or _hints.compile())(data))


def scrub_text(text: str) -> tuple[str, int]:
    """Mask the secrets of *text*.

    Returns:
        The text, the same object if it is clean, and how many spans were masked. Keys, quotes and
        everything else stay.
    """
    # A lone surrogate may stand in a text that was decoded from a file name.
    data = text.encode("utf-8", "surrogatepass")
    masked, count = scrub_bytes(data)
    return (masked.decode("utf-8", "surrogatepass"), count) if count else (text, 0)


def scrub_bytes(data: bytes) -> tuple[bytes, int]:
    """Mask the secrets of *data*, in any encoding that contains ASCII; the same object if it is clean."""
    families = (_hints.match or _hints.compile())(data)
    if not families:
        return data, 0
    spans: list[Span] = _spans().find_spans(data, families)
    if not spans:
        return data, 0
    masked = _masked(data, spans)
    if not any(_touches(data, *span) for span in spans):
        return masked, len(spans)
    masked, more = scrub_bytes(masked)
    return masked, len(spans) + more


@cache
def _spans() -> Any:
    """What judges, imported on the first hit: its expressions cost milliseconds."""
    return import_module("toolcharter.guards.secrets.spans")


def _touches(data: bytes, start: int, end: int) -> bool:
    """Yes if there is a word right beside the span: the mask gives it a border that it may have lacked."""
    return (start > 0 and data[start - 1] in _IN_WORDS) or (end < len(data) and data[end] in _IN_WORDS)


def _masked(data: bytes, spans: Iterable[Span]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for start, end in spans:
        parts += (data[position:start], _MASK_BYTES)
        position = end
    parts.append(data[position:])
    return b"".join(parts)
