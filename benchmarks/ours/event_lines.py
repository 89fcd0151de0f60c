"""Writes the four events of a denied call to a file: the first half before the body, the second half after it."""

import os
import tempfile
from pathlib import Path
from typing import Any

import orjson

from toolcharter import Caller
from toolcharter.events.emitter import Emitter
from toolcharter.events.lines import LineFormat, verdict_fields
from toolcharter.events.sinks import FileSink
from toolcharter.gate.call import new_call_id

folder = tempfile.TemporaryDirectory()
events = Path(folder.name, "events.jsonl")
emitter = Emitter([FileSink(events)])
lines = LineFormat("bench", "0" * 64).for_tool("read", "toolcharter-bench", Caller())
ARGS = {"path": "src/app.py", "limit": 3}


def four_events() -> None:
    """Write twice, two lines each."""
    tail = lines.tail(new_call_id(), None, None, orjson.dumps(ARGS))
    emitter.emit(lines.first_half(tail))
    verdict = {"reason": "path_outside_workspace", "message": None, "rule": None, "stage": "tool"}
    closing: dict[str, Any] = {
        **verdict,
        "elapsed_ms": 0.12,
        "output_chars": 52,
        "truncated": False,
        "redactions": 0,
        "fields": {},
    }
    deny = lines.deny(tail, verdict_fields("path_outside_workspace", None, None, "tool"))
    emitter.emit(deny + lines.after(tail, "denied", closing))


def after_batch() -> None:
    """Keep the event file small."""
    os.truncate(events, 0)


OPERATIONS = {"four_events": four_events}
