"""The scrubber as a filter over JSON lines: `{"id", "text"}` in, `{"id", "text", "redactions"}` out."""

from typing import Any

import orjson

from toolcharter.guards.secrets.engine import remember
from toolcharter.guards.secrets.text import scrub_text


def scrub_line(line: bytes) -> bytes:
    """Answer one line, without its newline; the answer has none either.

    Its `values`, if it has any, are secrets from then on: see `remember`. A line that is no such object gets an answer too: `text` null, and `reason`
    `invalid_arguments`. What it held is not repeated, but for an `id` that is a whole number or was found to hold no secret.
    """
    record: Any = None
    try:
        record = orjson.loads(line)
        remember(record.get("values", ()))
        masked, count = scrub_text(record["text"])
        return orjson.dumps({"id": record.get("id"), "text": masked, "redactions": count})
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, KeyError, TypeError, AttributeError):
        return orjson.dumps({"id": _id(record), "text": None, "redactions": 0, "reason": "invalid_arguments"})


def _id(record: Any) -> str | int | None:
    """By what a caller finds the answer to a line that is not understood; nothing that could be its content."""
    given = record.get("id") if isinstance(record, dict) else None
    if isinstance(given, str):
        return given if scrub_text(given) == (given, 0) else None
    return given if isinstance(given, int) else None
