"""`toolcharter events`: what event files say, and whether they say it as the contract wants."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.output import print_json, print_table

if TYPE_CHECKING:
    from toolcharter.cli import event_check, event_files, event_stats
    from toolcharter.events import schema
else:
    event_check = lazy("toolcharter.cli.event_check")
    event_files = lazy("toolcharter.cli.event_files")
    event_stats = lazy("toolcharter.cli.event_stats")
    schema = lazy("toolcharter.events.schema")

_files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
TABLES = ("tools", "profiles", "reasons", "denials", "approvals", "slowest")


@click.group("events")
@options.place_unused
def command() -> None:
    """Read event files: check them, count what they say.

    FILE may be compressed: .gz, .bz2 and .xz are read; '-' is standard input.
    Give rotated files oldest first.
    """


@command.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of an event line."""
    print_json(schema.event_schema())


@command.command("check")
@_files
def check(files: Sequence[str]) -> None:
    """Check each line, and the order of each call's lines.

    Exit status 1 if a line is no event, or if a call's events are out of order
    or have no end.
    """
    checked = event_check.EventCheck()
    faults = 0
    for line in event_files.lines_of(files):
        for fault in checked.faults(line):
            faults += 1
            click.echo(fault)
    for fault in checked.unended():
        faults += 1
        click.echo(fault)
    click.echo(f"{checked.lines} lines, {faults} faults", err=True)
    click.get_current_context().exit(1 if faults else 0)


@command.command("stats")
@_files
@options.json_output
def stats(files: Sequence[str], as_json: bool) -> None:
    """Count calls, denials, approvals and latencies.

    Percentiles are right to within 1% of their value.
    """
    counted = event_stats.EventStats()
    for line in event_files.lines_of(files):
        counted.add(line)
    summary = counted.summary()
    if as_json:
        print_json(summary)
        return
    outcomes = "".join(f", {count} {outcome}" for outcome, count in summary["outcomes"].items())
    click.echo(f"{summary['calls']} calls{outcomes}; {summary['unreadable_lines']} lines that are no events")
    for table in TABLES:
        if summary[table]:
            click.echo(f"\n{table}:")
            print_table(tuple(summary[table][0]), [[_cell(value) for value in row.values()] for row in summary[table]])


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
