"""Options that commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

json_output = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
profile = click.option("--profile", "-p", required=True, metavar="PROFILE", help="A profile's name or path.")


def place(function: F) -> F:
    """`--workspace` and `--events`, for a command that makes calls."""
    return _workspace(_events(function))


def place_unused(function: F) -> F:
    """The same for a command that makes none: a wrapper can pass them to every command alike."""
    return _workspace(events_unused(function), expose=False)


def events_unused(function: F) -> F:
    """`--events` alone, for a command that reads `--workspace` in a way of its own."""
    return _events(function, expose=False)


def _workspace(function: F, *, expose: bool = True) -> F:
    return click.option(
        "--workspace",
        default=".",
        metavar="DIR",
        expose_value=expose,
        help="The folder that tools may touch; default: the current one." if expose else "Accepted, not needed here.",
    )(function)


def _events(function: F, *, expose: bool = True) -> F:
    return click.option(
        "--events",
        multiple=True,
        metavar="SINK",
        expose_value=expose,
        help="Where events go: stderr:, file:PATH, structlog:; repeatable; default: stderr:."
        if expose
        else "Accepted, not needed here.",
    )(function)
