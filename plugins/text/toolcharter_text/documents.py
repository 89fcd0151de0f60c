"""Parses JSON strictly by RFC 8259, and reports the place of an error."""

import re
from enum import StrEnum
from itertools import chain
from typing import Any

import orjson

from toolcharter import ToolError

BOM = b"\xef\xbb\xbf"
# The tokens of a valid document that have to be checked: strings (are they names?), brackets, and whole numbers.
_TOKEN = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*(?P<colon>:)?|[{}\[\]]|(?P<whole>-?[0-9]+(?![0-9.eE]))|[0-9][0-9.eE+-]*'
)
_MAX_DIGITS = 20  # The digits of 2**64, or of 2**63 with a sign.
_MANY_DIGITS = re.compile(r"(?<![0-9.])[0-9]{19}")  # As many digits as 2**63 has.
_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"[ \t\r\n]*(:?)')
_NESTING = frozenset({dict, list})
_HINTS = (
    (re.compile(r"-?(NaN|Infinity)"), "JSON has no NaN and no Infinity; write null."),
    (re.compile(r"'"), "JSON quotes with double quotes."),
    (re.compile(r"True|False|None"), "JSON writes true, false and null."),
    (re.compile(r"//|/\*|#"), "JSON has no comments."),
)
_MANY = "If each line is a document, say so with `lines`."


class DocumentReason(StrEnum):
    """Why a text is not accepted as JSON."""

    INVALID_JSON = "invalid_json"
    DUPLICATE_KEY = "duplicate_key"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    JSON_TOO_DEEP = "json_too_deep"


def read_document(raw: bytes, max_depth: int) -> Any:
    """Return the value of one document; a byte-order mark before it is ignored.

    Raises:
        ToolError: With a `DocumentReason`, and the line and column of the error.
    """
    text = _decode(raw)
    value = _parse(text, max_depth, 1)
    if _is_doubtful(text, value, max_depth):
        _check(text, max_depth, 1)
    return value


def read_lines(raw: bytes, max_depth: int) -> list[Any]:
    """Return the values of a text with one document in each line; empty lines are ignored.

    Raises:
        ToolError: As for `read_document`.
    """
    text = _decode(raw)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(" \t\r")]
    values = [_parse(line, max_depth, number) for number, line in lines]
    if _is_doubtful(text, values, max_depth + 1):
        for number, line in lines:
            _check(line, max_depth, number)
    return values


def _decode(raw: bytes) -> str:
    body = raw.removeprefix(BOM)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise _fault("the bytes are not UTF-8", body[: error.start].decode(), error.start, 1) from error


def _parse(text: str, max_depth: int, line: int) -> Any:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "depth" in error.msg:
            raise _too_deep(text, error.pos, line, max_depth) from None
        if "infinity" in error.msg:
            raise _out_of_range(text, error.pos, line) from None
        hint = next((hint for pattern, hint in _HINTS if pattern.match(text, error.pos)), None)
        many = _MANY if "content after" in error.msg else None
        raise _fault(error.msg, text, error.pos, line, hint=hint or many) from error
    return value


def _is_doubtful(text: str, value: Any, max_depth: int) -> bool:
    """Return whether `_check` might reject the valid *text* of *value*; `_check` takes a hundred times as long.

    If two members have one name, *value* has fewer members than the text has names.
    """
    if _MANY_DIGITS.search(text):
        return True
    depth, members = _depth_and_members(value)
    return depth > max_depth or (text.count(":") != members and _STRINGS.findall(text).count(":") != members)


def _depth_and_members(value: Any) -> tuple[int, int]:
    """Return how many levels of arrays and objects *value* has, and how many members its objects have in total."""
    depth = members = 0
    level = [value] if type(value) in _NESTING else []
    while level:
        depth += 1
        members += sum(len(one) for one in level if type(one) is dict)
        inner = chain.from_iterable(one.values() if type(one) is dict else one for one in level)
        level = [one for one in inner if type(one) in _NESTING]
    return depth, members


def _check(text: str, max_depth: int, line: int) -> None:
    """Refuse a valid document that is too deep, or that programs may parse to different values."""
    names: list[set[str]] = []
    for found in _TOKEN.finditer(text):
        first = found[0][0]
        if first in "{[":
            names.append(set())
            if len(names) > max_depth:
                raise _too_deep(text, found.start(), line, max_depth)
        elif first in "}]":
            names.pop()
        elif found["colon"]:
            _check_name(found["string"], names[-1], (text, found.start(), line))
        elif found["whole"]:
            _check_number(found["whole"], (text, found.start(), line))


def _check_name(quoted: str, seen: set[str], place: tuple[str, int, int]) -> None:
    name = orjson.loads(quoted) if "\\" in quoted else quoted[1:-1]
    if name in seen:
        message = "an object has two members of this name"
        raise _fault(message, *place, reason=DocumentReason.DUPLICATE_KEY)
    seen.add(name)


def _check_number(digits: str, place: tuple[str, int, int]) -> None:
    """Refuse an integer that orjson would return as a float, because it does not fit into 64 bits."""
    if len(digits) > _MAX_DIGITS or not -(2**63) <= int(digits) < 2**64:
        raise _out_of_range(*place)


def _out_of_range(text: str, at: int, line: int) -> ToolError:
    message = "a number is larger than 64 bits hold"
    return _fault(message, text, at, line, reason=DocumentReason.NUMBER_OUT_OF_RANGE, hint="Write it as a string.")


def _too_deep(text: str, at: int, line: int, max_depth: int) -> ToolError:
    return _fault(f"there are more than {max_depth} levels", text, at, line, reason=DocumentReason.JSON_TOO_DEEP)


def _fault(
    what: str,
    text: str,
    at: int,
    line: int,
    *,
    reason: DocumentReason = DocumentReason.INVALID_JSON,
    hint: str | None = None,
) -> ToolError:
    """Make an error with line and column, both counted from 1. It quotes nothing from the document."""
    before = text[:at]
    place = f"{line + before.count(chr(10))}:{at - before.rfind(chr(10))}"
    return ToolError(f"Line and column {place}: {what}.", reason=reason, hint=hint)
