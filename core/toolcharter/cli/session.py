"""A toolbox for the length of one command, and what is said when it ends."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from toolcharter.gate.toolbox import Toolbox


@contextmanager
def opened(profile: str, workspace: str, events: Sequence[str]) -> "Generator[Toolbox]":
    """Build the toolbox, and close it whatever happens; losses are told on standard error.

    Raises:
        ConfigurationError: With every fault of the profile and the installation.
    """
    from toolcharter.gate.build import build_tools  # noqa: PLC0415 - `--help` does without the gate

    toolbox = build_tools(profile, workspace=workspace, events=events)
    try:
        yield toolbox
    finally:
        try:
            toolbox.close()
        except ExceptionGroup as group:
            for error in group.exceptions:
                _tell(f"closing a tool failed: {type(error).__name__}: {error}")
        if toolbox.lost_events:
            cause = toolbox.lost_because
            _tell(f"{toolbox.lost_events} event lines were lost: {type(cause).__name__}: {cause}")


def _tell(text: str) -> None:
    with suppress(OSError):  # Standard error may be what was lost.
        click.echo(f"toolcharter: {text}", err=True)
