"""Lanes: nobody waits for a destination, and what does not arrive is counted."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from toolcharter.api.channel import Pause
from toolcharter.errors import NotDelivered
from toolcharter.events.delivery import DeliveryQueue, Losses

PATIENCE_S = 60
"""How long a test waits for what must happen; it never does when all is well."""


class Held:
    """A sender that delivers each item when it is let go."""

    def __init__(self) -> None:
        self.arrived = threading.Semaphore(0)
        self.let_go = threading.Event()
        self.sent: list[Any] = []
        self.closed = threading.Event()

    def send(self, item: Any, pause: Pause) -> None:
        self.arrived.release()
        assert self.let_go.wait(PATIENCE_S)
        if isinstance(item, BaseException):
            raise item
        self.sent.append(item)

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def held() -> Iterator[Held]:
    sender = Held()
    yield sender
    sender.let_go.set()  # no thread outlives its test


def told(losses: Losses) -> tuple[int, str]:
    return losses.count, str(losses.last_error)


def test_close_waits_for_what_is_under_way(held: Held) -> None:
    """Everything that was offered arrives, in order, and nothing was lost."""
    losses = Losses()
    queue = DeliveryQueue[str](lambda: held, losses)
    for item in ("a", "b", "c"):
        queue.offer(item)
    held.arrived.acquire()
    threading.Timer(0.01, held.let_go.set).start()

    queue.close(PATIENCE_S)

    assert (held.sent, told(losses)) == (["a", "b", "c"], (0, "None"))
    assert held.closed.wait(PATIENCE_S)


def test_a_full_queue_loses_what_comes_next(held: Held) -> None:
    """Up to the limit items wait beside the one in hand; another is counted, and its offerer goes on."""
    losses = Losses()
    queue = DeliveryQueue[str](lambda: held, losses, limit=2)
    queue.offer("in hand")
    held.arrived.acquire()

    for item in ("waits", "waits too", "one too many"):
        queue.offer(item)
    before = told(losses)
    held.let_go.set()
    queue.close(PATIENCE_S)

    assert before == (1, "2 items are waiting already")
    assert (held.sent, losses.count) == (["in hand", "waits", "waits too"], 1)


def test_what_is_left_at_the_end_is_lost(held: Held) -> None:
    """Time is up: the item in hand and those behind it count once, whatever becomes of them later."""
    losses = Losses()
    queue = DeliveryQueue[Any](lambda: held, losses)
    for item in (RuntimeError("late"), "b", "c"):
        queue.offer(item)
    held.arrived.acquire()

    queue.close(0)
    queue.close(0)
    queue.offer("after the end")
    held.let_go.set()
    assert held.closed.wait(PATIENCE_S)

    assert (held.sent, told(losses)) == ([], (4, "closed"))


def test_the_end_wakes_a_sender_that_pauses() -> None:
    """A sender between two attempts learns that there is no point in going on."""
    pausing, woken = threading.Event(), list[bool]()
    closed = threading.Event()

    class Pausing:
        def send(self, item: str, pause: Pause) -> None:
            pausing.set()
            woken.append(pause(PATIENCE_S * 10))

        def close(self) -> None:
            closed.set()

    losses = Losses()
    queue = DeliveryQueue[str](Pausing, losses)
    queue.offer("a")
    assert pausing.wait(PATIENCE_S)

    queue.close(0)
    assert closed.wait(PATIENCE_S)

    assert (woken, told(losses)) == ([True], (1, "1 items were not delivered before the end"))


@pytest.mark.parametrize(
    "error", [NotDelivered("refused"), SystemExit("leave")], ids=lambda error: type(error).__name__
)
def test_an_item_that_cannot_be_delivered_stops_no_other(error: BaseException, held: Held) -> None:
    """It is counted with its error, which holds on to no frames; the next one is delivered."""
    losses = Losses()
    queue = DeliveryQueue[Any](lambda: held, losses)
    held.let_go.set()

    queue.offer(error)
    queue.offer("b")
    queue.close(PATIENCE_S)

    assert (held.sent, losses.count, losses.last_error) == (["b"], 1, error)
    assert error.__traceback__ is None


def test_a_sender_that_cannot_be_opened_is_tried_again(held: Held) -> None:
    """What could not be opened for one item may be for the next."""
    losses = Losses()
    missing = [OSError("no such file")]

    def open_sender() -> Held:
        if missing:
            raise missing.pop()
        return held

    queue = DeliveryQueue[str](open_sender, losses)
    held.let_go.set()

    queue.offer("a")
    queue.offer("b")
    queue.close(PATIENCE_S)

    assert (held.sent, told(losses)) == (["b"], (1, "no such file"))


def test_a_sender_that_can_never_be_opened() -> None:
    """Each item counts as lost, and closing does not wait for any."""
    losses = Losses()
    queue = DeliveryQueue[str](lambda: (_ for _ in ()).throw(OSError("no such file")), losses)

    queue.offer("a")
    queue.close(PATIENCE_S)

    assert (queue._worker, told(losses)) == (None, (1, "no such file"))


def test_a_thread_that_only_lingers_has_nothing_to_lose() -> None:
    """No time to see the thread end: what counts is what it has not delivered."""
    losses = Losses()
    queue = DeliveryQueue[str](Held, losses)
    queue._worker = threading.current_thread()

    queue.close(0)

    assert told(losses) == (0, "None")


def test_an_idle_thread_ends_and_the_next_item_starts_another() -> None:
    """A queue that nobody closes leaves no thread behind."""
    threads: list[threading.Thread] = []
    closed = threading.Semaphore(0)

    class Noting:
        def send(self, item: str, pause: Pause) -> None:
            threads.append(threading.current_thread())

        def close(self) -> None:
            closed.release()

    queue = DeliveryQueue[str](Noting, Losses(), linger_s=0)

    for item in ("a", "b"):
        queue.offer(item)
        assert closed.acquire(timeout=PATIENCE_S)
    queue.close(PATIENCE_S)

    assert len(set(threads)) == 2
    assert all(thread.daemon for thread in threads)


def test_no_thread_can_be_started(held: Held, monkeypatch) -> None:
    """The item is counted as lost; the next one tries again."""
    losses = Losses()
    queue = DeliveryQueue[str](lambda: held, losses)
    held.let_go.set()

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", lambda _: (_ for _ in ()).throw(RuntimeError("no more threads")))
        queue.offer("a")
    queue.offer("b")
    queue.close(PATIENCE_S)

    assert (held.sent, told(losses)) == (["b"], (1, "no more threads"))


def test_closing_a_lane_that_was_never_used() -> None:
    """Nothing was started, so there is nothing to wait for."""
    losses = Losses()
    queue = DeliveryQueue[str](Held, losses)

    queue.close(PATIENCE_S)

    assert (queue._worker, told(losses)) == (None, (0, "None"))
