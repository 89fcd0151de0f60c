"""Shared by all stores: encryption of secret fields, the SQL engine, archives, and the command `toolcharter store`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_stores import command
else:
    command = lazy("toolcharter_stores.command")  # an engine does not need the command


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """Offer `toolcharter store`."""
    return [command.command]
