"""What every bus does: the one within a process, and JetStream's."""

import threading
import time
from collections.abc import Iterator

import pytest
from tests.waiting import until

from toolcharter import Bus, open_bus

from .servers import NatsServer

pytestmark = pytest.mark.slow
SOON_S = 60.0


@pytest.fixture(scope="module", params=["process", "nats"])
def bus_url(request: pytest.FixtureRequest) -> str:
    """One of each kind."""
    if request.param == "process":
        return "process:"
    server: NatsServer = request.getfixturevalue("nats_server")
    return server.url


@pytest.fixture(scope="module")
def bus(bus_url: str) -> Iterator[Bus]:
    """A bus of that kind."""
    opened = open_bus(bus_url)
    yield opened
    opened.close()


@pytest.fixture
def other(bus: Bus, bus_url: str) -> Iterator[Bus]:
    """The bus as another process has it, where there can be one."""
    if not bus.is_shared:
        yield bus
        return
    opened = open_bus(bus_url)
    yield opened
    opened.close()


def test_a_message_reaches_who_listens_with_its_tenant(bus: Bus, other: Bus) -> None:
    """And nobody who listens to something else, or has stopped."""
    heard: list[tuple[str, bytes]] = []
    deaf: list[tuple[str, bytes]] = []
    listening = other.subscribe("grants", lambda *message: heard.append(message))
    other.subscribe("tokens", lambda *message: deaf.append(message))

    bus.publish("acme", "grants", b"1")
    bus.publish("", "grants", b"2")
    until(lambda: len(heard) == 2)
    before = [*heard]
    listening.close()

    def has_stopped() -> bool:
        """Of two messages, one after the other, the second alone has come."""
        heard.clear()
        told = len(deaf)
        bus.publish("acme", "grants", b"3")
        bus.publish("acme", "tokens", b"4")
        until(lambda: len(deaf) > told)
        return not heard

    until(has_stopped)  # A server hears of it a little later.

    assert (before, {*deaf}) == ([("acme", b"1"), ("", b"2")], {("acme", b"4")})


def test_a_listener_that_raises_hears_on(bus: Bus, other: Bus) -> None:
    """What it raises is dropped."""
    heard: list[bytes] = []

    def listen(_: str, payload: bytes) -> None:
        heard.append(payload)
        raise LookupError(payload)

    other.subscribe("raises", listen)
    bus.publish("acme", "raises", b"1")
    bus.publish("acme", "raises", b"2")

    until(lambda: heard == [b"1", b"2"])


def test_an_item_is_put_once_and_handed_out_once(bus: Bus, other: Bus) -> None:
    """However often it is put, and however many pull."""
    queue = bus.queue("acme", "once")
    assert [queue.put(b"do it", item_id="1"), queue.put(b"do it", item_id="1"), queue.put(b"more", item_id="2")] == [
        True,
        False,
        True,
    ]

    first = other.queue("acme", "once").pull(SOON_S)
    second = queue.pull(SOON_S)
    assert first is not None
    assert second is not None
    assert [(one.tenant, one.item_id, one.item, one.exhausted) for one in (first, second)] == [
        ("acme", "1", b"do it", False),
        ("acme", "2", b"more", False),
    ]
    first.ack()
    second.ack()
    assert queue.pull(0.05) is None


def test_tenants_and_names_have_queues_of_their_own(bus: Bus) -> None:
    """The same identifier elsewhere is another item."""
    bus.queue("acme", "apart").put(b"acme", item_id="1")
    bus.queue("zoo", "apart").put(b"zoo", item_id="1")
    bus.queue("", "apart").put(b"nobody", item_id="1")
    bus.queue("acme", "apart2").put(b"apart2", item_id="1")

    pulled = {}
    for tenant, name in (("acme", "apart"), ("zoo", "apart"), ("", "apart"), ("acme", "apart2")):
        delivery = bus.queue(tenant, name).pull(SOON_S)
        assert delivery is not None
        delivery.ack()
        pulled[tenant, name] = (delivery.tenant, delivery.item)
    assert pulled == {
        ("acme", "apart"): ("acme", b"acme"),
        ("zoo", "apart"): ("zoo", b"zoo"),
        ("", "apart"): ("", b"nobody"),
        ("acme", "apart2"): ("acme", b"apart2"),
    }


def test_an_item_that_nobody_finishes_comes_again_until_it_is_exhausted(bus: Bus) -> None:
    """Then it comes once more, only to be reported."""
    queue = bus.queue("acme", "again", ack_wait_s=1, max_deliveries=2)
    queue.put(b"hard", item_id="1")

    seen = []
    for _ in range(3):
        delivery = queue.pull(SOON_S)
        assert delivery is not None
        seen.append(delivery.exhausted)
        if delivery.exhausted:
            delivery.ack()
    assert (seen, queue.pull(1.5)) == ([False, False, True], None)


def test_an_item_goes_to_somebody_else_at_once_when_it_is_given_back(bus: Bus) -> None:
    """Or after the time that was asked for."""
    queue = bus.queue("acme", "back")
    queue.put(b"not me", item_id="1")
    delivery = queue.pull(SOON_S)
    assert delivery is not None
    delivery.nak()
    again = queue.pull(SOON_S)
    assert again is not None
    given_back = time.monotonic()
    again.nak(0.3)
    last = queue.pull(SOON_S)
    assert last is not None
    assert time.monotonic() - given_back >= 0.3
    last.ack()


def test_an_item_that_somebody_works_at_is_theirs(bus: Bus) -> None:
    """For as long as they say so in time."""
    queue = bus.queue("acme", "long", ack_wait_s=4)
    queue.put(b"long", item_id="1")
    delivery = queue.pull(SOON_S)
    assert delivery is not None
    end = time.monotonic() + 5
    while time.monotonic() < end:
        time.sleep(0.1)
        delivery.in_progress()
    assert queue.pull(0.1) is None
    delivery.ack()
    assert queue.pull(4.5) is None


def test_who_waits_gets_what_comes(bus: Bus, other: Bus) -> None:
    """While others put."""
    got: list[bytes] = []

    def wait() -> None:
        delivery = other.queue("acme", "waits").pull(SOON_S)
        assert delivery is not None
        delivery.ack()
        got.append(delivery.item)

    bus.queue("acme", "waits").pull(0.01)
    waiting = threading.Thread(target=wait)
    waiting.start()
    bus.queue("acme", "waits").put(b"here", item_id="1")
    waiting.join(SOON_S)
    assert got == [b"here"]


def test_of_many_that_create_a_key_one_succeeds(bus: Bus, other: Bus) -> None:
    """Its value is what all read, until it is forgotten."""
    outcomes: list[tuple[bool, bytes]] = []

    def create(number: int) -> None:
        value = str(number).encode()
        outcomes.append(((bus, other)[number % 2].create("acme", "claim", value), value))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON_S)

    winners = [value for won, value in outcomes if won]
    assert len(winners) == 1
    assert (bus.get("acme", "claim"), bus.get("zoo", "claim"), bus.get("acme", "no-claim")) == (winners[0], None, None)
    bus.delete("acme", "claim")
    assert bus.get("acme", "claim") is None
    assert other.create("acme", "claim", b"anew")


def test_a_key_expires(bus: Bus) -> None:
    """Then it can be created again."""
    assert bus.create("acme", "brief", b"1", ttl_s=1)
    until(lambda: bus.get("acme", "brief") is None)
    assert bus.create("acme", "brief", b"2", ttl_s=1)


def test_a_lease_has_one_holder_and_a_growing_fence(bus: Bus, other: Bus) -> None:
    """The number of the fence stays while it is renewed, and is higher for who has it next."""
    first = bus.lease("acme", "job", holder="a", ttl_s=30)
    assert first is not None
    assert (other.lease("acme", "job", holder="b", ttl_s=30), bus.lease("zoo", "job", holder="b", ttl_s=30)) != (
        None,
        None,
    )
    assert other.lease("acme", "job", holder="b", ttl_s=30) is None
    assert other.holder("acme", "job") == "a"
    again = other.lease("acme", "job", holder="a", ttl_s=30)
    renewed = bus.renew(first, ttl_s=30)
    assert again is not None
    assert renewed is not None
    assert (again.fence, renewed.fence) == (first.fence, first.fence)

    bus.release(renewed)
    assert bus.holder("acme", "job") is None
    second = other.lease("acme", "job", holder="b", ttl_s=30)
    assert second is not None
    assert second.fence > first.fence
    assert bus.renew(first, ttl_s=30) is None
    bus.release(first)
    assert bus.holder("acme", "job") == "b"
    other.release(second)


def test_a_lease_that_is_not_renewed_is_lost(bus: Bus, other: Bus) -> None:
    """Somebody else has it then, with a higher fence."""
    first = bus.lease("acme", "short", holder="a", ttl_s=1)
    assert first is not None
    until(lambda: other.holder("acme", "short") is None)
    assert bus.renew(first, ttl_s=1) is None
    second = other.lease("acme", "short", holder="b", ttl_s=30)
    assert second is not None
    assert second.fence > first.fence
    other.release(second)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", ">", "-a", "a" * 201])
def test_a_name_that_is_none_is_refused(bus: Bus, name: str) -> None:
    """It could mean other subjects and keys."""
    for use in (
        lambda: bus.publish("acme", name),
        lambda: bus.queue("acme", name),
        lambda: bus.create("acme", name),
        lambda: bus.get("acme", name),
        lambda: bus.lease("acme", name, holder="a", ttl_s=1),
        lambda: bus.get(name or "a.b", "key"),
    ):
        with pytest.raises(ValueError, match="is no name of a bus"):
            use()


def test_a_bus_that_answers_is_well(bus: Bus) -> None:
    """Once it has, which begins with its first use."""
    until(lambda: bus.health() is None)
