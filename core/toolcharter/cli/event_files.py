"""Reads event files for commands, together with their rotated files, behind a progress bar."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    from toolcharter.events import files as event_files
    from toolcharter.events.files import EventLine
else:
    event_files = lazy("toolcharter.events.files")

F = TypeVar("F", bound=Callable[..., Any])
_ROTATED = "toolcharter.rotated"


def file_arguments(function: F) -> F:
    """Add `FILE...` and `--rotated`; the command gets the names of all files to read as `files`."""
    rotated = click.option(
        "--rotated",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_note_rotated,
        help="First read the rotated files of each FILE: FILE.2.gz, FILE.1, FILE-20261123.xz.",
    )
    argument = click.argument("files", nargs=-1, required=True, metavar="FILE...", callback=_add_rotated)
    return rotated(argument(function))


def _note_rotated(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    ctx.meta[_ROTATED] = wanted


def _add_rotated(ctx: click.Context, _: click.Parameter, named: Sequence[str]) -> list[str]:
    if not ctx.meta.get(_ROTATED):
        return list(named)
    return [name for one in named for name in event_files.with_rotated(one)]


def read_lines(files: Sequence[str]) -> "Iterator[EventLine]":
    """Yield the lines of all *files* in order, behind a progress bar on a terminal.

    Raises:
        ConfigurationError: A file cannot be read.
    """
    size = sum(map(event_files.file_size, files))
    with click.progressbar(length=size, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield from event_files.event_lines(files, bar.update)
