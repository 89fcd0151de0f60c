"""`open_sinks`: opens event sinks for a host that writes events of its own, in addition to those of its toolboxes."""

from collections.abc import Iterable

from toolcharter.events.emitter import Emitter
from toolcharter.events.sinks import CORE_SCHEMES, SinkLike, open_sink
from toolcharter.loader.load import load_plugins
from toolcharter.loader.select import sink_need


def open_sinks(sinks: Iterable[SinkLike]) -> Emitter:
    """Open *sinks*, as `build_tools` takes them under `events`. The caller must close the emitter.

    Raises:
        ConfigurationError: A sink cannot be opened, or no plugin opens it.
    """
    sinks = tuple(sinks)
    schemes = dict.fromkeys(sink.partition(":")[0] for sink in sinks if isinstance(sink, str))
    loaded = load_plugins({}, others=[sink_need(name) for name in schemes if name not in CORE_SCHEMES])
    return Emitter([open_sink(sink, loaded.open_sink) for sink in sinks])
