"""`otel:` URLs, against a receiver of OTLP that speaks its protobuf; and what the process's own providers have of it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client, StdioServerParameters
from opentelemetry import metrics, trace

from toolcharter import build_tools
from toolcharter_otel import OtelSink, open_sink

from .conftest import Received

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def listed(events: object, workspace: Path) -> None:
    """One call that is ok, one that is denied."""
    with build_tools("minimal", workspace=workspace, events=events) as toolbox:  # type: ignore[arg-type]
        toolbox.call("list_files", {"path": "."})
        toolbox.call("list_files", {"path": ".."})


@pytest.mark.slow
def test_a_collector_gets_spans_and_metrics_when_the_toolbox_closes(collector: Received, tmp_path: Path) -> None:
    """In OTLP's protobuf, with the service's name, its arguments only on request."""
    listed(f"otel:{collector.url}?arguments=yes", tmp_path)
    listed(f"otel:{collector.url}/?metrics=no", tmp_path)

    assert [span.name for span in collector.spans] == ["execute_tool list_files"] * 4
    first, second, third, _ = (values(span.attributes) for span in collector.spans)
    assert (first["gen_ai.tool.call.arguments"], "gen_ai.tool.call.arguments" in third) == ('{"path":"."}', False)
    assert (second["error.type"], collector.spans[1].status.code) == ("path_outside_workspace", 2)
    assert values(collector.traces[0].resource_spans[0].resource.attributes)["service.name"] == "toolcharter"
    [sent] = collector.metrics
    [scope] = sent.resource_metrics[0].scope_metrics
    assert [metric.name for metric in scope.metrics] == [
        "gen_ai.execute_tool.duration",
        "toolcharter.calls",
        "toolcharter.denials",
    ]
    durations = scope.metrics[0].histogram.data_points
    assert (sum(point.count for point in durations), len(durations[0].explicit_bounds)) == (2, 17)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "name"),
    [({"OTEL_SERVICE_NAME": "mine"}, "mine"), ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=ours,a=b"}, "ours")],
)
def test_the_command_exports_to_where_the_environment_says(collector: Received, tmp_path, variables, name) -> None:
    """A call as a process: its endpoint, its service and the trace it was started in are in the environment."""
    words = ["call", "list_files", "path=.", "--profile", "minimal", "--events", "otel:"]
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "TRACEPARENT": PARENT, **variables}

    subprocess.run([sys.executable, "-m", "toolcharter", *words], env=environment, cwd=tmp_path, check=True)

    [span] = collector.spans
    assert span.trace_id.hex() == PARENT.split("-")[1]
    assert values(collector.traces[0].resource_spans[0].resource.attributes)["service.name"] == name


@pytest.mark.slow
def test_a_driver_names_the_trace_of_each_call(collector: Received, tmp_path: Path) -> None:
    """In the lines of `toolcharter run`; a malformed one is none."""
    words = ["run", "--profile", "minimal", "--events", f"otel:{collector.url}?metrics=no"]
    lines = [{"tool": "list_files", "args": {"path": "."}, "traceparent": parent} for parent in (PARENT, "x")]

    subprocess.run(
        [sys.executable, "-m", "toolcharter", *words],
        input="\n".join(map(json.dumps, lines)).encode(),
        cwd=tmp_path,
        check=True,
    )

    first, second = collector.spans
    assert (first.trace_id.hex(), first.parent_span_id.hex()) == tuple(PARENT.split("-")[1:3])
    assert second.parent_span_id == b""


@pytest.mark.slow
async def test_an_mcp_client_names_the_trace_in_meta(collector: Received, tmp_path: Path) -> None:
    """A server as a process, the SDK's client: the span of the call is in the client's trace."""
    words = ["-m", "toolcharter", "mcp", "--profile", "minimal", "--workspace", str(tmp_path)]
    server = StdioServerParameters(command=sys.executable, args=[*words, "--events", f"otel:{collector.url}"])

    async with Client(server) as client:
        await client.call_tool("list_files", {"path": "."}, meta=cast("Any", {"traceparent": PARENT}))

    [span] = collector.spans
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == tuple(PARENT.split("-")[1:3])


@pytest.mark.slow
def test_a_bridged_server_is_told_the_span_of_its_call(collector: Received, tmp_path: Path) -> None:
    """Two processes, one trace: the server is another toolcharter, whose span is below the first one's."""
    inner = ["-m", "toolcharter", "mcp", "--profile", "minimal", "--workspace", str(tmp_path)]
    soon = {"OTEL_BSP_SCHEDULE_DELAY": "100"}
    words = [*inner, "--events", f"otel:{collector.url}?metrics=no"]
    server = {"command": sys.executable, "args": words, "env": soon, "connect_timeout_s": 600}
    profile = {
        "profile": "gateway",
        "runner": "host",
        "extensions": {"mcp_bridge": {"servers": {"files": server}, "trust": "first"}},
        "allow": ["mcp:*"],
    }
    (tmp_path / "gateway.yaml").write_text(json.dumps(profile))

    events = f"otel:{collector.url}?metrics=no"
    with build_tools(
        tmp_path / "gateway.yaml", workspace=tmp_path, events=events, approver=lambda _: "allow_once"
    ) as box:
        assert box.call("mcp__files__list_files", {"path": "."}).outcome == "ok"
        until = time.monotonic() + 60  # The server is ended with the toolbox, before it has said all.
        while not collector.spans and time.monotonic() < until:
            time.sleep(0.05)

    by_name = {span.name.removeprefix("execute_tool "): span for span in collector.spans}
    outer, inside = by_name["mcp__files__list_files"], by_name["list_files"]
    assert (inside.trace_id, inside.parent_span_id) == (outer.trace_id, outer.span_id)


@pytest.mark.slow
def test_no_global_provider_is_set(collector: Received) -> None:
    """Neither by opening a URL, nor by a sink without providers of its own, which reads the global ones."""
    open_sink(f"otel:{collector.url}").close()
    OtelSink().close()

    assert [type(provider).__name__ for provider in (trace.get_tracer_provider(), metrics.get_meter_provider())] == [
        "ProxyTracerProvider",
        "_ProxyMeterProvider",
    ]


def test_without_a_provider_that_makes_spans_the_hosts_trace_stays(tmp_path: Path) -> None:
    """OpenTelemetry's own stand-in hands it on; there is nothing to see, and nothing is broken."""
    listed(OtelSink(), tmp_path)

    assert not trace.get_current_span().get_span_context().is_valid


@pytest.mark.parametrize(
    "url",
    [
        "otel:127.0.0.1:4318",
        "otel:ftp://127.0.0.1",
        "otel:http://",
        "otel:?arguments=maybe",
        "otel:?argument=yes",
        "otel:http://127.0.0.1?metrics",
    ],
)
def test_a_malformed_url_is_refused(url: str) -> None:
    """With the form that it has to have."""
    with pytest.raises(ValueError, match=r"^write otel: or otel:http://HOST:PORT"):
        open_sink(url)
