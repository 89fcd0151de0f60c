"""The bus `process:`: an in-memory bus for one process. State that must outlive the process belongs in the store."""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count

from toolcharter import Bus, BusLease, bus_name, hookimpl

REMEMBERED_S = 3600.0
"""How long a queue remembers the `item_id` of each item, to drop duplicates, in seconds."""
_MANY = 10_000
"""The number of keys from which expired keys are removed."""
_Message = tuple[str, str, bytes]


@hookimpl
def open_bus(url: str) -> Bus:
    """Return a new bus for `process:`.

    Raises:
        ValueError: Something follows the scheme.
    """
    if url != "process:":
        raise ValueError("write `process:` alone")
    return ProcessBus()


class ProcessBus:
    """A `Bus` between the threads of this process."""

    is_shared = False

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._subscribers: dict[str, list[Callable[[str, bytes], object]]] = {}
        self._messages: deque[_Message] = deque()
        self._dispatcher: threading.Thread | None = None
        self._queues: dict[tuple[str, str], _ProcessQueue] = {}
        self._values: dict[tuple[str, str], tuple[bytes, float]] = {}
        self._leases: dict[tuple[str, str], tuple[BusLease, float]] = {}
        self._fences = count(1)
        self._closed = False

    def publish(self, tenant: str, topic: str, payload: bytes = b"") -> None:
        """As `Bus.publish`."""
        _require_names(tenant, topic)
        with self._lock:
            if self._closed or topic not in self._subscribers:
                return
            self._messages.append((tenant, topic, payload))
            self._lock.notify_all()
            if self._dispatcher is None or not self._dispatcher.is_alive():
                self._dispatcher = threading.Thread(target=self._dispatch, name="toolcharter-bus", daemon=True)
                self._dispatcher.start()

    def subscribe(self, topic: str, on_message: Callable[[str, bytes], object]) -> "_ProcessSubscription":
        """As `Bus.subscribe`."""
        _require_names("", topic)
        with self._lock:
            self._subscribers[topic] = [*self._subscribers.get(topic, ()), on_message]
        return _ProcessSubscription(self, topic, on_message)

    def unsubscribe(self, topic: str, on_message: Callable[[str, bytes], object]) -> None:
        """Remove a subscriber."""
        with self._lock:
            left = [each for each in self._subscribers.pop(topic, ()) if each is not on_message]
            if left:
                self._subscribers[topic] = left

    def _dispatch(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._messages or self._closed)
                if self._closed:
                    return
                tenant, topic, payload = self._messages.popleft()
                subscribers = tuple(self._subscribers.get(topic, ()))
            for on_message in subscribers:
                with suppress(Exception):
                    on_message(tenant, payload)

    def queue(self, tenant: str, name: str, *, ack_wait_s: float = 30, max_deliveries: int = 3) -> "_ProcessQueue":
        """As `Bus.queue`."""
        _require_names(tenant, name)
        with self._lock:
            known = self._queues.get((tenant, name))
            if known is None:
                known = self._queues[tenant, name] = _ProcessQueue(tenant, ack_wait_s, max_deliveries)
            return known

    def create(self, tenant: str, key: str, value: bytes = b"", *, ttl_s: float = 86_400) -> bool:
        """As `Bus.create`."""
        _require_names(tenant, key)
        now = time.monotonic()
        with self._lock:
            if len(self._values) > _MANY:
                self._values = {name: kept for name, kept in self._values.items() if kept[1] > now}
            if self._values.get((tenant, key), (b"", now))[1] > now:
                return False
            self._values[tenant, key] = (value, now + ttl_s)
            return True

    def get(self, tenant: str, key: str) -> bytes | None:
        """As `Bus.get`."""
        _require_names(tenant, key)
        with self._lock:
            value, expires = self._values.get((tenant, key), (None, 0.0))
            return value if expires > time.monotonic() else None

    def delete(self, tenant: str, key: str) -> None:
        """As `Bus.delete`."""
        _require_names(tenant, key)
        with self._lock:
            self._values.pop((tenant, key), None)

    def lease(self, tenant: str, name: str, *, holder: str, ttl_s: float) -> BusLease | None:
        """As `Bus.lease`."""
        _require_names(tenant, name)
        now = time.monotonic()
        with self._lock:
            held, expires = self._leases.get((tenant, name), (None, 0.0))
            if held is not None and expires > now:
                if held.holder != holder:
                    return None
                lease = held._replace(revision=next(self._fences))
            else:
                fence = next(self._fences)
                lease = BusLease(tenant, name, holder, fence, fence)
            self._leases[tenant, name] = (lease, now + ttl_s)
            return lease

    def renew(self, lease: BusLease, *, ttl_s: float) -> BusLease | None:
        """As `Bus.renew`."""
        with self._lock:
            held, expires = self._leases.get((lease.tenant, lease.name), (None, 0.0))
            if held is None or held.fence != lease.fence or expires <= time.monotonic():
                return None
            self._leases[lease.tenant, lease.name] = (held, time.monotonic() + ttl_s)
            return held

    def release(self, lease: BusLease) -> None:
        """As `Bus.release`."""
        with self._lock:
            held, _ = self._leases.get((lease.tenant, lease.name), (None, 0.0))
            if held is not None and held.fence == lease.fence:
                del self._leases[lease.tenant, lease.name]

    def holder(self, tenant: str, name: str) -> str | None:
        """As `Bus.holder`."""
        _require_names(tenant, name)
        with self._lock:
            held, expires = self._leases.get((tenant, name), (None, 0.0))
            return held.holder if held is not None and expires > time.monotonic() else None

    def health(self) -> str | None:
        """As `Bus.health`: only a closed bus is unhealthy."""
        return "it is closed" if self._closed else None

    def close(self) -> None:
        """Stop delivering messages."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()


class _ProcessSubscription:
    def __init__(self, bus: ProcessBus, topic: str, on_message: Callable[[str, bytes], object]) -> None:
        self._bus, self._topic, self._on_message = bus, topic, on_message

    def close(self) -> None:
        """Stop receiving messages."""
        self._bus.unsubscribe(self._topic, self._on_message)


class _Item:
    """An item of a queue and its delivery state."""

    def __init__(self, item: bytes, item_id: str) -> None:
        self.item, self.item_id = item, item_id
        self.deliveries = 0
        self.token = 0
        """The number of the latest delivery; 0 while it waits."""
        self.due = 0.0


class _ProcessQueue:
    def __init__(self, tenant: str, ack_wait_s: float, max_deliveries: int) -> None:
        self._tenant, self._ack_wait_s, self._max_deliveries = tenant, ack_wait_s, max_deliveries
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, _Item]] = []
        """A heap of waiting items and of redeliveries, by their due time."""
        self._numbers = count(1)
        self._known: dict[str, float] = {}

    def put(self, item: bytes, /, *, item_id: str) -> bool:
        """As `Queue.put`."""
        now = time.monotonic()
        with self._changed:
            for old in [name for name, until in self._known.items() if until <= now][:100]:
                del self._known[old]
            if item_id in self._known:
                return False
            self._known[item_id] = now + REMEMBERED_S
            self.schedule(_Item(item, item_id), 0.0)
            return True

    def schedule(self, item: _Item, due: float) -> None:
        """Make *item* available from *due* on. The caller holds the lock."""
        item.due, item.token = due, 0
        heappush(self._due, (due, next(self._numbers), item))
        self._changed.notify()

    def pull(self, timeout_s: float) -> "_ProcessDelivery | None":
        """As `Queue.pull`."""
        until = time.monotonic() + timeout_s
        with self._changed:
            while True:
                now = time.monotonic()
                while self._due and self._due[0][2].due != self._due[0][0]:
                    heappop(self._due)  # It is finished, or is due at another time now.
                if self._due and self._due[0][0] <= now:
                    return self._hand_out(heappop(self._due)[2], now)
                if now >= until:
                    return None
                self._changed.wait(min(until, self._due[0][0] if self._due else until) - now)

    def _hand_out(self, item: _Item, now: float) -> "_ProcessDelivery":
        item.deliveries += 1
        due = now + self._ack_wait_s
        self.schedule(item, due)
        item.token = next(self._numbers)
        return _ProcessDelivery(self, item, self._tenant, exhausted=item.deliveries > self._max_deliveries)

    def settle(self, item: _Item, token: int, due: float | None) -> None:
        """Deliver *item* again at *due*, or never if it is None, unless *token* is outdated by a later delivery."""
        with self._changed:
            if item.token != token:
                return
            if due is None:
                item.due, item.token = -1.0, -1
            else:
                self.schedule(item, due)

    def extend(self, item: _Item, token: int) -> None:
        """Restart the acknowledgement deadline of *item*, unless *token* is outdated by a later delivery."""
        with self._changed:
            if item.token == token:
                self.schedule(item, time.monotonic() + self._ack_wait_s)
                item.token = token


class _ProcessDelivery:
    def __init__(self, queue: _ProcessQueue, item: _Item, tenant: str, *, exhausted: bool) -> None:
        self.tenant, self.item, self.item_id, self.exhausted = tenant, item.item, item.item_id, exhausted
        self._queue, self._item, self._token = queue, item, item.token

    def ack(self) -> None:
        """As `Delivery.ack`."""
        self._queue.settle(self._item, self._token, None)

    def nak(self, delay_s: float = 0) -> None:
        """As `Delivery.nak`."""
        self._queue.settle(self._item, self._token, time.monotonic() + delay_s)

    def in_progress(self) -> None:
        """As `Delivery.in_progress`."""
        self._queue.extend(self._item, self._token)


def _require_names(tenant: str, name: str) -> None:
    bus_name(name)
    if tenant:
        bus_name(tenant)
