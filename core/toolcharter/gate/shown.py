"""Arguments as events show them: scrubbed, then cut, in the detail the profile asks for."""

from typing import Any, Literal

import orjson

from toolcharter.events.lines import cut, shape
from toolcharter.guards.secrets import scrub_json

ArgsDetail = Literal["full", "shape", "none"]

_SMALL = 400
"""JSON of at most so many bytes holds no string that an event would have to cut."""


def shown(raw: bytes, detail: ArgsDetail) -> bytes:
    """Arguments that are JSON text already."""
    if detail == "none":
        return b"null"
    if detail == "shape":
        return orjson.dumps(shape(orjson.loads(raw)))
    raw, _ = scrub_json(raw)
    return raw if len(raw) <= _SMALL else orjson.dumps(cut(orjson.loads(raw)))


def shown_value(args: Any, detail: ArgsDetail) -> bytes:
    """Arguments that nothing has read yet; what is no JSON is shown as text, or not at all."""
    try:
        return shown(orjson.dumps(dict(args), default=repr), detail)
    except (TypeError, ValueError, RecursionError):
        return b"null"
