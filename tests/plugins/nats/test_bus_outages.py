"""A bus whose server stops, hangs, comes back and is full. `TOOLCHARTER_PAUSE_S` says how long it hangs."""

import os
import time
from pathlib import Path

import pytest
from tests.waiting import until

from toolcharter import Bus, BusUnavailable, PluginError, open_bus

from .servers import NatsServer

pytestmark = pytest.mark.slow
SOON_S = 60.0
PAUSE_S = float(os.environ.get("TOOLCHARTER_PAUSE_S", "4"))


def heard_again(bus: Bus, heard: list[bytes]) -> bool:
    """Whether a message that is sent now arrives."""
    bus.publish("acme", "topic", b"again")
    time.sleep(0.05)
    return b"again" in heard


def test_what_was_put_outlives_the_server_and_all_goes_on_by_itself(tmp_path: Path) -> None:
    """Stopped: it is told at once and nothing waits long. Started: items, keys, leases and listeners are there again."""
    server = NatsServer(tmp_path)
    server.start()
    bus = open_bus(server.url)
    heard: list[bytes] = []
    bus.subscribe("topic", lambda _, payload: heard.append(payload))
    bus.queue("acme", "jobs").put(b"1", item_id="1")
    bus.create("acme", "claim", b"mine")
    assert bus.lease("acme", "job", holder="a", ttl_s=60) is not None

    server.stop()
    until(lambda: bus.health() is not None)
    assert str(server.port) in (bus.health() or "")
    bus.publish("acme", "topic", b"lost")
    with pytest.raises(BusUnavailable):
        bus.queue("acme", "jobs").put(b"2", item_id="2")
    with pytest.raises(BusUnavailable):
        bus.queue("acme", "jobs").pull(0.1)

    server.start()
    until(lambda: bus.health() is None)
    until(lambda: heard_again(bus, heard))
    assert b"lost" not in heard
    assert not bus.queue("acme", "jobs").put(b"1", item_id="1")
    delivery = bus.queue("acme", "jobs").pull(SOON_S)
    assert delivery is not None
    assert delivery.item == b"1"
    delivery.ack()
    assert (bus.get("acme", "claim"), bus.holder("acme", "job")) == (b"mine", "a")
    bus.close()
    server.stop()


def test_a_server_that_hangs_is_away_until_it_answers(tmp_path: Path) -> None:
    """Its connections are open meanwhile, and nothing is told twice."""
    server = NatsServer(tmp_path)
    server.start()
    bus = open_bus(server.url)
    assert bus.create("acme", "before")

    server.pause()
    paused = time.monotonic()
    try:
        with pytest.raises(BusUnavailable):
            bus.create("acme", "meanwhile")
        assert bus.health() is not None
        time.sleep(max(0.0, PAUSE_S - (time.monotonic() - paused)))
    finally:
        server.resume()

    def answers() -> bool:
        try:
            return bus.get("acme", "before") is not None
        except BusUnavailable:
            return False

    until(answers)
    until(lambda: bus.health() is None)
    bus.close()
    server.stop()


def test_a_server_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    """Whoever opens the bus starts all the same."""
    server = NatsServer(tmp_path)
    bus = open_bus(server.url)
    assert bus.health() is not None
    heard: list[bytes] = []
    bus.subscribe("topic", lambda _, payload: heard.append(payload))
    server.start()
    until(lambda: heard_again(bus, heard))
    assert bus.create("acme", "key")
    bus.close()
    server.stop()


def test_a_server_without_room_takes_nothing_and_recovers(tmp_path: Path) -> None:
    """What was put is there; what is finished makes room."""
    server = NatsServer(tmp_path, max_file="1MB")
    server.start()
    bus = open_bus(server.url)
    queue = bus.queue("acme", "large")
    put = 0

    def fill() -> None:
        nonlocal put
        while put < 20:
            queue.put(b"x" * 200_000, item_id=str(put))
            put += 1

    with pytest.raises(BusUnavailable):
        fill()
    assert 1 <= put < 10
    for _ in range(put):
        delivery = queue.pull(SOON_S)
        assert delivery is not None
        delivery.ack()

    def has_room() -> bool:
        try:
            return queue.put(b"x" * 200_000, item_id="last")
        except BusUnavailable:
            return False

    until(has_room)
    bus.close()
    server.stop()


def test_a_server_that_lost_what_it_kept_gets_it_anew(tmp_path: Path) -> None:
    """Streams and buckets are made again by whoever misses them first."""
    server = NatsServer(tmp_path / "one")
    server.start()
    bus = open_bus(server.url)
    bus.queue("acme", "jobs").put(b"1", item_id="1")
    assert bus.create("acme", "key")
    server.stop()
    (tmp_path / "one" / "js").rename(tmp_path / "lost")
    server.start()
    until(lambda: bus.health() is None)

    assert bus.queue("acme", "jobs").put(b"1", item_id="1")
    assert bus.create("acme", "key")
    delivery = bus.queue("acme", "jobs").pull(SOON_S)
    assert delivery is not None
    delivery.ack()
    bus.close()
    server.stop()


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("nats:4222", id="no-host"),
        pytest.param("nats://h/path", id="path"),
        pytest.param("nats://h?what=1", id="option"),
        pytest.param("nats://h?tls=maybe", id="tls"),
        pytest.param("nats://h?replicas=2", id="replicas"),
        pytest.param("nats://h?creds=/none", id="credentials"),
    ],
)
def test_a_url_that_is_none_is_refused_without_being_shown(url: str) -> None:
    """With what to write."""
    with pytest.raises(
        PluginError, match=r"cannot be used: ValueError: (write nats://|the options|.creds. names)"
    ) as refused:
        open_bus(url.replace("//h", "//amy:" + "hunter" + "2@h"))
    assert "hunter" not in str(refused.value)
