"""Buses: how processes that share a store hear of each other, share out work, and agree who does what."""

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

MAX_ITEM_BYTES = 786_432
"""How large a message, an item of a queue or a value may be."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")

OnMessage = Callable[[str, bytes], object]
"""Called with tenant and payload, in a thread of the bus, one message after the other; what it raises is dropped."""


def bus_name(text: str) -> str:
    """*text*, if it can be a tenant's, topic's, queue's, lease's or key's name: a word of letters, digits, `-` and `_`.

    Raises:
        ValueError: It cannot.
    """
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a bus: write letters, digits, `-` and `_`, at most 200.")
    return text


class BusLease(NamedTuple):
    """For a while nobody else has the same name."""

    tenant: str
    name: str
    holder: str
    fence: int
    """Higher than that of each lease of this name before, and the same when it is renewed."""
    revision: int
    """Which writing of it this is; the bus's own."""


class Subscription(Protocol):
    """What hears of messages."""

    def close(self) -> None:
        """Hear of no more."""
        ...


class Delivery(Protocol):
    """An item that was handed out: it comes again, to whoever pulls then, unless it is finished or kept alive in time."""

    tenant: str
    item: bytes
    item_id: str
    exhausted: bool
    """It was handed out as often as the queue permits and nobody finished it. Do not do it: say so where somebody
    waits for it, and `ack` it."""

    def ack(self) -> None:
        """It is finished: nobody gets it again."""
        ...

    def nak(self, delay_s: float = 0) -> None:
        """Hand it to somebody else, after *delay_s*."""
        ...

    def in_progress(self) -> None:
        """Somebody still works at it: the time that the queue gives begins anew."""
        ...


class Queue(Protocol):
    """Items of one tenant that wait for somebody to do them. They outlive whoever put and whoever pulled them."""

    def put(self, item: bytes, /, *, item_id: str) -> bool:
        """Put *item* at the end; whether it was put: not if one with the same *item_id* was, within the last hour."""
        ...

    def pull(self, timeout_s: float) -> Delivery | None:
        """The next item, if one comes within *timeout_s*; nobody else gets it meanwhile."""
        ...


class Bus(Protocol):
    """Safe from many threads. Names and keys are such as `bus_name` gives; a tenant may be empty.

    Each method but `publish`, `subscribe` and `health` raises `BusUnavailable` if the bus cannot be reached in a few seconds.
    """

    is_shared: bool
    """Whether other processes hear and share what is put here."""

    def publish(self, tenant: str, topic: str, payload: bytes = b"") -> None:
        """Tell all that subscribed to *topic*. It never waits, and is lost where the bus is away.

        Who has to know looks, each second, at a version in the store, too.
        """
        ...

    def subscribe(self, topic: str, on_message: OnMessage) -> Subscription:
        """Hear of *topic* in all tenants, from now on; again by itself after the bus was away."""
        ...

    def queue(self, tenant: str, name: str, *, ack_wait_s: float = 30, max_deliveries: int = 3) -> Queue:
        """The queue *name* of *tenant*.

        Args:
            tenant: Whose items; empty where there is one tenant only.
            name: All that put and pull say the same *ack_wait_s* and *max_deliveries* with it.
            ack_wait_s: How long an item that was handed out stays with who has it, unless kept by `in_progress`.
            max_deliveries: How often it is handed out before it is `exhausted`.
        """
        ...

    def create(self, tenant: str, key: str, value: bytes = b"", *, ttl_s: float = 86_400) -> bool:
        """Write *value* if there is no *key* yet, and return whether there was none: of many, one gets a yes."""
        ...

    def get(self, tenant: str, key: str) -> bytes | None:
        """The value of *key*; None if there is none, or none any more."""
        ...

    def delete(self, tenant: str, key: str) -> None:
        """Forget *key*."""
        ...

    def lease(self, tenant: str, name: str, *, holder: str, ttl_s: float) -> BusLease | None:
        """Take the lease *name* for *ttl_s*, at least 1 s; None if somebody else has it. Who has it gets it again."""
        ...

    def renew(self, lease: BusLease, *, ttl_s: float) -> BusLease | None:
        """The same lease for *ttl_s* from now; None if it was lost."""
        ...

    def release(self, lease: BusLease) -> None:
        """Let go of *lease*; nothing happens if it was lost."""
        ...

    def holder(self, tenant: str, name: str) -> str | None:
        """Who has the lease *name*."""
        ...

    def health(self) -> str | None:
        """Why the bus is away, or None. It answers at once."""
        ...

    def close(self) -> None:
        """End all subscriptions and release what is held."""
        ...
