"""Bytes to JSON values: RFC 8259 and nothing more lenient, with the place of what is wrong."""

import re
from enum import StrEnum
from typing import Any

import orjson

from toolcharter import ToolError

BOM = b"\xef\xbb\xbf"
# What of a valid document has to be looked at: strings (are they names?), brackets, and whole numbers.
_TOKEN = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*(?P<colon>:)?|[{}\[\]]|(?P<whole>-?[0-9]+(?![0-9.eE]))|[0-9][0-9.eE+-]*'
)
_MAX_DIGITS = 20  # Those of 2**64, with a sign.
_HINTS = (
    (re.compile(r"-?(NaN|Infinity)"), "JSON has no NaN and no Infinity; write null."),
    (re.compile(r"'"), "JSON quotes with double quotes."),
    (re.compile(r"True|False|None"), "JSON writes true, false and null."),
    (re.compile(r"//|/\*|#"), "JSON has no comments."),
)
_MANY = "If each line is a document, say so with `lines`."


class DocumentReason(StrEnum):
    """Why a text is not taken for JSON."""

    INVALID_JSON = "invalid_json"
    DUPLICATE_KEY = "duplicate_key"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    JSON_TOO_DEEP = "json_too_deep"


def read_document(raw: bytes, max_depth: int) -> Any:
    """The value of one document, a byte-order mark before it left out.

    Raises:
        ToolError: With one of `DocumentReason`, and line and column of what is wrong.
    """
    return _parsed(_decoded(raw), max_depth, 1)


def read_lines(raw: bytes, max_depth: int) -> list[Any]:
    """The values of a text with one document in each line; empty lines are passed over.

    Raises:
        ToolError: As for `read_document`.
    """
    numbered = enumerate(_decoded(raw).split("\n"), 1)
    return [_parsed(line, max_depth, number) for number, line in numbered if line.strip(" \t\r")]


def _decoded(raw: bytes) -> str:
    body = raw.removeprefix(BOM)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise _fault("the bytes are not UTF-8", body[: error.start].decode(), error.start, 1) from error


def _parsed(text: str, max_depth: int, line: int) -> Any:
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
    _check(text, max_depth, line)
    return value


def _check(text: str, max_depth: int, line: int) -> None:
    """Whether a valid document is one that all programs read alike, and not too deep."""
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
    """Refuse what would come out as another number. Source: orjson makes floats of what 64 bits do not hold."""
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
    """An error with line and column, both counted from 1. The document's own words are left out."""
    before = text[:at]
    place = f"{line + before.count(chr(10))}:{at - before.rfind(chr(10))}"
    return ToolError(f"Line and column {place}: {what}.", reason=reason, hint=hint)
