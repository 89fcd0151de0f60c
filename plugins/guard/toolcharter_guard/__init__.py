"""The command `toolcharter guard`: a profile in front of coding agents, by the agents' own hooks."""

from collections.abc import Sequence

import click

from toolcharter import hookimpl
from toolcharter_guard.command import command


@hookimpl
def register_commands() -> Sequence[click.Command]:
    """The one command of this distribution."""
    return [command]
