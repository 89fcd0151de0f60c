"""What all stores share: encryption of secret fields, the SQL engine, archives, and the command `toolcharter store`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_stores import command
else:
    command = lazy("toolcharter_stores.command")  # stores need none of it


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """The one command of this distribution."""
    return [command.command]
