"""`toolcharter call`: makes one governed call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from toolcharter.cli import options
from toolcharter.cli.call_arguments import CallArguments
from toolcharter.cli.group import stop
from toolcharter.cli.interrupts import raise_on_signals
from toolcharter.cli.output import encode_json, is_terminal, print_text
from toolcharter.cli.session import live_toolbox_session

if TYPE_CHECKING:
    from toolcharter.api.call import Caller, ToolResult

_STYLES = {"ok": "", "error": "red", "denied": "yellow"}


@click.command("call")
@click.argument("tool")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@options.profile
@click.option("--args", "text", metavar="JSON", help="Arguments as a JSON object; '-' reads it from standard input.")
@options.json_output
@options.caller
@options.workspace_and_events
@raise_on_signals()
def command(
    tool: str,
    words: Sequence[str],
    profile: str,
    text: str | None,
    as_json: bool,
    caller: "Caller | None",
    workspace: str,
    events: Sequence[str],
) -> None:
    """Make one governed call of TOOL.

    VALUE is converted to the type that the tool's schema asks for: a number, a boolean, JSON or
    text. Repeat a key, or give JSON, for a list. Exit status 1 if the call was denied or failed.
    """
    call_arguments = CallArguments(tool, words, text, profile, workspace)
    with live_toolbox_session(profile, workspace, events, caller, quiet_for_people=True) as live:
        result = live.call(tool, call_arguments.args(live.current))
    _show(result, as_json=as_json)
    stop(0 if result.outcome == "ok" else 1)


def _show(result: "ToolResult", *, as_json: bool) -> None:
    if as_json:
        click.echo(encode_json(result))
        return
    # On a terminal, show the text for users; a pipe gets the text for models.
    text = result.user_text if is_terminal() and result.user_text is not None else result.text
    hint = f"\nHint: {result.hint}" if result.hint and result.outcome != "ok" else ""
    print_text(text.removesuffix(hint), _STYLES[result.outcome])
    if hint:
        print_text(hint[1:], "dim")
