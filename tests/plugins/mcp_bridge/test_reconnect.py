"""Servers that go and come: waits, health, and that no tool is lost or doubled."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter_mcp_bridge.policy import McpBridgePolicy
from toolcharter_mcp_bridge.server import Server
from toolcharter_mcp_bridge.wire import Session

from .bridge_setup import BridgeSetup, wait_until

pytestmark = pytest.mark.slow


@each_row(
    ("attempt", "delay"),
    [
        pytest.param(1, 2, id="first"),
        pytest.param(4, 16, id="doubles"),
        pytest.param(5, 32, id="still-below"),
        pytest.param(6, 60, id="longest"),
        pytest.param(10, 60, id="last-of-ten"),
        pytest.param(11, 300, id="slow"),
        pytest.param(1000, 300, id="for-ever"),
    ],
)
def test_waits(attempt: int, delay: float) -> None:
    """From 2 to 60 seconds, ten times, then slowly and without end."""
    assert McpBridgePolicy().delay(attempt) == delay


def pids(world: BridgeSetup) -> list[int]:
    return [int(line.split()[1]) for line in world.log if line.startswith("start")]


def test_a_program_that_dies_is_started_again(world: BridgeSetup) -> None:
    """Its tools stay all the time, once each, and work again; nobody is asked about them."""
    world.orders("echo", "die")
    live = world.live({"raw": world.raw}, mark_output=False)
    before = live.current

    for _ in range(3):
        assert live.call("mcp__raw__die", {"text": ""}).reason == "connection_lost"
        assert live.call("mcp__raw__echo", {"text": "again"}).text == "again"

    assert live.current is before
    assert sorted(live.current) == ["mcp__raw__die", "mcp__raw__echo"]
    assert (len(set(pids(world))), world.asked) == (4, [])


def test_a_server_that_comes_late(world: BridgeSetup) -> None:
    """Its tools come when it does; before, its fault is noted."""
    world.orders(exit=4)
    live = world.live({"raw": world.raw}, wait_s=0.1)
    wait_until(lambda: [*live.reload().notes] and "ended with status 4" in live.reload().notes[0])
    assert [*live.current] == []

    world.orders("echo")

    wait_until(lambda: [*live.current] == ["mcp__raw__echo"])
    assert live.reload().notes == ()


def test_calls_wait_for_a_server_only_so_long(world: BridgeSetup) -> None:
    """Then they may be made again."""
    world.orders("echo", "die")
    live = world.live({"raw": {**world.raw, "connect_timeout_s": 5}}, mark_output=False)
    wait_until(lambda: "mcp__raw__die" in live.current)
    world.orders("echo", exit=4)
    assert live.call("mcp__raw__die", {"text": ""}).reason == "connection_lost"
    starts = len(pids(world))
    wait_until(lambda: len(pids(world)) > starts + 1)  # One that was started anew has ended.

    result = live.call("mcp__raw__echo", {"text": "x"})

    assert (result.reason, result.retryable) == ("server_unavailable", True)
    assert "ended with status 4" in result.text
    assert sorted(live.current) == ["mcp__raw__die", "mcp__raw__echo"]


def test_a_deaf_server_is_started_again(world: BridgeSetup) -> None:
    """What does not answer when it is asked whether it is there, is not."""
    world.orders("echo", deaf=True)
    live = world.live({"raw": world.raw}, health_s=0.2)

    wait_until(lambda: len(pids(world)) >= 2)

    assert [*live.current] == ["mcp__raw__echo"]
    wait_until(lambda: "ping" in world.log)  # A loaded machine may end the first ones before they have read it.


def test_a_healthy_server_is_left_alone(world: BridgeSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked, and answers, for which a loaded machine has its time."""
    ping = Server._ping

    async def ping_patiently(server: Server, session: Session) -> None:
        often = server._bridge
        server._bridge = often.model_copy(update={"health_s": 60.0})
        await ping(server, session)
        server._bridge = often

    monkeypatch.setattr(Server, "_ping", ping_patiently)
    world.orders("echo")
    world.live({"raw": world.raw}, health_s=0.1)

    wait_until(lambda: world.log.count("ping") >= 3)

    assert len(pids(world)) == 1


def test_a_stopped_program_that_goes_on(world: BridgeSetup) -> None:
    """A frozen server costs a new start, and no tool."""
    world.orders("echo")
    live = world.live({"raw": world.raw}, health_s=0.2, mark_output=False)
    os.kill(pids(world)[0], signal.SIGSTOP)

    wait_until(lambda: len(pids(world)) >= 2)

    assert live.call("mcp__raw__echo", {"text": "x"}).text == "x"


def test_a_server_too_slow_to_start(world: BridgeSetup) -> None:
    """It is ended, and its fault says so."""
    world.orders("echo", hang=True)
    live = world.live({"raw": {**world.raw, "connect_timeout_s": 1}})

    def notes() -> Any:
        return live.reload().notes

    wait_until(lambda: notes() == ("raw: It did not start and list its tools in 1 s.",))
    wait_until(lambda: pids(world))  # A loaded machine may end the first ones before they have said who they are.
    first = pids(world)[0]
    wait_until(lambda: not Path(f"/proc/{first}").exists())
