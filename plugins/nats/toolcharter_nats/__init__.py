"""A sink that publishes tool events as NATS messages, and a bus on NATS JetStream."""

from typing import TYPE_CHECKING

from toolcharter import Bus, Sink, hookimpl, lazy

if TYPE_CHECKING:
    from toolcharter_nats import bus, connection, sink
else:
    bus = lazy("toolcharter_nats.bus")
    connection = lazy("toolcharter_nats.connection")
    sink = lazy("toolcharter_nats.sink")


@hookimpl
def open_sink(url: str) -> Sink:
    """Return a sink that publishes `agi.tool.*`. It does not wait for the server."""
    return sink.NatsSink(connection.parse_url(url))


@hookimpl
def open_bus(url: str) -> Bus:
    """Return a bus on the server's JetStream. It does not wait for the server."""
    return bus.NatsBus(connection.parse_url(url))
