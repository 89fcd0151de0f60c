"""Calls as spans, through the gate and exporters in memory."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id

from toolcharter import TRACE, Caller, ToolPolicy, ToolSpec, TraceContext, build_tools, within_trace
from toolcharter.testing.toolboxes import toolbox_of
from toolcharter_otel import OtelSink

from .conftest import Recorded

REMOTE = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=1")


def present() -> tuple[str, str]:
    """The present span: for OpenTelemetry, and as the core sends it out."""
    span = trace.get_current_span().get_span_context()
    named = TRACE.get()
    return format_span_id(span.span_id), "" if named is None else named.traceparent.split("-")[2]


def line(event: str, call_id: str = "c") -> bytes:
    """A line of a call's events, as far as the sink reads it."""
    fields = {"event": f"hook.tool.{event}", "call_id": call_id, "parent_id": None, "tool": "t", "profile": "p"}
    ended = {"outcome": "ok", "reason": None, "elapsed_ms": 1.0, "redactions": 0}
    return json.dumps(fields | (ended if event == "after" else {"args": None})).encode() + b"\n"


class Bodies:
    """Tools that look at the present span; `seen` is what they saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def specs(self) -> list[ToolSpec[Any]]:
        seen = self.seen

        def plain(_: Path, __: ToolPolicy, rt: Any) -> Any:
            def leaf(word: str = "") -> str:
                """Look."""
                seen.append(present())
                if word == "fail":
                    raise RuntimeError(word)
                return f"{word} key ghp_{'a1B2' * 9}"

            return leaf

        def isolated(_: Path, __: ToolPolicy, rt: Any) -> Any:
            def apart() -> str:
                """Look, in a thread of its own."""
                seen.append(present())
                return "ok"

            return apart

        def waiting(_: Path, __: ToolPolicy, rt: Any) -> Any:
            async def slow() -> str:
                """Look, asynchronously."""
                await asyncio.sleep(0)
                seen.append(present())
                return "ok"

            return slow

        def calling(_: Path, __: ToolPolicy, rt: Any) -> Any:
            def outer() -> str:
                """Call another tool, and open two calls that end in the wrong order."""
                ctx = rt.start("outer")
                rt.call("leaf", {})
                first, second = rt.start("first"), rt.start("second")
                first.ok("")
                second.ok("")
                seen.append(present())
                rt.start("left open")
                return ctx.ok("")

            return outer

        return [
            ToolSpec("leaf", ToolPolicy, plain),
            ToolSpec("apart", ToolPolicy, isolated, isolate=True),
            ToolSpec("slow", ToolPolicy, waiting),
            ToolSpec("outer", ToolPolicy, calling),
        ]


@contextmanager
def tools(tmp_path: Path, sink: OtelSink, bodies: Bodies, **options: Any) -> Iterator[Any]:
    with toolbox_of(*bodies.specs(), workspace=tmp_path, events=sink, **options) as toolbox:
        yield toolbox


def test_a_call_is_a_span_with_the_attributes_of_the_conventions(tmp_path, recorded) -> None:
    """All that is known of it, and neither its arguments nor its result."""
    caller = Caller(agent="coder", provider="openai", group="g", session="s1", user="ann", project="p", depth=1)
    with tools(tmp_path, recorded.sink, Bodies(), caller=caller) as toolbox:
        toolbox.call("leaf", {"word": "private"}, call_id="call-1", parent_id="elsewhere")

    [span] = recorded.spans
    assert (span.name, span.kind, span.status.status_code) == ("execute_tool leaf", SpanKind.INTERNAL, StatusCode.UNSET)
    attributes = dict(span.attributes or {})
    digest = attributes.pop("toolcharter.profile.digest")
    assert isinstance(digest, str)
    assert attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "leaf",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.agent.name": "coder",
        "gen_ai.provider.name": "openai",
        "gen_ai.conversation.id": "s1",
        "toolcharter.parent_call.id": "elsewhere",
        "toolcharter.plugin": attributes["toolcharter.plugin"],
        "toolcharter.profile.name": "in-memory",
        "toolcharter.user": "ann",
        "toolcharter.project": "p",
        "toolcharter.group": "g",
        "toolcharter.depth": 1,
        "toolcharter.outcome": "ok",
        "toolcharter.output_chars": 22,
        "toolcharter.truncated": False,
        "toolcharter.redactions": 1,
    }
    assert "private" not in span.to_json()
    assert (span.parent, span.instrumentation_scope.name if span.instrumentation_scope else "") == (None, "toolcharter")


def test_arguments_are_there_on_request_as_events_show_them(tmp_path) -> None:
    """Masked."""
    recorded = Recorded(arguments=True)
    with tools(tmp_path, recorded.sink, Bodies()) as toolbox:
        toolbox.call("leaf", {"word": f"é ghp_{'a1B2' * 9}"})
        toolbox.call("leaf", {})

    shown = [(span.attributes or {}).get("gen_ai.tool.call.arguments") for span in recorded.spans]
    assert shown == ['{"word":"é [REDACTED]"}', "{}"]


@pytest.mark.parametrize(
    ("tool", "args", "reason", "outcome", "stage"),
    [
        ("leaf", {"word": "fail"}, "unexpected_failure", "error", "tool"),
        ("leaf", {"words": 1}, "invalid_arguments", "error", "arguments"),
        ("nothing", {}, "unknown_tool", "denied", "name"),
    ],
)
def test_a_call_that_is_refused_or_fails_is_an_error(tmp_path, recorded, tool, args, reason, outcome, stage) -> None:
    """`error.type` is the reason; its span has a length although both halves of its events came together."""
    with tools(tmp_path, recorded.sink, Bodies()) as toolbox:
        result = toolbox.call(tool, args)

    [span] = recorded.spans
    attributes = span.attributes or {}
    assert [attributes[name] for name in ("error.type", "toolcharter.outcome", "toolcharter.stage")] == [
        reason,
        outcome,
        stage,
    ]
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, result.message)
    assert (span.start_time or 0) < (span.end_time or 0)


def test_the_rule_that_decided_is_named(tmp_path, recorded) -> None:
    """Its text and its place."""
    profile = tmp_path / "p.yaml"
    profile.write_text("profile: p\ntools: {list_files: {}}\ndeny: [list_files]\n")
    with build_tools(profile, workspace=tmp_path, events=recorded.sink) as toolbox:
        toolbox.call("list_files", {"path": "."})

    attributes = recorded.spans[0].attributes or {}
    assert attributes["toolcharter.rule.text"] == "list_files"
    assert str(attributes["toolcharter.rule.source"]).endswith("p.yaml:3:8")


def test_what_people_are_asked_is_on_the_span_and_counted(tmp_path, recorded) -> None:
    """The question with its reason, the answer with who gave it."""
    profile = tmp_path / "p.yaml"
    profile.write_text("profile: p\nmode: ask\ntools: {list_files: {}}\n")
    with build_tools(profile, workspace=tmp_path, events=recorded.sink, approver=lambda _: "allow_once") as toolbox:
        toolbox.call("list_files", {"path": "."})

    [span] = recorded.spans
    asked, answered = span.events
    assert (asked.name, (asked.attributes or {})["toolcharter.approval.reason"]) == (
        "toolcharter.approval.request",
        "not_in_allow",
    )
    assert (answered.name, (answered.attributes or {})["toolcharter.approval.answer"]) == (
        "toolcharter.approval.decision",
        "allow_once",
    )
    about = {"gen_ai.tool.name": "list_files", "toolcharter.profile.name": "p"}
    assert recorded.points("toolcharter.approvals") == [({**about, "toolcharter.approval.answer": "allow_once"}, 1)]


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("tool", ["leaf", "apart", "slow"])
def test_the_span_is_the_present_one_for_the_body_and_for_nobody_else(tmp_path, recorded, tool, way) -> None:
    """In whatever thread or task it runs; afterwards all is as it was."""
    bodies = Bodies()
    before = context.get_current(), TRACE.get()

    async def call(toolbox: Any) -> tuple[Any, Any]:
        await toolbox.acall(tool, {})
        return context.get_current(), TRACE.get()

    with tools(tmp_path, recorded.sink, bodies) as toolbox:
        if way == "async":
            after = asyncio.run(call(toolbox))
        else:
            toolbox.call(tool, {})
            after = context.get_current(), TRACE.get()

    [span] = recorded.spans
    assert span.context is not None
    assert bodies.seen == [(format_span_id(span.context.span_id),) * 2]
    assert after == before


def test_calls_that_a_tool_makes_are_below_it_in_whatever_order_they_end(tmp_path, recorded) -> None:
    """Another tool, and calls that it opens; what it leaves open is ended; then all is as it was."""
    bodies = Bodies()
    before = context.get_current(), TRACE.get()
    with tools(tmp_path, recorded.sink, bodies) as toolbox:
        toolbox.call("outer", {})
        toolbox.call("leaf", {})

    by_name = {span.name.removeprefix("execute_tool "): span for span in recorded.spans[:-1]}
    outer = by_name.pop("outer")
    ids = [] if outer.context is None else [outer.context.span_id]
    assert sorted(by_name) == ["first", "leaf", "left open", "second"]
    assert [span.parent.span_id for span in by_name.values() if span.parent][:2] == ids * 2
    assert {span.context.trace_id for span in by_name.values() if span.context} == {
        outer.context.trace_id if outer.context else 0
    }
    assert bodies.seen[1] == (format_span_id(ids[0]),) * 2
    assert recorded.spans[-1].parent is None
    assert (context.get_current(), TRACE.get()) == before


def test_a_call_belongs_to_the_span_that_is_present_where_it_is_made(tmp_path, recorded) -> None:
    """That of an instrumented framework, whose baggage stays; it goes before what the host names."""
    with tools(tmp_path, recorded.sink, Bodies()) as toolbox:
        token = context.attach(baggage.set_baggage("tenant", "a"))
        with recorded.tracers.get_tracer("framework").start_as_current_span("agent") as agent, within_trace(REMOTE):
            toolbox.call("leaf", {})
            assert (trace.get_current_span(), baggage.get_baggage("tenant")) == (agent, "a")
        context.detach(token)

    leaf, above = recorded.spans
    assert (leaf.parent, above.name) == (above.context, "agent")


@pytest.mark.parametrize("way", ["host", "environment"])
def test_a_call_belongs_to_the_trace_that_the_host_or_the_environment_names(
    tmp_path, recorded, monkeypatch, way
) -> None:
    """The parent is remote; its state stays."""
    if way == "environment":
        monkeypatch.setenv("TRACEPARENT", REMOTE.traceparent)
    with tools(tmp_path, recorded.sink, Bodies()) as toolbox, within_trace(REMOTE if way == "host" else None):
        toolbox.call("leaf", {})

    [span] = recorded.spans
    assert span.context is not None
    assert span.parent is not None
    assert (format_trace_id(span.context.trace_id), format_span_id(span.parent.span_id), span.parent.is_remote) == (
        *REMOTE.traceparent.split("-")[1:3],
        True,
    )
    assert span.context.trace_state.get("vendor") == ("1" if way == "host" else None)


def test_a_program_is_told_the_span_of_its_call(tmp_path, recorded) -> None:
    """In TRACEPARENT, through the runner."""
    profile = tmp_path / "p.yaml"
    profile.write_text("profile: p\nrunner: host\ntools: {bash: {}}\nallow: ['bash:printenv *']\n")
    with build_tools(profile, workspace=tmp_path, events=recorded.sink) as toolbox:
        result = toolbox.call("bash", {"command": "printenv TRACEPARENT"})

    [span] = recorded.spans
    assert span.context is not None
    ids = format_trace_id(span.context.trace_id), format_span_id(span.context.span_id)
    assert result.text.split("-")[1:3] == list(ids)


def test_a_span_that_another_thread_has_ended_is_not_the_parent_of_the_next(recorded) -> None:
    """As when a toolbox is closed while a call runs; in a copy of the variables, too, whose tokens are no use there."""
    recorded.sink.write(line("before", "a"))
    copied = copy_context()
    thread = threading.Thread(target=recorded.sink.write, args=(line("after", "a"),))
    thread.start()
    thread.join()

    def call(call_id: str) -> object:
        recorded.sink.write(line("before", call_id))
        recorded.sink.write(line("after", call_id))
        return trace.get_current_span(), TRACE.get()

    assert [copied.run(call, "b"), call("c")] == [(trace.INVALID_SPAN, None)] * 2
    assert [span.parent for span in recorded.spans] == [None, None, None]


def test_calls_with_one_identifier_at_a_time_end_each_its_span(recorded) -> None:
    """Hosts bring identifiers; what ends without a beginning is counted, and what has no end is ended at the close."""
    recorded.sink.write(line("before"))
    recorded.sink.write(line("before"))
    recorded.sink.write(line("after"))
    recorded.sink.write(line("after") + line("after"))
    recorded.sink.write(line("before", "d"))
    recorded.sink.write(line("before", "none").replace(b"tool.before", b"approval.request"))
    recorded.sink.close()

    assert (trace.get_current_span(), TRACE.get()) == (trace.INVALID_SPAN, None)
    assert len(recorded.spans) == 3
    about = {"gen_ai.tool.name": "t", "toolcharter.profile.name": "p"}
    assert recorded.points("toolcharter.calls") == [({**about, "toolcharter.outcome": "ok"}, 3)]


def test_metrics_count_and_time_calls(tmp_path, recorded) -> None:
    """By outcome and reason; a name that a model has invented is no label."""
    with tools(tmp_path, recorded.sink, Bodies(), caller=Caller(agent="a")) as toolbox:
        for tool, args in (("leaf", {}), ("leaf", {}), ("leaf", {"word": "fail"}), ("invented", {})):
            toolbox.call(tool, args)

    leaf = {"gen_ai.tool.name": "leaf", "toolcharter.profile.name": "in-memory"}
    other = {**leaf, "gen_ai.tool.name": "_OTHER"}
    timed = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", "gen_ai.agent.name": "a"}
    assert recorded.points("toolcharter.calls") == [
        ({**leaf, "toolcharter.outcome": "ok"}, 2),
        ({**leaf, "toolcharter.outcome": "error"}, 1),
        ({**other, "toolcharter.outcome": "denied"}, 1),
    ]
    assert recorded.points("toolcharter.denials") == [
        ({**other, "error.type": "unknown_tool", "toolcharter.stage": "name"}, 1)
    ]
    assert recorded.points("toolcharter.redactions") == [(leaf, 2)]
    assert recorded.points("gen_ai.execute_tool.duration") == [
        ({**leaf, **timed}, 2),
        ({**leaf, **timed, "error.type": "unexpected_failure"}, 1),
        ({**other, **timed, "error.type": "unknown_tool"}, 1),
    ]
