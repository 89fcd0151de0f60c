"""The command `toolcharter mcp`: the tools of a profile, served over the Model Context Protocol."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_mcp import command
else:
    command = lazy("toolcharter_mcp.command")  # importing the SDK takes a second, and listing plugins does not need it


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """The one command of this distribution."""
    return [command.command]
