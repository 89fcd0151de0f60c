"""The command `toolcharter import`: turn files of other systems into profiles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_importer import command
else:
    command = lazy("toolcharter_importer.command")  # listing the plugins does not need it


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """Offer the command `import`."""
    return [command.command]
