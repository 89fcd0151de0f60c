"""W3C trace context: what is read of a carrier, and what leaves with requests and programs."""

import threading

import pytest

from toolcharter import TRACE, TraceContext, read_trace, within_trace
from toolcharter.api.call import trace_headers, trace_variables

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    ("carrier", "trace"),
    [
        pytest.param({"traceparent": PARENT}, TraceContext(PARENT), id="parent"),
        pytest.param({"traceparent": PARENT, "tracestate": "a=b,c=d"}, TraceContext(PARENT, "a=b,c=d"), id="state"),
        pytest.param({"traceparent": PARENT, "tracestate": "a\r\nb: c"}, TraceContext(PARENT), id="header-injection"),
        pytest.param({"traceparent": PARENT, "tracestate": "x" * 513}, TraceContext(PARENT), id="long-state"),
        pytest.param({"traceparent": PARENT, "tracestate": 1}, TraceContext(PARENT), id="no-text"),
        pytest.param({"traceparent": PARENT.upper()}, None, id="upper-case"),
        pytest.param({"traceparent": PARENT + "\n"}, None, id="newline"),
        pytest.param({"traceparent": PARENT + "-more"}, None, id="longer"),
        pytest.param({"traceparent": "ff" + PARENT[2:]}, None, id="version"),
        pytest.param({"traceparent": f"00-{'0' * 32}-{'1' * 16}-01"}, None, id="no-trace"),
        pytest.param({"traceparent": f"00-{'1' * 32}-{'0' * 16}-01"}, None, id="no-span"),
        pytest.param({"traceparent": 5}, None, id="number"),
        pytest.param({"tracestate": "a=b"}, None, id="state-alone"),
        pytest.param({}, None, id="empty"),
        pytest.param(None, None, id="none"),
    ],
)
def test_a_trace_is_read_whole_or_not_at_all(carrier, trace) -> None:
    """It comes from outside and goes into headers and environments: its form is what the standard says."""
    assert read_trace(carrier) == trace


def test_a_trace_holds_in_its_body_and_for_its_thread() -> None:
    """None changes nothing; another thread knows of none."""
    trace = TraceContext(PARENT, "a=b")
    elsewhere = []
    with within_trace(trace), within_trace(None):
        thread = threading.Thread(target=lambda: elsewhere.append(TRACE.get()))
        thread.start()
        thread.join()
        inside = TRACE.get(), dict(trace_headers({})), dict(trace_variables())

    assert inside == (trace, {"traceparent": PARENT, "tracestate": "a=b"}, {"TRACEPARENT": PARENT})
    assert (elsewhere, TRACE.get(), trace_headers(None), trace_variables()) == ([None], None, {}, {})


def test_a_request_that_names_a_trace_keeps_it() -> None:
    """A tool, or a library that makes spans of its own, knows better."""
    with within_trace(TraceContext(PARENT)):
        assert trace_headers({"Traceparent": "other"}) == {}
