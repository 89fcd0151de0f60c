"""`toolcharter scrub`: masks the secrets in a stream."""

import sys
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options

if TYPE_CHECKING:
    from toolcharter.guards import secrets
    from toolcharter.guards.secrets import stream as secrets_stream
else:
    secrets = lazy("toolcharter.guards.secrets")
    secrets_stream = lazy("toolcharter.guards.secrets.stream")

_CHUNK_BYTES = 1 << 18


@click.command("scrub", context_settings={"allow_extra_args": True})
@click.option("--jsonl", is_flag=True, help='Lines {"id", "text"} in, {"id", "text", "redactions"} out.')
@options.ignored_workspace_and_events
@click.pass_context
def command(ctx: click.Context, jsonl: bool) -> None:
    """Mask the secrets in standard input.

    A line is written at once, unless a key or a block in it may continue in the next. With --jsonl,
    each line is answered at once, and may name more secrets as "values": [...], which are masked from
    then on. The values of environment variables such as API_TOKEN are masked as well.
    """
    if ctx.args:
        raise click.UsageError(f"It reads standard input: write toolcharter scrub < {quote(ctx.args[0])}.")
    for piece in _scrub_lines() if jsonl else _scrub_stream():
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def _scrub_stream() -> Iterator[bytes]:
    stream = secrets_stream.Stream()
    source: Any = sys.stdin.buffer
    while data := source.read1(_CHUNK_BYTES):  # Returns what is available, up to the size.
        yield stream.feed(data)
    yield stream.finish()


def _scrub_lines() -> Iterator[bytes]:
    for line in sys.stdin.buffer:
        yield secrets.scrub_line(line) + b"\n"
