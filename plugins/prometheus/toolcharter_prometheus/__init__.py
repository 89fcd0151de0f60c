"""Metrics for Prometheus: the event sink `prometheus:` for hosts, and `toolcharter prometheus` for event files."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from toolcharter import Sink, hookimpl, lazy
from toolcharter_prometheus.counts import EventMetrics
from toolcharter_prometheus.sink import PrometheusSink, ScrapedSink

if TYPE_CHECKING:
    from toolcharter_prometheus import command as prometheus
else:
    prometheus = lazy("toolcharter_prometheus.command")  # a sink does not need it

__all__ = ["EventMetrics", "PrometheusSink"]

DEFAULT_PORT = 9464
_FORM = "write prometheus: or prometheus://127.0.0.1:PORT; another address than loopback needs ?expose=yes"


@hookimpl
def open_sink(url: str) -> Sink:
    """Open `prometheus:` or `prometheus://HOST:PORT`, where metrics can be scraped until the toolbox closes."""
    parts = urlsplit(url)
    if parts.username is not None or parts.fragment or parts.path.strip("/") or parts.query not in {"", "expose=yes"}:
        raise ValueError(_FORM)
    host, port = parts.hostname or "127.0.0.1", DEFAULT_PORT if parts.port is None else parts.port
    return ScrapedSink(host, port, expose=bool(parts.query))


@hookimpl
def register_commands() -> Sequence[click.Command]:
    """Offer `toolcharter prometheus`."""
    return [prometheus.command]
