"""W3C trace context, in from hosts: read of a carrier, and set around a call.

Source: W3C Trace Context, https://www.w3.org/TR/trace-context/; MCP's SEP-414 for the names in `_meta`.
"""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from toolcharter.api.call import TRACE, TraceContext

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_TRACESTATE = re.compile(r"[ -~]{1,512}")


def read_trace(carrier: Mapping[str, object] | None) -> TraceContext | None:
    """The trace that a request names.

    Args:
        carrier: Headers with names in lower case, MCP's `_meta`, or any other mapping with `traceparent`.

    Returns:
        None if it names none, or if `traceparent` is malformed; a malformed `tracestate` is left out. A version that is
        not known is taken as it is, if it has the length of the first one.
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
    """Have calls in the body belong to *trace*; None changes nothing."""
    if trace is None:
        yield
        return
    token = TRACE.set(trace)
    try:
        yield
    finally:
        TRACE.reset(token)
