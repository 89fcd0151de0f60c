"""An HTTP service with one tool registry and one gate for many agents, people and machines: `toolcharter serve`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolcharter import hookimpl, lazy

if TYPE_CHECKING:
    import click

    from toolcharter_service import command as serve
else:
    serve = lazy("toolcharter_service.command")  # importing FastAPI and uvicorn takes most of a second


@hookimpl
def register_commands() -> "Sequence[click.Command]":
    """Offer `toolcharter serve`."""
    return [serve.command]
