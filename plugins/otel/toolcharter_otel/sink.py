"""`OtelSink`: event lines as spans and metrics.

A call's span begins with the first half of its events and ends with the second. In between it is the current span of
the thread or task that runs the body, so spans that the body starts become its children.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import Token
from dataclasses import dataclass
from importlib import metadata
from time import time_ns
from typing import Any

from opentelemetry import context, metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from toolcharter import TRACE, TraceContext
from toolcharter_otel import conventions

SCOPE = "toolcharter"
"""The name of the instrumentation scope of all spans and metrics."""
_SKIPPED = b'{"event":"hook.policy.'
_PROPAGATOR = TraceContextTextMapPropagator()
_CALL = context.create_key("toolcharter-call")
"""The context's key for the call whose span this sink made current last."""


@dataclass(eq=False, slots=True)
class _OpenCall:
    """A call that has begun, and whose end has not been seen yet."""

    span: Span
    outer: Context
    """The context before the call's span was made current."""
    outer_trace: TraceContext | None
    tokens: tuple[Token[Any], ...] = ()
    """The tokens that restore the outer context; empty if the span was never made current."""
    is_over: bool = False


class OtelSink:
    """Makes spans and metrics of event lines.

    Args:
        tracer_provider: The provider of the spans; the application's global one by default.
        meter_provider: The provider of the metrics; the application's global one by default.
        arguments: Whether spans have the calls' arguments, as events show them.
        on_close: Functions to call when the toolbox closes, such as those that flush the sink's own providers.
    """

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        arguments: bool = False,
        on_close: Sequence[Callable[[], object]] = (),
    ) -> None:
        version = metadata.version("toolcharter-otel")
        self._tracer = trace.get_tracer(SCOPE, version, tracer_provider)
        self._arguments = arguments
        self._on_close = on_close
        self._begun: dict[str, list[_OpenCall]] = {}
        meter = metrics.get_meter(SCOPE, version, meter_provider)
        self._durations = meter.create_histogram(
            conventions.DURATION,
            "s",
            "How long tools took, from the arrival of the call to its outcome.",
            explicit_bucket_boundaries_advisory=conventions.BUCKETS_S,
        )
        self._calls = meter.create_counter(conventions.CALLS, "{call}", "Calls, by outcome.")
        self._denials = meter.create_counter(conventions.DENIALS, "{call}", "Calls that were denied, by reason.")
        self._redactions = meter.create_counter(conventions.REDACTIONS, "{redaction}", "Secrets masked in results.")
        self._approvals = meter.create_counter(conventions.APPROVALS, "{answer}", "What people answered.")

    def write(self, lines: bytes) -> None:
        """Begin, mark and end spans as the lines say."""
        events = [json.loads(line) for line in lines.splitlines() if not line.startswith(_SKIPPED)]
        ended = {event["call_id"]: event["elapsed_ms"] for event in events if event["event"] == "hook.tool.after"}
        for event in events:
            match event["event"]:
                case "hook.tool.before":
                    self._begin(event, ended.get(event["call_id"]))
                case "hook.tool.after":
                    self._end(event)
                case "hook.approval.request" | "hook.approval.decision":
                    self._add_approval_event(event)
                case _:  # A toolbox has no span: it may be open for days.
                    pass

    def _begin(self, event: Mapping[str, Any], elapsed_ms: float | None) -> None:
        """Start a call's span. With *elapsed_ms* the call is over already: it began so long ago, and is not current."""
        _detach_ended_calls()  # Another thread may have ended calls that this thread began.
        parent = self._begun.get(event["parent_id"] or "")
        within = _child_context(parent[-1]) if parent else _root_context()
        span = self._tracer.start_span(
            f"{conventions.OPERATION} {event['tool']}",
            within,
            SpanKind.INTERNAL,
            conventions.start_attributes(event, arguments=self._arguments),
            start_time=None if elapsed_ms is None else time_ns() - int(elapsed_ms * 1e6),
        )
        begun = _OpenCall(span, context.get_current(), TRACE.get())
        if elapsed_ms is None:
            _enter(begun)
        self._begun.setdefault(event["call_id"], []).append(begun)

    def _end(self, event: Mapping[str, Any]) -> None:
        known = self._begun.get(event["call_id"])
        begun = known.pop(0) if known else None
        if not known:
            self._begun.pop(event["call_id"], None)
        if begun is not None:
            begun.span.set_attributes(conventions.end_attributes(event))
            if event["outcome"] != "ok":
                begun.span.set_status(Status(StatusCode.ERROR, event["message"] or event["reason"]))
            begun.span.end()
            begun.is_over = True
            _detach_ended_calls()
        self._measure(event, None if begun is None else begun.span)

    def _measure(self, event: Mapping[str, Any], span: Span | None) -> None:
        about = conventions.metric_attributes(event)
        within = None if span is None else trace.set_span_in_context(span)  # For exemplars.
        self._durations.record(event["elapsed_ms"] / 1000, conventions.duration_attributes(event), within)
        self._calls.add(1, {**about, "toolcharter.outcome": event["outcome"]})
        if event["outcome"] == "denied":
            self._denials.add(1, {**about, "error.type": event["reason"], "toolcharter.stage": event["stage"]})
        if event["redactions"]:
            self._redactions.add(event["redactions"], about)

    def _add_approval_event(self, event: Mapping[str, Any]) -> None:
        known = self._begun.get(event["call_id"])
        name = event["event"].replace("hook.", "toolcharter.")
        if known:
            known[0].span.add_event(name, conventions.approval_attributes(event))
        if event["event"] == "hook.approval.decision":
            answer = {"toolcharter.approval.answer": event["answer"]}
            self._approvals.add(1, {**conventions.metric_attributes(event), **answer})

    def close(self) -> None:
        """End the spans that are still open, then call the functions of `on_close`."""
        for begun in [one for known in self._begun.values() for one in known]:
            begun.span.end()
            begun.is_over = True
        self._begun.clear()
        _detach_ended_calls()
        for close in self._on_close:
            close()


def _root_context() -> Context:
    """Return the context for a call without a parent call: the current span's, or else the host's trace.

    The last resort is the trace that this process was started in.
    """
    present = context.get_current()
    if trace.get_current_span(present).get_span_context().is_valid:
        return present
    named = TRACE.get()
    carrier = {"traceparent": os.environ.get("TRACEPARENT", "")} if named is None else named.headers()
    return _PROPAGATOR.extract(carrier, present)


def _child_context(parent: _OpenCall) -> Context:
    """Return the context for a call that the body of *parent* makes.

    In the thread or task of that body this is the current context, which may hold spans that the body has started.
    """
    return context.get_current() if context.get_value(_CALL) is parent else trace.set_span_in_context(parent.span)


def _enter(begun: _OpenCall) -> None:
    """Make the call's span the current one, for OpenTelemetry and for the requests that the core sends."""
    headers: dict[str, str] = {}
    within = trace.set_span_in_context(begun.span)
    _PROPAGATOR.inject(headers, within)
    begun.tokens = (context.attach(context.set_value(_CALL, begun, within)),)
    if "traceparent" in headers:  # Otherwise the provider makes no spans, and the host's trace stays.
        named = TraceContext(headers["traceparent"], headers.get("tracestate", ""))
        begun.tokens += (TRACE.set(named),)


def _detach_ended_calls() -> None:
    """Restore the outer context of every call that has ended, in whatever order the calls ended.

    A call may end in another thread or task than it began in. Each has its own context variables, so the thread that
    began the call restores the context only when its next call begins.
    """
    while isinstance(begun := context.get_value(_CALL), _OpenCall) and begun.is_over:
        try:
            for token in reversed(begun.tokens):
                token.var.reset(token)
        except (ValueError, RuntimeError):  # The token is not valid in a copied context.
            context.attach(begun.outer)
            TRACE.set(begun.outer_trace)
