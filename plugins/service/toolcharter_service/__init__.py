"""One registry and one gate behind HTTP for many agents, people and machines. The command `toolcharter serve`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_service import command as serve
else:
    serve = lazy("toolcharter_service.command")  # FastAPI and uvicorn take most of a second


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """The command that runs the service."""
    return [serve.command]
