"""Metrics for Prometheus: real scrapes of a sink, and event files through the command."""

import gzip
import json
import socket
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from toolcharter import build_tools
from toolcharter.cli.group import toolcharter as group
from toolcharter_prometheus import EventMetrics, PrometheusSink, counts, open_sink
from toolcharter_prometheus.sink import ScrapedSink

ABOUT = {"profile": "minimal", "tool": "list_files"}


def after(tool: str = "t", outcome: str = "ok", reason: str | None = None, **more: Any) -> bytes:
    """A line of `hook.tool.after`, as far as metrics read it."""
    event = {"event": "hook.tool.after", "profile": "p", "tool": tool, "outcome": outcome, "reason": reason}
    return json.dumps({**event, "stage": "deny", "elapsed_ms": 2.0, "redactions": 0, **more}).encode() + b"\n"


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Name and labels of each sample that says something, with its value; parsed as Prometheus does."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return f"toolcharter_{name}", frozenset(labels.items())


def counted(*lines: bytes) -> tuple[EventMetrics, dict[str, float]]:
    """What *lines* count, by name and labels as text."""
    registry = CollectorRegistry()
    metrics = EventMetrics(registry)
    for line in lines:
        metrics.add(line)
    values = {
        f"{sample.name} {' '.join(sample.labels.values())}": sample.value
        for family in registry.collect()
        for sample in family.samples
        if not sample.name.endswith(("_created", "_bucket"))
    }
    return metrics, values


def scraped(address: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def a_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.mark.slow
def test_a_host_is_scraped_while_it_lasts(tmp_path: Path) -> None:
    """Calls, denials by reason, latencies; afterwards nobody answers."""
    port = a_port()
    address = f"http://127.0.0.1:{port}/metrics"
    with build_tools("minimal", workspace=tmp_path, events=f"prometheus://127.0.0.1:{port}") as toolbox:
        toolbox.call("list_files", {"path": "."})
        toolbox.call("list_files", {"path": ".."})
        toolbox.call("invented", {})
        found = samples(scraped(address))

    unknown = {"profile": "minimal", "tool": "(unknown)"}
    assert found[key("calls_total", outcome="ok", **ABOUT)] == 1
    assert found[key("denials_total", reason="path_outside_workspace", stage="tool", **ABOUT)] == 1
    assert found[key("denials_total", reason="unknown_tool", stage="name", **unknown)] == 1
    assert found[key("call_duration_seconds_count", **ABOUT)] == 2
    assert found[key("call_duration_seconds_bucket", le="+Inf", **ABOUT)] == 2
    with pytest.raises(urllib.error.URLError):
        scraped(address)


def test_files_give_the_same_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rotated and compressed ones, too; without the moment at which they are read."""
    monkeypatch.chdir(tmp_path)
    line = after("echo", "denied", "denied_by_rule")
    Path("e.jsonl").write_bytes(line)
    Path("e.jsonl.1.gz").write_bytes(gzip.compress(line + after("echo", "ok", redactions=3)))

    result = CliRunner().invoke(group, ["prometheus", "--rotated", "e.jsonl"])

    about = {"profile": "p", "tool": "echo"}
    found = samples(result.stdout)
    assert (result.exit_code, "_created" in result.stdout) == (0, False)
    assert found[key("denials_total", reason="denied_by_rule", stage="deny", **about)] == 2
    assert found[key("calls_total", outcome="ok", **about)] == 1
    assert found[key("redactions_total", **about)] == 3
    assert found[key("call_duration_seconds_sum", **about)] == pytest.approx(0.006)


def test_lines_that_are_no_events_are_told(tmp_path: Path) -> None:
    """Exit status 1, and the metrics of the others; a file that cannot be read is status 2."""
    (tmp_path / "e.jsonl").write_bytes(b"{\n" + after())

    partly = CliRunner().invoke(group, ["prometheus", str(tmp_path / "e.jsonl")])
    missing = CliRunner().invoke(group, ["prometheus", str(tmp_path / "no.jsonl")])

    assert (partly.exit_code, partly.stderr) == (1, "1 lines are no events\n")
    assert 'toolcharter_calls_total{outcome="ok",profile="p",tool="t"} 1.0' in partly.stdout
    assert (missing.exit_code, "No such file" in missing.stderr) == (2, True)


def test_errors_and_answers_are_counted() -> None:
    """By reason, by answer; other events count nothing, in whatever order their fields are."""
    answered = {"event": "hook.approval.decision", "profile": "p", "tool": "t", "answer": "deny", "reason": None}
    others = [b'{"event":"hook.tool.before","tool":"t"}\n', b'{"tool":"t","event":"toolbox.open"}\n']

    metrics, found = counted(after("t", "error", "timed_out"), json.dumps(answered).encode(), *others, b"[]", b"{}")

    assert found == {
        "toolcharter_calls_total p t error": 1,
        "toolcharter_errors_total p t timed_out": 1,
        "toolcharter_approvals_total p t deny": 1,
        "toolcharter_call_duration_seconds_count p t": 1,
        "toolcharter_call_duration_seconds_sum p t": 0.002,
    }
    assert metrics.unreadable == 2


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(after(elapsed_ms=10**400), id="huge"),
        pytest.param(after(redactions=float("inf")), id="infinite"),
        pytest.param(after(redactions=-1), id="negative"),
        pytest.param(after(fields=0)[:-3] + b'0,"args":' + b"[" * 100_000 + b"\n", id="deep"),
        pytest.param(b'{"event":"hook.tool.after"}', id="empty"),
    ],
)
def test_a_line_that_no_gate_has_written_is_unreadable(line: bytes) -> None:
    """And stops nothing."""
    metrics, found = counted(line, after())

    assert (metrics.unreadable, found["toolcharter_call_duration_seconds_sum p t"] > 0) == (1, True)


def test_names_without_end_make_no_series_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after so many is counted together."""
    monkeypatch.setattr(counts, "MAX_LABEL_VALUES", 2)

    _, found = counted(*(after(tool) for tool in "abcda"))

    calls = {name.split()[2]: value for name, value in found.items() if "calls_total" in name}
    assert calls == {"a": 2, "b": 1, "(others)": 2}


def test_an_application_shows_them_in_its_own_registry() -> None:
    """Beside its own metrics."""
    registry = CollectorRegistry()
    sink = PrometheusSink(registry)
    sink.write(after() + after())
    sink.close()

    labels = {"profile": "p", "tool": "t", "outcome": "ok"}
    assert registry.get_sample_value("toolcharter_calls_total", labels) == 2


@pytest.mark.slow
@pytest.mark.parametrize("host", ["evil.example", "", "10.0.0.1:80"])
def test_a_web_page_that_gave_its_name_our_address_reads_nothing(host: str) -> None:
    """A request for another host than loopback is refused."""
    sink = ScrapedSink("127.0.0.1", 0)
    try:
        with pytest.raises(urllib.error.HTTPError) as refused:
            scraped(f"http://127.0.0.1:{sink.port}/metrics", Host=host)
        assert "# HELP" in scraped(f"http://127.0.0.1:{sink.port}/metrics", Host="localhost")
    finally:
        sink.close()

    assert (refused.value.code, refused.value.read()) == (403, b"Ask for a loopback address.\n")


@pytest.mark.slow
def test_ipv6_is_served_and_exposing_is_said() -> None:
    """Loopback of both kinds without a word; any other address only with one, and then by any name."""
    with pytest.raises(ValueError, match=r"^other machines can reach 0\.0\.0\.0"):
        open_sink("prometheus://0.0.0.0:0")
    exposed, local = ScrapedSink("0.0.0.0", 0, expose=True), ScrapedSink("::1", 0)
    try:
        assert "# HELP" in scraped(f"http://127.0.0.1:{exposed.port}/metrics", Host="any.example")
        assert "# HELP" in scraped(f"http://[::1]:{local.port}/metrics")
    finally:
        exposed.close()
        local.close()


@pytest.mark.parametrize(
    "url",
    [
        "prometheus://a:1/metrics",
        "prometheus:?expose=no",
        "prometheus:#x",
        "prometheus://u@127.0.0.1",
        "prometheus:9464",
    ],
)
def test_a_malformed_url_is_refused(url: str) -> None:
    """With the form that it has to have."""
    with pytest.raises(ValueError, match=r"^write prometheus: or prometheus://127\.0\.0\.1:PORT"):
        open_sink(url)


def test_the_default_is_a_port_of_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """`prometheus:` alone; a port of 0 is any that is free."""
    opened: list[tuple[object, ...]] = []
    monkeypatch.setattr("toolcharter_prometheus.ScrapedSink", lambda *place, **how: opened.append((*place, how)))

    for url in ("prometheus:", "prometheus://localhost:0?expose=yes"):
        open_sink(url)

    assert opened == [("127.0.0.1", 9464, {"expose": False}), ("localhost", 0, {"expose": True})]
