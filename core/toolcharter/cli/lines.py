"""The calls of `run` and `decide`: JSON lines in, one answer a line, in order, each flushed."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from toolcharter.cli.output import write_line
from toolcharter.errors import did_you_mean

_KEYS = ("tool", "args", "id")


class Line(NamedTuple):
    """One line of input: a call, or why it is none."""

    id: Any
    tool: str
    args: Any
    """A mapping, or whatever else the line has; the gate refuses that."""
    fault: str | None = None
    """Why it is no call; None if it is one."""


def answer_lines(answer: Callable[[Line], Mapping[str, Any]]) -> None:
    """Answer every line of standard input on standard output."""
    output = sys.stdout.buffer
    for line in sys.stdin.buffer:
        call = parse(line)
        write_line(output, {"id": call.id, **answer(call)})


def parse(line: bytes) -> Line:
    """Read one line; whether the tool exists and the arguments fit is for the gate to say."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return Line(None, "", {}, f"The line is not JSON: {error}.")
    if not isinstance(record, dict):
        return Line(None, "", {}, "The line is JSON but no object.")
    return Line(record.get("id"), record.get("tool", ""), record.get("args", {}), _fault(record))


def _fault(record: Mapping[str, Any]) -> str | None:
    if not isinstance(record.get("tool"), str):
        return "The line has no tool: a text under the key 'tool'."
    strangers = sorted(record.keys() - set(_KEYS))
    if strangers and "args" not in record:
        # Without this a misspelt `args` would be a call without arguments.
        near = did_you_mean(strangers[0], _KEYS)
        return f"The line has no key 'args', but {strangers[0]!r}. {near}".rstrip()
    return None
