"""Scrub structured values and JSON documents: their shape stays, the text beside a telling key goes."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from toolcharter.guards.secrets.known import is_telling
from toolcharter.guards.secrets.text import MASK, find, scrub_bytes, scrub_text

_SCHEME = re.compile(r"(?i)(bearer|basic|token|digest)[ \t]+(?=\S)")
_NAMES = frozenset({"name", "key", "variable", "parameterkey", "outputkey", "optionname"})
_VALUES = frozenset({"value", "parametervalue", "outputvalue", "securevalue"})
"""As clouds and clusters write lists of settings."""
_MAX_DEPTH = 200  # In levels; orjson writes 254, and nothing sensible nests that deep.


def scrub_json(raw: bytes) -> tuple[bytes, int]:
    """Mask the secrets of a JSON document, which stays valid and keeps its shape.

    Returns:
        The document, the same object if it is clean, and how many texts or spans were masked. What is no
        JSON, or nests too deep to be written again, is scrubbed as text.
    """
    if not find(raw):
        return raw, 0
    try:
        value, count = scrub_value(orjson.loads(raw))
        return (orjson.dumps(value), count) if count else (raw, 0)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return scrub_bytes(raw)


def scrub_value(value: Any) -> tuple[Any, int]:
    """Mask the secrets in a value of JSON types.

    Any text below a key such as `password` or `Authorization` is masked, whatever it looks like, lists of
    texts too; other texts are scrubbed by their content. Numbers, booleans and null stay.

    Returns:
        The value, the same object if it is clean, and how many texts or spans were masked. A container more
        than 200 levels deep is masked as a whole.
    """
    return _scrub(value, secret=False, depth=0)


def _scrub(value: Any, *, secret: bool, depth: int) -> tuple[Any, int]:
    if isinstance(value, str):
        return _mask(value) if secret else scrub_text(value)
    if not isinstance(value, (Mapping, list, tuple)):
        return value, 0
    if depth == _MAX_DEPTH:
        return MASK, 1
    if isinstance(value, Mapping):
        return _scrub_mapping(value, depth)
    items = [_scrub(item, secret=secret, depth=depth + 1) for item in value]
    count = sum(found for _, found in items)
    return ([item for item, _ in items], count) if count else (value, 0)


def _scrub_mapping(value: Mapping[str, Any], depth: int) -> tuple[Any, int]:
    masked: dict[str, Any] = {}
    total = 0
    named = any(_is_telling(item) for key, item in value.items() if key.lower() in _NAMES)
    for key, item in value.items():
        name, in_key = scrub_text(key)
        secret = _is_telling(key) or (named and key.lower() in _VALUES)
        masked[name], in_item = _scrub(item, secret=secret, depth=depth + 1)
        total += in_key + in_item
    return (masked, total) if total else (value, 0)


def _is_telling(name: object) -> bool:
    return isinstance(name, str) and is_telling(name)


def _mask(text: str) -> tuple[str, int]:
    scheme = _SCHEME.match(text)
    begin = scheme.end() if scheme else 0
    from toolcharter.guards.secrets.shapes import is_fill_in  # noqa: PLC0415 - on the first hit: it costs milliseconds

    if is_fill_in(text[begin:].encode("utf-8", "surrogatepass")):
        return text, 0
    return text[:begin] + MASK, 1
