"""Parses the JSON body of a request strictly: UTF-8, no duplicate keys, at most `MAX_DEPTH` levels, finite numbers."""

import json
from collections.abc import Iterator
from typing import Any

import orjson

from toolcharter_service.http.problems import HttpProblem

MAX_BODY_BYTES = 1 << 20
MAX_DEPTH = 32
"""How many objects and lists may be nested in each other."""


def read_json(body: bytes) -> Any:
    """Parse *body*.

    Raises:
        HttpProblem: 400. The message names the place.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise HttpProblem(400, f"The body is no JSON: {error.msg} at {where}.", "invalid_json") from None
    # The depth is at most the number of brackets, so hardly any body has to be searched for its depth.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        _refuse_depth(value)
    # Each key has a colon: if there are as many colons as distinct keys, no key is duplicate.
    if _count_keys(value) == body.count(b":"):
        return value
    try:
        json.loads(body, object_pairs_hook=_refuse_duplicates)
    except _DuplicateKeyError:
        place = next(_duplicate_places(json.loads(body, object_pairs_hook=_Pairs)), "")
        raise HttpProblem(400, f"{place}: the key occurs twice.", "duplicate_key") from None
    except ValueError:  # A number with more digits than Python reads.
        raise HttpProblem(400, "The body is no JSON: a number is too long.", "invalid_json") from None
    return value


def _count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(item) for item in value.values() if isinstance(item, dict | list))
    if isinstance(value, list):
        return sum(_count_keys(item) for item in value if isinstance(item, dict | list))
    return 0


class _DuplicateKeyError(Exception):
    """A key is duplicate."""


class _Pairs(list[tuple[str, Any]]):
    """An object as its list of keys and values, with duplicate keys."""


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len(dict(pairs)) < len(pairs):
        raise _DuplicateKeyError


def _duplicate_places(value: Any, at: str = "") -> Iterator[str]:
    """Yield the place of each duplicate key."""
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value:
            place = f"{at}.{key}" if at else key
            if key in seen:
                yield place[-200:]
            seen.add(key)
            yield from _duplicate_places(item, place)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _duplicate_places(item, f"{at}.{number}" if at else str(number))


def _refuse_depth(value: Any) -> None:
    """Refuse a value that is nested deeper than `MAX_DEPTH`.

    Raises:
        HttpProblem: 400. The message names the place.
    """
    stack: list[tuple[str, Any, int]] = [("", value, 1)]
    while stack:
        place, found, depth = stack.pop()
        if not isinstance(found, dict | list):
            continue
        if depth > MAX_DEPTH:
            raise HttpProblem(400, f"{place[-200:]}: it is more than {MAX_DEPTH} levels deep.", "too_deep")
        below = found.items() if isinstance(found, dict) else enumerate(found)
        stack += [(f"{place}.{key}".removeprefix("."), item, depth + 1) for key, item in below]
