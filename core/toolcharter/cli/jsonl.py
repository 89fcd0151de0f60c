"""Reads the calls of `run` and `decide` as JSON lines; writes one answer for each line, in order, and flushes it."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from toolcharter._lazy import lazy
from toolcharter.api.call import TraceContext
from toolcharter.api.trace import read_trace
from toolcharter.cli.output import write_line
from toolcharter.errors import did_you_mean

if TYPE_CHECKING:
    from toolcharter.guards import secrets
else:
    secrets = lazy("toolcharter.guards.secrets")

_KEYS = ("tool", "args", "id", "traceparent", "tracestate")


class CallLine(NamedTuple):
    """One line of input: a call, or the reason why it is not a call."""

    id: Any
    tool: str
    args: Any
    """A mapping, or any other value of the line; the gate refuses others."""
    fault: str | None = None
    """Why the line is not a call; None if it is a call."""
    trace: TraceContext | None = None
    """The trace that the call belongs to."""


def answer_lines(answer: Callable[[CallLine], Mapping[str, Any]]) -> None:
    """Answer every line of standard input on standard output."""
    output = sys.stdout.buffer
    for number, line in enumerate(sys.stdin.buffer, 1):
        call = parse_line(line, number)
        write_line(output, {"id": call.id, **answer(call)})


def parse_line(line: bytes, number: int) -> CallLine:
    """Parse one line. The gate decides whether the tool exists and the arguments fit."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        # An error at the line end belongs to this line, not to column 1 of the next.
        column = min(error.pos, len(error.doc.rstrip("\r\n"))) + 1
        return CallLine(None, "", {}, f"line {number}, column {column}: not JSON: {error.msg}.")
    if not isinstance(record, dict):
        return CallLine(None, "", {}, f"line {number}: JSON, but not an object.")
    fault = _find_fault(record)
    said = None if fault is None else f"line {number}: {fault}"
    return CallLine(_scrub(record.get("id")), record.get("tool", ""), record.get("args", {}), said, read_trace(record))


def _find_fault(record: Mapping[str, Any]) -> str | None:
    strangers = sorted(record.keys() - set(_KEYS))
    if strangers:
        # Not ignored: a misspelt `args` would be a call without arguments.
        near = did_you_mean(strangers[0], _KEYS)
        known = f"Known keys: {', '.join(map(repr, _KEYS))}."
        return f"unknown key {_scrub(strangers[0])!r}. {near} {known}".replace("  ", " ")
    if not isinstance(record.get("tool"), str):
        return "no tool: write its name under the key 'tool'."
    return None


def _scrub(value: Any) -> Any:
    """Return *value* without its secrets; numbers, booleans and null are returned as they are."""
    return secrets.scrub_value(value)[0] if isinstance(value, str | list | dict) else value
