"""The command `toolcharter import`: files of other systems become profiles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_importer import command
else:
    command = lazy("toolcharter_importer.command")  # a list of plugins needs none of it


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """The one command of this distribution."""
    return [command.command]
