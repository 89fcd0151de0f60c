"""The calls of `run` and `decide`: JSON lines in, one answer a line, in order, each flushed."""

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


class Line(NamedTuple):
    """One line of input: a call, or why it is none."""

    id: Any
    tool: str
    args: Any
    """A mapping, or whatever else the line has; the gate refuses that."""
    fault: str | None = None
    """Why it is no call; None if it is one."""
    trace: TraceContext | None = None
    """The trace that it belongs to."""


def answer_lines(answer: Callable[[Line], Mapping[str, Any]]) -> None:
    """Answer every line of standard input on standard output."""
    output = sys.stdout.buffer
    for number, line in enumerate(sys.stdin.buffer, 1):
        call = parse(line, number)
        write_line(output, {"id": call.id, **answer(call)})


def parse(line: bytes, number: int) -> Line:
    """Read one line; whether the tool exists and the arguments fit is for the gate to say."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        # The end of the line is no line of its own, whose first column would be meant.
        column = min(error.pos, len(error.doc.rstrip("\r\n"))) + 1
        return Line(None, "", {}, f"line {number}, column {column}: no JSON: {error.msg}.")
    if not isinstance(record, dict):
        return Line(None, "", {}, f"line {number}: JSON, but no object.")
    fault = _fault(record)
    said = None if fault is None else f"line {number}: {fault}"
    return Line(_shown(record.get("id")), record.get("tool", ""), record.get("args", {}), said, read_trace(record))


def _fault(record: Mapping[str, Any]) -> str | None:
    strangers = sorted(record.keys() - set(_KEYS))
    if strangers:
        # Not ignored: a misspelt `args` would be a call without arguments.
        near = did_you_mean(strangers[0], _KEYS)
        known = f"Known keys: {', '.join(map(repr, _KEYS))}."
        return f"unknown key {_shown(strangers[0])!r}. {near} {known}".replace("  ", " ")
    if not isinstance(record.get("tool"), str):
        return "no tool: write its name under the key 'tool'."
    return None


def _shown(value: Any) -> Any:
    """What a line brings, without secrets."""
    return secrets.scrub_value(value)[0] if isinstance(value, str | list | dict) else value
