"""The scrubber as a filter over JSON lines: `{"id", "text"}` in, `{"id", "text", "redactions"}` out."""

import orjson

from toolcharter.guards.secrets.engine import remember
from toolcharter.guards.secrets.text import scrub_text


def scrub_line(line: bytes) -> bytes:
    """Answer one line, without its newline; the answer has none either.

    Its `values`, if it has any, are secrets from then on: see `remember`. A line that is no such object gets an answer too: `id` and `text` null, and `reason`
    `invalid_arguments`. What it held is not repeated.
    """
    try:
        record = orjson.loads(line)
        remember(record.get("values", ()))
        masked, count = scrub_text(record["text"])
        return orjson.dumps({"id": record.get("id"), "text": masked, "redactions": count})
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, KeyError, TypeError, AttributeError):
        return orjson.dumps({"id": None, "text": None, "redactions": 0, "reason": "invalid_arguments"})
