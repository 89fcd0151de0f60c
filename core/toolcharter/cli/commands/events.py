"""`toolcharter events`: checks, shows, counts and compares the events in event files."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolcharter._lazy import lazy
from toolcharter.cli import event_files, event_filters, options
from toolcharter.cli.output import in_one_line, print_json, print_table

if TYPE_CHECKING:
    from toolcharter.cli import event_check, event_diff, event_page, event_stats, event_tail, event_workspaces
    from toolcharter.events import files as event_lines
    from toolcharter.events import schema
else:
    event_check = lazy("toolcharter.cli.event_check")
    event_diff = lazy("toolcharter.cli.event_diff")
    event_page = lazy("toolcharter.cli.event_page")
    event_stats = lazy("toolcharter.cli.event_stats")
    event_tail = lazy("toolcharter.cli.event_tail")
    event_workspaces = lazy("toolcharter.cli.event_workspaces")
    event_lines = lazy("toolcharter.events.files")
    schema = lazy("toolcharter.events.schema")

POLL_INTERVAL_S = 0.2
"""How long `tail` waits before it polls the file again, in seconds."""
_top_option = click.option(
    "--top", default=20, show_default=True, type=click.IntRange(1), help="How many rows a table shows."
)
TABLES = ("tools", "profiles", "callers", "reasons", "denials", "errors", "approvals", "slowest")


@click.group("events")
@options.ignored_workspace_and_events
def command() -> None:
    """Check, show, count and compare the events in files.

    FILE may be compressed: .gz, .bz2 and .xz are read; '-' is standard input.
    --rotated also reads the files that log rotation has left beside it.
    """


@command.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of an event line."""
    print_json(schema.event_schema())


@command.command("check")
@event_files.file_arguments
def check(files: Sequence[str]) -> None:
    """Check each line, and the order of each call's lines.

    Exit status 1 if a line is not an event, or if a call's events are out of
    order or incomplete.
    """
    checked = event_check.EventCheck()
    faults = 0
    for line in event_files.read_lines(files):
        for fault in checked.faults(line):
            faults += 1
            click.echo(fault)
    for fault in checked.unfinished_calls():
        faults += 1
        click.echo(fault)
    click.echo(f"{checked.lines} lines, {faults} faults", err=True)
    click.get_current_context().exit(1 if faults else 0)


@command.command("tail")
@event_files.file_arguments
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(0),
    help="How many events to show first; default: 10, or all with --since or --call-id.",
)
@click.option("--no-follow", is_flag=True, help="Exit then, instead of waiting for new events.")
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON lines.")
@event_filters.filter_options("event", "outcome", "reason", "rule", *event_filters.CALL_FIELDS)
def tail(files: Sequence[str], lines: int | None, no_follow: bool, as_json: bool, **filters: Any) -> None:
    """Show the last events, and new ones until it is interrupted.

    By default it shows the result of each call, and the questions to people and
    their answers. --event '*' shows all events, and --call-id all events of its
    calls. The last FILE is followed through log rotation. A field that is null
    matches no GLOB; a rule is matched by its text.
    """
    by_call = filters["call_id"] is not None
    parse_event = event_tail.event_parser(
        event_filters.build_filter(**filters), whole=by_call or filters["event"] is not None
    )
    count = lines if lines is not None else sys.maxsize if by_call or filters["since"] is not None else 10
    show = _show_as_json if as_json else _show
    *older, last = files
    if last == "-":
        events = (event for line in event_files.read_lines(files) if (event := parse_event(line.raw)) is not None)
        for event in events:
            show(event)
        return
    with ExitStack() as stack:
        ends = no_follow or event_lines.is_compressed(last) or event_filters.has_passed(filters["until"])
        follower = stack.enter_context(closing(event_tail.Follower(last))) if not ends else None
        found = [] if follower is None else follower.initial_events(parse_event, count)
        earlier = event_tail.last_events(files if follower is None else older, parse_event, count - len(found))
        for event in (*earlier, *found):
            show(event)
        while follower is not None:
            for raw in follower.lines():
                if (event := parse_event(raw)) is not None:
                    show(event)
            time.sleep(POLL_INTERVAL_S)


def _show(event: Mapping[str, Any]) -> None:
    words = (click.style(in_one_line(text), **style) for text, style in event_tail.line_parts(event))
    click.echo("  ".join(words), color=False if os.environ.get("NO_COLOR") else None)


def _show_as_json(event: Mapping[str, Any]) -> None:
    click.echo(json.dumps(event, separators=(",", ":")))  # ASCII only: a terminal may read it.


@command.command("stats")
@event_files.file_arguments
@options.json_output
@click.option("--html", metavar="PAGE", help="Write one HTML page with charts to this file instead.")
@_top_option
@event_filters.filter_options(*event_filters.CALL_FIELDS)
def stats(files: Sequence[str], as_json: bool, html: str | None, top: int, **filters: Any) -> None:
    """Count calls, denials, approvals and latencies.

    Percentiles are right to within 1% of their value. --json has all rows.
    A field that is null matches no GLOB; the time of a call is when it ended.
    """
    counted = event_stats.EventStats(event_filters.build_filter(**filters))
    for line in event_files.read_lines(files):
        counted.add(line)
    summary = counted.summary()
    if html is not None:
        Path(html).write_text(event_page.render_page(summary, files, top), encoding="utf-8", errors="backslashreplace")
    if as_json:
        print_json(summary)
    elif html is None:
        outcomes = "".join(f", {count} {outcome}" for outcome, count in summary["outcomes"].items())
        click.echo(f"{summary['calls']} calls{outcomes}; {summary['unreadable_lines']} lines that are not events")
        _print_tables(summary, TABLES, top)


@command.command("diff")
@click.argument("profile_a")
@click.argument("profile_b")
@event_files.file_arguments
@click.option(
    "--workspace",
    metavar="DIR",
    help="The folder in which all calls are decided; default: the one in which each was made.",
)
@options.json_output
@_top_option
@event_filters.filter_options(*event_filters.CALL_FIELDS)
def diff(
    profile_a: str,
    profile_b: str,
    files: Sequence[str],
    workspace: str | None,
    as_json: bool,
    top: int,
    **filters: Any,
) -> None:
    """Decide recorded calls by two profiles; show what would change.

    Nothing is run. A call whose arguments were masked, cut or left out in its
    event is counted as undecidable. A field that is null matches no GLOB; the
    time of a call is when it began. Exit status 1 if a call would be decided
    differently.
    """
    with event_workspaces.ToolboxPairs(profile_a, profile_b, workspace) as toolboxes:
        compared = event_diff.EventDiff(toolboxes, event_filters.build_filter(**filters))
        for line in event_files.read_lines(files):
            compared.add(line)
        toolboxes.require_usable()
    summary = compared.summary()
    if as_json:
        print_json(summary)
    else:
        counts = ("same", "changed", "undecidable")
        click.echo(f"{summary['calls']} calls: " + ", ".join(f"{summary[count]} {count}" for count in counts))
        _print_tables(summary, ("changes", "not_decided"), top)
    click.get_current_context().exit(1 if summary["changed"] else 0)


def _print_tables(summary: Mapping[str, Any], tables: Sequence[str], top: int) -> None:
    for table in tables:
        rows = summary[table]
        if rows:
            click.echo(f"\n{table}:")
            print_table(
                tuple(rows[0]), [[event_stats.format_cell(*pair) for pair in row.items()] for row in rows[:top]]
            )
            if len(rows) > top:
                click.echo(f"{len(rows) - top} more: --top {len(rows)}")
