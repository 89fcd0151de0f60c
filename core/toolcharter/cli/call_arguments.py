"""Parses the arguments of one call from a command line: `TOOL [KEY=VALUE]... [--args JSON]`."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from toolcharter.cli import arguments
from toolcharter.cli.session import toolbox_session

if TYPE_CHECKING:
    from toolcharter.gate.toolbox import Toolbox


class CallArguments:
    """The arguments of one call, as the user wrote them.

    Raises:
        click.UsageError: A word is not of the form key=value, or `--args` does not hold a JSON object.
    """

    def __init__(self, tool: str, words: Sequence[str], text: str | None, profile: str, workspace: str) -> None:
        if stray := next((word for word in words if "=" not in word), None):
            raise _not_key_value(stray, tool, profile, workspace)
        self._tool = tool
        self._key_values = arguments.group_by_key(words)
        self._from_json = arguments.parse_object(sys.stdin.read() if text == "-" else text or "{}")
        if twice := sorted(self._from_json.keys() & self._key_values.keys()):
            raise click.UsageError(f"{twice[0]!r} is given as key=value and in --args.")

    def args(self, toolbox: "Toolbox") -> dict[str, Any]:
        """Return all arguments, converted to the types of the tool's schema."""
        tool = toolbox.get(self._tool) if self._key_values else None  # Building a schema takes a tenth of a cold start.
        schema: Mapping[str, Any] = tool.parameters if tool else {}
        return {
            **self._from_json,
            **arguments.convert_types(self._key_values, schema, tool.argument_aliases if tool else {}),
        }


def _not_key_value(word: str, name: str, profile: str, workspace: str) -> click.UsageError:
    """Explain a word without `=`. If the tool has actions, the user most likely meant one of them."""
    with toolbox_session(profile, workspace, ()) as toolbox:
        tool = toolbox.get(name)
    properties = tool.parameters.get("properties", {}) if tool else {}
    guess = f"; did you mean 'action={word}'?" if "action" in properties else "."
    return click.UsageError(f"{word!r} is not of the form key=value{guess}")
