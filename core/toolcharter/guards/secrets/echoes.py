"""Lines of what is masked in one text, to be masked in another that holds them one by one.

A key of many lines is known by its first line. The matches of a search lie apart in `data`, each without the others, while
the text for the model has them together. So what the text hides, `data` hides as well.
"""

import re
from collections.abc import Mapping
from typing import Any

from toolcharter.guards.secrets.engine import hinted
from toolcharter.guards.secrets.spans import find_spans
from toolcharter.guards.secrets.text import MASK

_SHORTEST = 16
"""In characters: no secret is shorter, and a shorter line may be anywhere."""
_TAIL = re.compile(r"[^\s:]{16,}\Z")
"""A line without what a search puts before it: its number, the name of its file."""


def echoes(text: str) -> frozenset[str]:
    """The lines of all that is masked in *text*, each as it is and without its prefix."""
    data = text.encode("utf-8", "surrogatepass")
    found = set[str]()
    for start, stop in find_spans(data, hinted(data)):
        for line in data[start:stop].decode("utf-8", "replace").splitlines():
            tail = _TAIL.search(line.strip())
            found |= {line.strip(), tail[0] if tail else ""}
    return frozenset(line for line in found if len(line) >= _SHORTEST)


def mask_echoes(value: Any, lines: frozenset[str]) -> tuple[Any, int]:
    """Mask each line in *value*, of JSON types, that is one of *lines*; and how many were masked."""
    if isinstance(value, str):
        return _mask(value, lines)
    if isinstance(value, Mapping):
        items = {key: mask_echoes(item, lines) for key, item in value.items()}
        count = sum(found for _, found in items.values())
        return ({key: item for key, (item, _) in items.items()}, count) if count else (value, 0)
    if isinstance(value, list):
        parts = [mask_echoes(item, lines) for item in value]
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
