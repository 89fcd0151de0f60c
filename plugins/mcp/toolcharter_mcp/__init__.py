"""The command `toolcharter mcp`: the tools of a profile, served over the Model Context Protocol."""

from collections.abc import Sequence

import click

from toolcharter import hookimpl
from toolcharter_mcp.command import command


@hookimpl
def register_commands() -> Sequence[click.Command]:
    """The one command of this distribution."""
    return [command]
