"""`toolcharter scrub`: the secret scrubber as a filter."""

import sys

import click

from toolcharter.cli import options


@click.command("scrub")
@click.option("--jsonl", is_flag=True, help='Lines {"id", "text"} in, {"id", "text", "redactions"} out.')
@options.place_unused
def command(jsonl: bool) -> None:  # noqa: FBT001 - click passes by name
    """Mask the secrets in standard input.

    Text is read to its end, because a secret may go over several lines; with --jsonl each line is
    answered at once.
    """
    from toolcharter.guards.secrets import scrub_bytes, scrub_line  # noqa: PLC0415 - `--help` does without it

    source, output = sys.stdin.buffer, sys.stdout.buffer
    if not jsonl:
        output.write(scrub_bytes(source.read())[0])
        output.flush()
        return
    for line in source:
        output.write(scrub_line(line) + b"\n")
        output.flush()
