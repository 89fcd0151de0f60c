"""W3C trace context: in from hosts, out to HTTP requests and programs.

The gate makes no spans. A host that knows the trace of a request sets `TRACE` around its call; a sink that makes spans sets
it for the time of a call's body. What leaves from there names the trace.

Source: W3C Trace Context, https://www.w3.org/TR/trace-context/; MCP's SEP-414 for the names in `_meta`.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_TRACESTATE = re.compile(r"[ -~]{1,512}")


class TraceContext(NamedTuple):
    """Where in which trace something happens."""

    traceparent: str
    """Version, trace, span and flags in hexadecimal digits: 55 characters."""
    tracestate: str = ""
    """What vendors add; up to 512 printable characters of ASCII."""

    def headers(self) -> dict[str, str]:
        """The headers of a request that belongs to it."""
        headers = {"traceparent": self.traceparent}
        return {**headers, "tracestate": self.tracestate} if self.tracestate else headers


TRACE: ContextVar[TraceContext | None] = ContextVar("toolcharter_trace", default=None)
"""The trace of what runs in this thread or task; None if it is unknown."""


def read_trace(carrier: Mapping[str, object] | None) -> TraceContext | None:
    """The trace that headers or MCP's `_meta` name, with names in lower case; None if there is none, or a malformed one."""
    known = carrier or {}
    traceparent, tracestate = known.get("traceparent"), known.get("tracestate")
    if not isinstance(traceparent, str) or not _TRACEPARENT.fullmatch(traceparent):
        return None
    is_state = isinstance(tracestate, str) and _TRACESTATE.fullmatch(tracestate) is not None
    return TraceContext(traceparent, str(tracestate) if is_state else "")


@contextmanager
def within_trace(trace: TraceContext | None) -> Iterator[None]:
    """Have calls in the body belong to *trace*; None changes nothing."""
    if trace is None:
        yield
        return
    token = TRACE.set(trace)
    try:
        yield
    finally:
        TRACE.reset(token)


def trace_headers(given: Mapping[str, str] | None) -> Mapping[str, str]:
    """What a request with the headers *given* has to have besides, so that it belongs to the present trace."""
    trace = TRACE.get()
    return {} if trace is None or any(name.lower() == "traceparent" for name in given or ()) else trace.headers()


def trace_variables() -> Mapping[str, str]:
    """The environment variables that hand the present trace to a program: hexadecimal digits alone.

    Source: OpenTelemetry's "Environment Variables as Context Propagation Carriers". TRACESTATE, free text, is left out.
    """
    trace = TRACE.get()
    return {} if trace is None else {"TRACEPARENT": trace.traceparent}
