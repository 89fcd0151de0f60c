"""`open_sinks`: the event sinks of a host that writes events of its own beside those of its toolboxes."""

from collections.abc import Iterable

from toolcharter.events.emitter import Emitter
from toolcharter.events.sinks import CORE_SCHEMES, SinkLike, open_sink
from toolcharter.loader.load import load_plugins
from toolcharter.loader.select import sink_need


def open_sinks(sinks: Iterable[SinkLike]) -> Emitter:
    """Open *sinks*, as `build_tools` takes them under `events`; whoever opens them closes the emitter.

    Raises:
        ConfigurationError: No plugin opens one of them, or it cannot be opened.
    """
    sinks = tuple(sinks)
    schemes = dict.fromkeys(sink.partition(":")[0] for sink in sinks if isinstance(sink, str))
    loaded = load_plugins({}, others=[sink_need(name) for name in schemes if name not in CORE_SCHEMES])
    return Emitter([open_sink(sink, loaded.open_sink) for sink in sinks])
