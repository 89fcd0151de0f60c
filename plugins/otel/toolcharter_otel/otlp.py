"""Opens `otel:` URLs. The sink's own providers export by OTLP over HTTP, and are flushed when the toolbox closes.

OpenTelemetry's environment variables set everything else: `OTEL_EXPORTER_OTLP_ENDPOINT`, its headers and timeouts,
`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`.
"""

import os
from urllib.parse import parse_qsl, urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from toolcharter_otel.sink import OtelSink

_OPTIONS = ("arguments", "metrics")
_WORDS = {"yes": True, "no": False}
_FORM = "write otel: or otel:http://HOST:PORT, with ?arguments=yes or ?metrics=no if wanted"


def open_otlp(url: str) -> OtelSink:
    """Open the sink of *url*.

    Raises:
        ValueError: *url* is malformed.
    """
    address, _, query = url.removeprefix("otel:").partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    if set(given) - set(_OPTIONS) or any(value not in _WORDS for value in given.values()):
        raise ValueError(_FORM)
    options = {name: _WORDS[value] for name, value in given.items()}
    if address and (urlsplit(address).scheme not in {"http", "https"} or not urlsplit(address).hostname):
        raise ValueError(_FORM)
    base = address.rstrip("/")
    resource = _resource()
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces" if base else None)))
    readers = []
    if options.get("metrics", True):
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter(f"{base}/v1/metrics" if base else None)))
    meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    return OtelSink(
        tracer_provider=tracers,
        meter_provider=meters,
        arguments=options.get("arguments", False),
        on_close=(tracers.shutdown, meters.shutdown),
    )


def _resource() -> Resource:
    """Return the resource for this process. Its service name is `toolcharter` unless the environment sets another."""
    said = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create(None if said else {SERVICE_NAME: "toolcharter"})
