"""The command `toolcharter guard`: a profile in front of coding agents, by the agents' own hooks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_guard import command
else:
    command = lazy("toolcharter_guard.command")  # a list of plugins needs none of it


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """The one command of this distribution."""
    return [command.command]
