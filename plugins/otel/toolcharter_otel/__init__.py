"""The event sink `otel:`: a span and metrics for every call, by the GenAI conventions of OpenTelemetry.

`OtelSink` uses the application's global providers if it is given none, and never sets them. The SDK and the exporters
are imported when a URL is opened: an application that makes an `OtelSink` itself needs only OpenTelemetry's API.
"""

from importlib import import_module
from typing import Any

from toolcharter import Sink, hookimpl
from toolcharter_otel.sink import OtelSink

__all__ = ["OtelSink"]


@hookimpl
def open_sink(url: str) -> Sink:
    """Open `otel:` or `otel:http://HOST:PORT`, each with options: `?arguments=yes`, `?metrics=no`."""
    otlp: Any = import_module("toolcharter_otel.otlp")
    sink: Sink = otlp.open_otlp(url)
    return sink
