"""W3C trace context from hosts: read it from a carrier, and set it for a call.

Source: W3C Trace Context, https://www.w3.org/TR/trace-context/; MCP's SEP-414 for the names in `_meta`.
"""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from toolcharter.api.call import TRACE, TraceContext

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_TRACESTATE = re.compile(r"[ -~]{1,512}")


def read_trace(carrier: Mapping[str, object] | None) -> TraceContext | None:
    """Return the trace that a request names.

    Args:
        carrier: Headers with names in lower case, MCP's `_meta`, or any other mapping with `traceparent`.

    Returns:
        None if there is no `traceparent`, or if it is malformed; a malformed `tracestate` is left out. An unknown
        version is accepted unchanged if its `traceparent` has the form of version 00.
    """
    known = carrier or {}
    traceparent = known.get("traceparent")
    if not isinstance(traceparent, str) or not _TRACEPARENT.fullmatch(traceparent):
        return None
    tracestate = known.get("tracestate")
    is_state = isinstance(tracestate, str) and _TRACESTATE.fullmatch(tracestate) is not None
    return TraceContext(traceparent, str(tracestate) if is_state else "")


@contextmanager
def within_trace(trace: TraceContext | None) -> Generator[None]:
    """Set *trace* as the trace of calls in the `with` block; None changes nothing."""
    if trace is None:
        yield
        return
    token = TRACE.set(trace)
    try:
        yield
    finally:
        TRACE.reset(token)
