"""The sink `nats:` of real calls, with a real server that stops, starts and fills."""

import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.waiting import until

from toolcharter import Caller, build_tools
from toolcharter_nats.connection import parse_url
from toolcharter_nats.envelope import messages
from toolcharter_nats.sink import NatsSink

from .servers import NatsServer, received

PROFILE = "profile: p\ntools: {read_file: {}, list_files: {}}\ndeny: ['read_file(path=secret*)']\n"
SOON_S = 60.0


@pytest.mark.slow
def test_calls_become_messages(nats_server: NatsServer, tmp_path: Path) -> None:
    """One when a call begins and one when it has ended, in the envelope of its source, and once each."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("hello")
    (tmp_path / "p.yaml").write_text(PROFILE)
    caller = Caller(agent="ada", project="site", session="s1")
    with build_tools(tmp_path / "p.yaml", workspace=tmp_path / "ws", caller=caller, events=[nats_server.url]) as box:
        done = box.call("read_file", {"path": "a.txt"})
        denied = box.call("read_file", {"path": "secret.txt"})

    found = received(nats_server, "toolcharter-_-events")
    assert [
        (subject, body["type"], body["payload"]["metadata"]["tool_id"], body["payload"]["metadata"]["call_id"])
        for subject, body in found
    ] == [
        ("agi.tool.invoked", "agi.tool.invoked", "read_file", done.call_id),
        ("agi.tool.result", "agi.tool.result", "read_file", done.call_id),
        ("agi.tool.invoked", "agi.tool.invoked", "read_file", denied.call_id),
        ("agi.tool.failed", "agi.tool.failed", "read_file", denied.call_id),
    ]
    for _, body in found:
        assert list(body) == ["event_id", "source", "type", "timestamp", "context", "payload", "security"]
        assert body["context"] == {"session_id": "s1", "project_id": "site"}
    assert found[3][1]["payload"]["metadata"]["reason"] == "denied_by_rule"


def line(event: str, **fields: Any) -> bytes:
    """An event."""
    return orjson.dumps({"event": event, "ts": "2026-11-24T20:00:00.000000Z", **fields}) + b"\n"


def test_the_documented_events_are_all_there() -> None:
    """Seed 001-registry-lifecycle-023: discovered, created, invoked, result and failed; nothing else is published."""
    lines = b"".join([
        line("service.admin", action="tool.discovered", tool_id="tool_ls", name="ls", safety="low"),
        line("service.admin", action="tool.created", tool_id="mine", name="mine", safety="high", tenant="acme"),
        line("hook.tool.before", tool="read_file", call_id="1", args={"path": "a"}),
        line("hook.policy.before", tool="read_file", call_id="1"),
        line("hook.tool.after", tool="read_file", call_id="1", outcome="ok"),
        line("hook.policy.deny", tool="read_file", call_id="2"),
        line("hook.tool.after", tool="read_file", call_id="2", outcome="denied"),
        line("service.admin", action="token.created"),
    ])  # fmt: skip

    found = [orjson.loads(message.body) for message in messages(lines)]

    assert [body["type"] for body in found] == [
        "agi.tool.discovered",
        "agi.tool.created",
        "agi.tool.invoked",
        "agi.tool.result",
        "agi.tool.failed",
    ]
    assert found[1]["payload"] == {"metadata": {"tool_id": "mine", "name": "mine", "safety": "high"}}
    assert [message.body for message in messages(lines)] == [orjson.dumps(body) for body in found]
    assert len({body["event_id"] for body in found}) == 5


@pytest.mark.slow
def test_a_tenant_has_subjects_and_a_stream_of_its_own(nats_server: NatsServer) -> None:
    """So that the server's permissions can keep tenants apart."""
    sink = NatsSink(parse_url(nats_server.url), close_s=SOON_S)
    sink.write(line("hook.tool.before", tool="t", call_id="1", tenant="acme"))
    sink.write(line("hook.tool.before", tool="t", call_id="1", tenant="zoo"))
    sink.close()

    assert [subject for subject, _ in received(nats_server, "toolcharter-acme-events")] == ["agi.tool.invoked.acme"]
    assert [subject for subject, _ in received(nats_server, "toolcharter-zoo-events")] == ["agi.tool.invoked.zoo"]


@pytest.mark.slow
def test_events_wait_while_the_server_is_away_and_are_delivered_once(tmp_path: Path) -> None:
    """Nothing waits for them; what finds no room is raised and counted."""
    server = NatsServer(tmp_path)
    server.start()
    sink = NatsSink(parse_url(server.url), queue_max=50, close_s=SOON_S)
    sink.write(line("hook.tool.before", tool="t", call_id="first"))
    until(lambda: len(received(server, "toolcharter-_-events")) == 1)
    server.stop()
    until(lambda: sink.health() is not None)

    for number in range(50):
        sink.write(line("hook.tool.before", tool="t", call_id=str(number)))
    with pytest.raises(OSError, match="50 events wait for nats://"):
        sink.write(line("hook.tool.before", tool="t", call_id="too many"))
    server.start()
    sink.close()

    found = received(server, "toolcharter-_-events")
    assert [body["payload"]["metadata"]["call_id"] for _, body in found] == ["first", *map(str, range(50))]
    assert sink.lost == 1
    server.stop()


@pytest.mark.slow
def test_what_is_not_delivered_at_the_end_is_lost_and_said(tmp_path: Path) -> None:
    """Closing waits for a while only."""
    server = NatsServer(tmp_path)
    sink = NatsSink(parse_url(server.url), close_s=0.2)
    sink.write(line("hook.tool.before", tool="t", call_id="1") * 2)
    with pytest.raises(OSError, match="2 events were not delivered to nats://"):
        sink.close()
    assert sink.lost == 2
    with pytest.raises(OSError, match="wait for nats://"):
        sink.write(line("hook.tool.before", tool="t", call_id="2"))


@pytest.mark.slow
def test_what_the_server_never_takes_is_counted(nats_server: NatsServer) -> None:
    """It holds up nothing, and the next write says so."""
    sink = NatsSink(parse_url(nats_server.url), close_s=SOON_S)
    sink.write(line("hook.tool.before", tool="t", call_id="large", args={"text": "x" * 2_000_000}, tenant="big"))
    until(lambda: sink.lost == 1)
    with pytest.raises(OSError, match="refused 1 events"):
        sink.write(line("hook.tool.before", tool="t", call_id="small", tenant="big"))
    sink.close()
    assert len(received(nats_server, "toolcharter-big-events")) == 1


@pytest.mark.slow
def test_a_full_server_holds_events_back_until_it_has_room(tmp_path: Path) -> None:
    """The queue is what waits."""
    server = NatsServer(tmp_path, max_file="1MB")
    server.start()
    sink = NatsSink(parse_url(server.url), queue_max=8, close_s=0.2)

    def fill() -> None:
        for number in range(40):
            sink.write(line("hook.tool.before", tool="t", call_id=str(number), args={"text": "x" * 200_000}))
            time.sleep(0.02)

    with pytest.raises(OSError, match="8 events wait"):
        fill()
    with pytest.raises(OSError, match="not delivered"):
        sink.close()
    server.stop()
