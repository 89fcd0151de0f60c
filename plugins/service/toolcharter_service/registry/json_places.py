"""Parses a JSON array strictly, without duplicate keys, and returns the place of each element."""

import json
import re
from typing import Any, Final, NoReturn

_BLANK: Final = re.compile(r"[ \t\r\n]*")
MAX_DEPTH: Final = 32


class JsonFault(Exception):
    """The text is no valid JSON."""

    def __init__(self, line: int, column: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.column = column
        self.what = what


def read_json(text: str) -> tuple[Any, list[tuple[int, int]]]:
    """Parse *text*. Return the value and, if it is an array, the line and column of each element.

    Raises:
        JsonFault: *text* is no JSON, has a duplicate key, or is nested too deep.
    """
    at = _skip(text, 0)
    if text[at : at + 1] != "[":
        value, end = _value(text, at)
        _require_end(text, end)
        return value, []
    found, places = list[Any](), list[tuple[int, int]]()
    at = _skip(text, at + 1)
    is_first = True
    while text[at : at + 1] != "]":
        if not is_first:
            if text[at : at + 1] != ",":
                _refuse(text, at, "',' or ']' is missing.")
            at = _skip(text, at + 1)
        value, end = _value(text, at)
        found.append(value)
        places.append(_place(text, at))
        at, is_first = _skip(text, end), False
    _require_end(text, at + 1)
    return found, places


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        _refuse(text, error.pos, f"{error.msg}.")
    except RecursionError:
        _refuse(text, at, "the value is nested too deep.")
    except ValueError as error:
        _refuse(text, at, f"{error}.")
    if _depth(value) > MAX_DEPTH:
        _refuse(text, at, f"the value is nested deeper than {MAX_DEPTH} levels.")
    return value, end


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name!r} occurs twice")
        found[name] = value
    return found


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def _depth(value: Any) -> int:
    deepest, stack = 0, [(value, 1)]
    while stack:
        one, depth = stack.pop()
        deepest = max(deepest, depth)
        children = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        stack += [(child, depth + 1) for child in children]
    return deepest


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _require_end(text: str, at: int) -> None:
    if (end := _skip(text, at)) < len(text):
        _refuse(text, end, "there is more text after the value.")


def _refuse(text: str, at: int, what: str) -> NoReturn:
    line, column = _place(text, at)
    raise JsonFault(line, column, what)


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
