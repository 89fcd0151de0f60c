"""Collect the masked lines of one text, and mask them in another value that contains them one by one.

A key of many lines is recognised by its first line. In the text for the model, the matches of a search follow each
other, but in `data` each is a value of its own and cannot be recognised alone. So lines that are masked in the text are
masked in `data`, too.
"""

import re
from collections.abc import Mapping
from typing import Any

from toolcharter.guards.secrets.engine import hinted_families
from toolcharter.guards.secrets.spans import find_spans
from toolcharter.guards.secrets.text import MASK

_SHORTEST = 16
"""In characters: a shorter line is left out, since it may occur anywhere."""
_TAIL = re.compile(r"[^\s:]{16,}\Z")
"""A line without the prefix of a search: the line's number and the file's name."""


def masked_lines(text: str) -> frozenset[str]:
    """Return the lines of all spans that are masked in *text*, each with and without its prefix."""
    data = text.encode("utf-8", "surrogatepass")
    found = set[str]()
    for start, stop in find_spans(data, hinted_families(data)):
        for line in data[start:stop].decode("utf-8", "replace").splitlines():
            tail = _TAIL.search(line.strip())
            found |= {line.strip(), tail[0] if tail else ""}
    return frozenset(line for line in found if len(line) >= _SHORTEST)


def mask_lines(value: Any, lines: frozenset[str]) -> tuple[Any, int]:
    """Mask each line in *value*, of JSON types, that is one of *lines*, and return how many were masked."""
    if isinstance(value, str):
        return _mask(value, lines)
    if isinstance(value, Mapping):
        items = {key: mask_lines(item, lines) for key, item in value.items()}
        count = sum(found for _, found in items.values())
        return ({key: item for key, (item, _) in items.items()}, count) if count else (value, 0)
    if isinstance(value, list):
        parts = [mask_lines(item, lines) for item in value]
        count = sum(found for _, found in parts)
        return ([item for item, _ in parts], count) if count else (value, 0)
    return value, 0


def _mask(text: str, lines: frozenset[str]) -> tuple[str, int]:
    if len(text) < _SHORTEST:
        return text, 0
    parts = text.split("\n")
    hidden = [part.strip() in lines for part in parts]
    if not any(hidden):
        return text, 0
    return "\n".join(MASK if gone else part for part, gone in zip(parts, hidden, strict=True)), sum(hidden)
