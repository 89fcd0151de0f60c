"""One registry and one gate behind HTTP for many agents, people and machines: `toolcharter serve`, `toolcharter service`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_service import command as serve
    from toolcharter_service.auth import command as accounts
else:
    serve = lazy("toolcharter_service.command")  # FastAPI and uvicorn take most of a second
    accounts = lazy("toolcharter_service.auth.command")  # as above


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """The commands that run the service and let people and agents into it."""
    return [serve.command, accounts.command]
