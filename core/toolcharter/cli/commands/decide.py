"""`toolcharter decide`: decides calls without running them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.jsonl import CallLine, answer_lines
from toolcharter.cli.output import escape_controls
from toolcharter.cli.session import toolbox_session

if TYPE_CHECKING:
    from toolcharter.api import call
    from toolcharter.api.call import Caller
    from toolcharter.events import lines
else:
    call = lazy("toolcharter.api.call")
    lines = lazy("toolcharter.events.lines")


@click.command("decide")
@options.profile
@options.caller
@options.workspace_and_events
def command(profile: str, caller: "Caller | None", workspace: str, events: Sequence[str]) -> None:
    """Decide the calls on standard input; run none of them.

    Each line is one JSON object, {"tool": ..., "args": {...}, "id": ...}. It is answered at once by
    one line with id, outcome, reason, stage, rule and tool_checks. Exit status 0 if every line got
    an answer.
    """
    malformed = call.Decision("error", "arguments", "invalid_arguments")

    def answer(line: CallLine) -> dict[str, Any]:
        if line.fault is not None:
            click.echo(f"toolcharter: {escape_controls(line.fault)}", err=True)
        decision = malformed if line.fault is not None else toolbox.decide(line.tool, line.args)
        return {
            "outcome": decision.outcome,
            "reason": decision.reason,
            "stage": decision.stage,
            "rule": lines.rule_field(decision.rule),
            "tool_checks": decision.tool_checks,
        }

    with toolbox_session(profile, workspace, events, caller) as toolbox:
        answer_lines(answer)
