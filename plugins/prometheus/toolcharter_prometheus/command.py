"""`toolcharter prometheus`: counts the events in files, and prints them in Prometheus's text format."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from prometheus_client import CollectorRegistry, Metric, generate_latest

from toolcharter import event_lines, with_rotated
from toolcharter_prometheus.counts import EventMetrics


class _WithoutCreationTimes(CollectorRegistry):
    """The metrics of another registry, without their creation times: the events in the files are older."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__()
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


@click.command("prometheus")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--rotated", is_flag=True, help="Also read the rotated files of each FILE.")
def command(files: Sequence[str], rotated: bool) -> None:  # noqa: FBT001 - click's signature
    """Print the metrics of event files, for node_exporter's textfile collector.

    FILE may be rotated, and compressed: .gz, .bz2 and .xz are read; '-' is
    standard input. Exit status 1 if a line is no event.
    """
    registry = CollectorRegistry()
    metrics = EventMetrics(registry)
    names = [name for one in files for name in (with_rotated(one) if rotated else [one])]
    size = sum(Path(name).stat().st_size for name in names if Path(name).is_file())
    with click.progressbar(length=size, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for line in event_lines(names, bar.update):
            metrics.add(line.raw)
    click.echo(generate_latest(_WithoutCreationTimes(registry)), nl=False)
    if metrics.unreadable:
        click.echo(f"{metrics.unreadable} lines are no events", err=True)
        click.get_current_context().exit(1)
