"""`toolcharter call`: one governed call."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from toolcharter.cli import arguments, options
from toolcharter.cli.group import stop
from toolcharter.cli.interrupts import ended_by_sigterm
from toolcharter.cli.output import encoded, is_terminal, print_text
from toolcharter.cli.session import opened

if TYPE_CHECKING:
    from toolcharter.gate.toolbox import Toolbox
    from toolcharter.spec.call import ToolResult

_STYLES = {"ok": "", "error": "red", "denied": "yellow"}


@click.command("call")
@click.argument("tool")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@options.profile
@click.option("--args", "text", metavar="JSON", help="Arguments as a JSON object; '-' reads it from standard input.")
@options.json_output
@options.place
@ended_by_sigterm()
def command(
    tool: str,
    words: Sequence[str],
    profile: str,
    text: str | None,
    as_json: bool,  # noqa: FBT001 - click passes by name
    workspace: str,
    events: Sequence[str],
) -> None:
    """Make one governed call of TOOL.

    KEY=VALUE is read by the tool's schema: numbers, booleans and JSON where it wants them; text
    stays text. Repeat a key, or give JSON, for a list. Exit status 1 if the call was denied or failed.
    """
    if stray := next((word for word in words if "=" not in word), None):
        raise _stray(stray, tool, profile, workspace)
    given = arguments.split(words)
    whole = arguments.parse_object(sys.stdin.read() if text == "-" else text or "{}")
    if twice := sorted(whole.keys() & given.keys()):
        raise click.UsageError(f"{twice[0]!r} is given as key=value and in --args.")
    with opened(profile, workspace, events) as toolbox:
        result = toolbox.call(tool, {**whole, **_typed(toolbox, tool, given)})
    _show(result, as_json=as_json)
    stop(0 if result.outcome == "ok" else 1)


def _stray(word: str, name: str, profile: str, workspace: str) -> click.UsageError:
    """What to say of a word without `=`: of a tool that has actions, it was most likely meant to be one."""
    with opened(profile, workspace, ()) as toolbox:
        tool = toolbox.get(name)
    properties = tool.parameters.get("properties", {}) if tool else {}
    guess = f"; did you mean 'action={word}'?" if "action" in properties else "."
    return click.UsageError(f"{word!r} is not of the form key=value{guess}")


def _typed(toolbox: "Toolbox", name: str, given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    tool = toolbox.get(name) if given else None  # Making a schema costs a tenth of a cold start.
    return arguments.typed(given, tool.parameters, tool.argument_aliases) if tool else arguments.typed(given, {}, {})


def _show(result: "ToolResult", *, as_json: bool) -> None:
    if as_json:
        click.echo(encoded(result))
        return
    # A person is shown what was meant for them; a pipe gets what a model would.
    text = result.user_text if is_terminal() and result.user_text is not None else result.text
    print_text(text, _STYLES[result.outcome])
    if result.hint and result.outcome != "ok":
        print_text(f"Hint: {result.hint}", "dim")
