"""Events of tools as messages of NATS, and a bus of JetStream."""

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
    """A sink that publishes `agi.tool.*`; it waits for no server."""
    return sink.NatsSink(connection.read_url(url))


@hookimpl
def open_bus(url: str) -> Bus:
    """A bus of the server's JetStream; it waits for no server."""
    return bus.NatsBus(connection.read_url(url))
