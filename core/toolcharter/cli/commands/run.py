"""`toolcharter run`: makes a stream of governed calls, to drive tools from agents in any language."""

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from toolcharter._lazy import lazy
from toolcharter.api.trace import within_trace
from toolcharter.cli import options
from toolcharter.cli.interrupts import raise_on_signals
from toolcharter.cli.jsonl import CallLine, answer_lines
from toolcharter.cli.session import live_toolbox_session

if TYPE_CHECKING:
    from toolcharter.api import call
    from toolcharter.api.call import Caller
else:
    call = lazy("toolcharter.api.call")


@click.command("run")
@options.profile
@options.caller
@options.workspace_and_events
@raise_on_signals()
def command(profile: str, caller: "Caller | None", workspace: str, events: Sequence[str]) -> None:
    """Make the calls on standard input.

    Each line is one JSON object, {"tool": ..., "args": {...}, "id": ...}. It is answered at once by
    one line with its id and all fields of the result. Exit status 0 if every line got an answer.
    """
    names = [field.name for field in fields(call.ToolResult)]

    def answer(line: CallLine) -> dict[str, Any]:
        if line.fault is not None:
            result = call.ToolResult(
                "error", f"ERROR: invalid_arguments\n{line.fault}", reason="invalid_arguments", message=line.fault
            )
        else:
            with within_trace(line.trace):
                result = live.call(line.tool, line.args)
        return {name: getattr(result, name) for name in names}

    with live_toolbox_session(profile, workspace, events, caller) as live:
        answer_lines(answer)
