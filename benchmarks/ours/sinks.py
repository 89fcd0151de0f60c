"""Makes the same call with each sink, and without sinks: the cost of its events.

The tool does nothing and there is one rule, so that the sink's share of the call is as large as possible. Work that a
sink passes to other threads or processes is not measured: the syslog daemon only reads, the exporter drops its spans,
and no client scrapes the server.
"""

import logging
import socket
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import structlog
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec
from toolcharter.gate.build.open import open_toolbox
from toolcharter.profile.model import Limits
from toolcharter.testing.toolboxes import plan_of
from toolcharter_otel import OtelSink
from toolcharter_prometheus.sink import ScrapedSink
from toolcharter_syslog import SyslogSink

ARGS = {"path": "src/app.py", "limit": 3}

folder = tempfile.TemporaryDirectory()
structlog_file = Path(folder.name, "structlog.jsonl")
structlog_file.touch()
structlog.configure(
    processors=[structlog.processors.JSONRenderer()],
    logger_factory=structlog.WriteLoggerFactory(structlog_file.open("a")),
    cache_logger_on_first_use=True,
)
logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)


def build(_workspace: Path, _policy: ToolPolicy, _rt: ToolRuntime) -> Callable[[str, int], str]:
    """Build a tool that does nothing."""

    def read(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same arguments as other calls
        """Read a file."""
        return "text"

    return read


class Nowhere(SpanExporter):
    """Drops all spans."""

    def export(self, spans: Sequence[Any]) -> SpanExportResult:  # noqa: ARG002 - the base's signature
        """Drop *spans*."""
        return SpanExportResult.SUCCESS


def syslog() -> SyslogSink:
    """Return a sink whose daemon only reads."""
    daemon = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    daemon.bind(f"{folder.name}/log")

    def read() -> None:
        while True:
            daemon.recv(65536)

    threading.Thread(target=read, daemon=True).start()
    return SyslogSink(socket.AF_UNIX, f"{folder.name}/log", 1)


def otel() -> OtelSink:
    """Return a sink with providers as `otel:` opens them, except for the connection to a collector."""
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(Nowhere()))
    return OtelSink(tracer_provider=tracers, meter_provider=MeterProvider([InMemoryMetricReader()]))


SINKS: dict[str, list[Any]] = {
    "none": [],
    "file": [f"file:{folder.name}/events.jsonl"],
    "function": [lambda _event: None],
    "structlog": ["structlog:"],
    "syslog": [syslog()],
    "otel": [otel()],
    "prometheus": [ScrapedSink("127.0.0.1", 0)],
}
"""The sinks of each operation."""


def operation(sinks: Sequence[Any]) -> Callable[[], None]:
    """Return an operation that makes one call of a toolbox with *sinks*."""
    plan = plan_of([ToolSpec("read", ToolPolicy, build)], {}, Limits(), "bench")
    toolbox = open_toolbox(plan, workspace=folder.name, caller=None, sinks=sinks)
    return lambda: void(toolbox.call("read", ARGS))


def void(_: object) -> None:
    """Discard a result."""


def after_batch() -> None:
    """Keep the files small."""
    for name in ("events.jsonl", "structlog.jsonl"):
        with Path(folder.name, name).open("r+") as file:
            file.truncate(0)


OPERATIONS = {name: operation(sinks) for name, sinks in SINKS.items()}
