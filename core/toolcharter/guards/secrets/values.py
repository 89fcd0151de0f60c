"""Scrub structured values and JSON documents: their structure stays, and the text beside a telling key is masked."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import orjson

from toolcharter.guards.secrets.engine import hinted_families, hints
from toolcharter.guards.secrets.known import is_telling
from toolcharter.guards.secrets.places import OPAQUE
from toolcharter.guards.secrets.text import MASK, scrub_bytes, scrub_text

_SCHEME = re.compile(r"(?i)(bearer|basic|token|digest)[ \t]+(?=\S)")
_NAMES = frozenset({"name", "key", "variable", "parameterkey", "outputkey", "optionname"})
_VALUES = frozenset({"value", "parametervalue", "outputvalue", "securevalue"})
"""The keys by which clouds and clusters write lists of settings."""
_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})
"""The members of a JSON Web Key that only its owner has (RFC 7518, section 6)."""
_PASSWORD = re.compile(r"(?i)pass|pwd|pswd|secret")
_CONNECTION = re.compile(r"(?i)connection_?string$")
_SETTINGS = re.compile(r"[A-Za-z][\w -]*=[^;]*;")
_OPAQUE = re.compile(OPAQUE + "$")
_SALT = re.compile(r"(?i)salt$")
_SMALLEST = 100_000
"""A smaller number beside `password` is a setting."""
_MOST_WORDS = 200
"""A longer list is no command line."""
_LINES = b"\\n"
"""An escaped line break: the text around it may be a table, which is recognised only by its lines."""
_MAX_DEPTH = 200  # In levels. orjson writes up to 254, and no sensible value nests that deep.


def scrub_json(raw: bytes) -> tuple[bytes, int]:
    """Mask the secrets of a JSON document, which stays valid and keeps its shape.

    Returns:
        The document, the same object if it is clean, and how many texts or spans were masked. A document
        that is not JSON, or nests too deep to be written again, is scrubbed as text.
    """
    if not hints.match(raw) and _LINES not in raw:
        return raw, 0
    try:
        value, count = scrub_value(orjson.loads(raw))
        return (orjson.dumps(value), count) if count else (raw, 0)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return scrub_bytes(raw)


def scrub_value(value: Any) -> tuple[Any, int]:
    """Mask the secrets in a value of JSON types.

    Any text below a key such as `password` or `Authorization` is masked, whatever it looks like, also in lists. So is a
    number of six digits or more below a key such as `password`. Below a key that may name an identifier, such as
    `session_key`, a text of words and numbers is scrubbed by its content only, and so is a public key. Other texts are
    scrubbed by their content. A list of texts is also scrubbed as a command line, or as a name and its value. Booleans
    and null stay.

    Returns:
        The value, the same object if it is clean, and how many texts or spans were masked. A container more
        than 200 levels deep is masked as a whole.
    """
    return _scrub(value, "", depth=0)


def _scrub(value: Any, key: str, depth: int) -> tuple[Any, int]:
    """Scrub *value*. *key* is the telling key that makes it a secret; empty if there is none."""
    if not isinstance(value, (Mapping, list, tuple)):
        return _scrub_leaf(value, key)
    if depth == _MAX_DEPTH:
        return MASK, 1
    if isinstance(value, Mapping):
        return _scrub_mapping(value, key, depth)
    items = [_scrub(item, key, depth + 1) for item in value]
    count = sum(found for _, found in items)
    if not count and not key:
        return _scrub_command_line(value)
    return ([item for item, _ in items], count) if count else (value, 0)


def _scrub_leaf(value: Any, key: str) -> tuple[Any, int]:
    if isinstance(value, str):
        return _mask_value(value, key) if key else scrub_text(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (MASK, 1) if is_number and abs(value) >= _SMALLEST and _PASSWORD.search(key) else (value, 0)


def _scrub_mapping(value: Mapping[str, Any], above: str, depth: int) -> tuple[Any, int]:
    masked: dict[str, Any] = {}
    total = 0
    named = any(_is_telling(item) for key, item in value.items() if key.lower() in _NAMES)
    is_key = "kty" in value
    for key, item in value.items():
        name, in_key = scrub_text(key)
        is_opaque = isinstance(item, str) and _OPAQUE.search(key) is not None and _heuristics().is_strong(_bytes(item))
        secret = key if is_opaque or _is_telling(key) or (is_key and key in _PRIVATE) else ""
        if not secret and key.lower() in _VALUES and (named or above):
            secret = "value" if named else above
        if above and not secret and isinstance(item, str) and _heuristics().is_strong(_bytes(item)):
            secret = above
        is_list = not secret and isinstance(item, list | tuple) and _is_telling(key.removesuffix("s"))
        masked[name], in_item = _scrub_list(item, depth + 1) if is_list else _scrub(item, secret, depth + 1)
        total += in_key + in_item
    return (masked, total) if total else (value, 0)


def _scrub_list(items: Sequence[Any], depth: int) -> tuple[Any, int]:
    """Mask the random texts of a list such as `tokens`: often it holds tokens of another kind."""
    if depth == _MAX_DEPTH:
        return MASK, 1
    found = [
        (MASK, 1) if isinstance(item, str) and _heuristics().is_strong(_bytes(item)) else _scrub(item, "", depth + 1)
        for item in items
    ]
    count = sum(number for _, number in found)
    return ([item for item, _ in found], count) if count else (items, 0)


def _scrub_command_line(items: Sequence[Any]) -> tuple[Any, int]:
    """Mask a text in a list that the text before it makes a secret: `["--password", "..."]`, `["Cookie", "..."]`."""
    if not 1 < len(items) <= _MOST_WORDS or not all(isinstance(item, str) for item in items):
        return items, 0
    pair = len(items) == 2 and not items[0].startswith("-")  # noqa: PLR2004 - a name and its value
    separator = b": " if pair else b" "
    words = [_bytes(item) for item in items]
    line = separator.join(words)
    if not hints.match(line):
        return items, 0
    spans: list[tuple[int, int]] = _spans().find_spans(line, hinted_families(line))
    masked: list[str] = []
    count = begin = 0
    for item, word in zip(items, words, strict=True):
        end = begin + len(word)
        parts = [
            (max(start, begin) - begin, min(stop, end) - begin) for start, stop in spans if start < end and stop > begin
        ]
        shown = word
        for start, stop in reversed(parts):
            shown = shown[:start] + MASK.encode() + shown[stop:]
        masked.append(shown.decode("utf-8", "surrogatepass") if parts else item)
        count += len(parts)
        begin = end + len(separator)
    return (masked, count) if count else (items, 0)


def _is_telling(name: object) -> bool:
    return isinstance(name, str) and is_telling(name)


def _mask_value(text: str, key: str) -> tuple[str, int]:
    scheme = _SCHEME.match(text)
    begin = scheme.end() if scheme else 0
    value = _bytes(text[begin:])
    shapes = _heuristics()
    if shapes.is_placeholder(value) or shapes.is_version_or_hash(value):
        return text, 0
    if shapes.is_identifier(_bytes(key), value) or shapes.is_public_key(value) or _is_connection_string(key, text):
        return scrub_text(text)
    if _SALT.search(key) and not shapes.is_secret(value, b'salt": "', b"", quoted=True):
        return text, 0
    return text[:begin] + MASK, 1


def _is_connection_string(key: str, text: str) -> bool:
    """Whether *text* is a connection with settings, not all of them secret."""
    return _CONNECTION.search(key) is not None and _SETTINGS.match(text) is not None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@cache
def _heuristics() -> Any:
    return import_module("toolcharter.guards.secrets.heuristics")  # On the first hit: it costs milliseconds.


@cache
def _spans() -> Any:
    return import_module("toolcharter.guards.secrets.spans")
