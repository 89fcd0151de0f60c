"""The command `toolcharter guard`: it checks the calls of coding agents against a profile, by the agents' own hooks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_guard import command
else:
    command = lazy("toolcharter_guard.command")  # listing the plugins does not need it


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """Offer the command `guard`."""
    return [command.command]
