"""Streams of pieces over a bus: in order, bounded, and whole whatever happens to the messages about them."""

import threading
import time
from collections.abc import Iterator

import pytest

from toolcharter import BusUnavailable
from toolcharter_service.workers.pieces import CALLER, WINDOW, WORKER, StreamEndpoint, Waker
from toolcharter_service.workers.process_bus import ProcessBus


class Sides:
    """Both, on one bus, whose keys can be away."""

    def __init__(self) -> None:
        self.bus = ProcessBus()
        self.wakers = Waker(), Waker()
        self.caller = StreamEndpoint(self.bus, "acme", "1", CALLER, self.wakers[0])
        self.worker = StreamEndpoint(self.bus, "acme", "1", WORKER, self.wakers[1])

    def close(self) -> None:
        """Release all."""
        for part in (self.caller, self.worker, *self.wakers, self.bus):
            part.close()


@pytest.fixture
def sides() -> Iterator[Sides]:
    """Of one job."""
    made = Sides()
    yield made
    made.close()


def test_a_writer_waits_for_its_reader(sides: Sides) -> None:
    """Never more than the window is on its way, and each message of what was read makes room and rings."""
    writer, reader = sides.worker.writer("out"), sides.caller.reader("out")
    for number in range(WINDOW):
        assert writer.has_room
        writer.put(b"%d" % number)
    assert not writer.has_room

    assert [reader.next(), reader.next()] == [b"0", b"1"]
    sides.wakers[1].wait(10)
    end = time.monotonic() + 10
    while not writer.has_room:
        assert time.monotonic() < end
        sides.wakers[1].wait(0.1)
    writer.put(b"%d" % WINDOW)
    reader.poll()
    assert [reader.next() for _ in range(WINDOW)] == [b"%d" % number for number in range(2, WINDOW + 1)] + [None]


def test_what_no_message_told_of_is_found_at_the_next_look(sides: Sides) -> None:
    """And what was read is said again then."""
    reader = sides.caller.reader("out")
    assert reader.next() is None
    sides.caller.close()
    writer = sides.worker.writer("out")
    for number in range(WINDOW):
        writer.put(b"%d" % number)
    assert reader.next() is None
    sides.worker.close()
    reader.poll()
    assert reader.next() == b"0"

    sides.caller = StreamEndpoint(sides.bus, "acme", "1", CALLER, sides.wakers[0])
    sides.worker = StreamEndpoint(sides.bus, "acme", "1", WORKER, sides.wakers[1])
    late = sides.worker.writer("out")
    heard = threading.Event()
    sides.bus.subscribe("job-1-worker", lambda _, payload: heard.set() if payload == b"read out 1" else None)
    while reader.next() is not None:
        pass
    heard.clear()
    sides.caller.notify("read", "out", 1)
    assert heard.wait(10)
    assert late.has_room


def test_a_piece_that_may_have_been_put_is_put_once(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bus answers too late: the same piece is put again, and comes once; forgetting that fails is made good."""
    writer, reader = sides.worker.writer("out"), sides.caller.reader("out")
    create, delete = sides.bus.create, sides.bus.delete

    def late(*args: object, **more: object) -> bool:
        create(*args, **more)  # type: ignore[arg-type]
        raise BusUnavailable("late")

    def away(*_: object) -> None:
        raise BusUnavailable("away")

    monkeypatch.setattr(sides.bus, "create", late)
    with pytest.raises(BusUnavailable):
        writer.put(b"a")
    monkeypatch.setattr(sides.bus, "create", create)
    writer.put(b"a")
    writer.put(b"b")
    monkeypatch.setattr(sides.bus, "delete", away)
    assert reader.next() == b"a"
    with pytest.raises(BusUnavailable):
        reader.next()
    monkeypatch.setattr(sides.bus, "delete", delete)
    assert [reader.next(), reader.next()] == [b"b", None]
    assert [sides.bus.get("acme", f"out-1-{number}") for number in (0, 1)] == [None, None]


def test_what_nobody_reads_is_dropped(sides: Sides) -> None:
    """By its writer, or by its reader."""
    for name in ("in", "out"):
        writer = sides.worker.writer(name)
        writer.put(b"a")
        writer.put(b"b")
    sides.worker.writer("out").drop()
    sides.caller.reader("in").drop()
    keys = [f"{name}-1-{number}" for name in ("in", "out") for number in (0, 1)]
    assert [sides.bus.get("acme", key) for key in keys] == [None] * 4


def test_messages_of_others_say_nothing(sides: Sides) -> None:
    """Of another tenant, or not understood."""
    reader = sides.caller.reader("out")
    assert reader.next() is None
    told = threading.Event()
    sides.bus.subscribe("job-1-caller", lambda *_: told.set())
    sides.bus.publish("zoo", "job-1-caller", b"new out 1")
    sides.bus.publish("acme", "job-1-caller", b"what")
    sides.bus.publish("acme", "job-1-caller", b"new other 1")
    assert told.wait(10)
    assert not reader.is_due


def test_a_bell_that_rang_before_is_heard(sides: Sides) -> None:
    """Once; and ringing a closed one does nothing."""
    waker = sides.wakers[0]
    for _ in range(100_000):
        waker.wake()
    began = time.monotonic()
    waker.wait(30)
    assert time.monotonic() - began < 20
    waker.close()
    waker.wake()
