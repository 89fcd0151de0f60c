"""Buses: processes that share a store notify each other, distribute work and hold leases."""

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

MAX_ITEM_BYTES = 786_432
"""The largest message, queue item or value, in bytes."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")

OnMessage = Callable[[str, bytes], object]
"""Called with tenant and payload, in a thread of the bus, for one message at a time. Its exceptions are dropped."""


def bus_name(text: str) -> str:
    """Return *text* if it is valid as the name of a tenant, topic, queue, lease or key.

    A name has at most 200 letters, digits, `-` and `_`, and begins with a letter or digit.

    Raises:
        ValueError: *text* is no such name.
    """
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a bus: write letters, digits, `-` and `_`, at most 200.")
    return text


class BusLease(NamedTuple):
    """A lease on a name: until it ends, no other process can hold the same name."""

    tenant: str
    name: str
    holder: str
    fence: int
    """The fencing number: higher than that of each earlier lease of this name; a renewal keeps it."""
    revision: int
    """The bus's own number for this version of the lease."""


class Subscription(Protocol):
    """A subscription to a topic."""

    def close(self) -> None:
        """Unsubscribe."""
        ...


class Delivery(Protocol):
    """An item that a consumer has pulled. The queue redelivers it unless `ack` or `in_progress` is called in time."""

    tenant: str
    item: bytes
    item_id: str
    exhausted: bool
    """Whether the item was delivered as often as the queue permits, and no consumer finished it. Then do not process
    it: report the failure to the process that waits for it, and `ack` it."""

    def ack(self) -> None:
        """Acknowledge that the item is finished; it is never delivered again."""
        ...

    def nak(self, delay_s: float = 0) -> None:
        """Return the item to the queue, to be delivered again after *delay_s* seconds."""
        ...

    def in_progress(self) -> None:
        """Report that the consumer still works on the item: the queue's `ack_wait_s` starts again."""
        ...


class Queue(Protocol):
    """A queue of work items of one tenant. Items outlive the processes that put and pull them."""

    def put(self, item: bytes, /, *, item_id: str) -> bool:
        """Append *item*. Returns False, and puts nothing, if the same *item_id* was put within the last hour."""
        ...

    def pull(self, timeout_s: float) -> Delivery | None:
        """Wait up to *timeout_s* seconds for the next item. No other consumer gets it until it is redelivered."""
        ...


class Bus(Protocol):
    """A message bus. Thread-safe. `bus_name` defines which names and keys are valid; a tenant may be empty.

    Each method except `publish`, `subscribe` and `health` raises `BusUnavailable` if the bus cannot be reached within a
    few seconds.
    """

    is_shared: bool
    """Whether the bus connects this process with others."""

    def publish(self, tenant: str, topic: str, payload: bytes = b"") -> None:
        """Publish a message to all subscribers of *topic*. Never waits; the message is lost if the bus is unavailable.

        A subscriber that must not miss a change also polls a version number in the store, each second.
        """
        ...

    def subscribe(self, topic: str, on_message: OnMessage) -> Subscription:
        """Subscribe to *topic* in all tenants. The bus renews the subscription after it was unavailable."""
        ...

    def queue(self, tenant: str, name: str, *, ack_wait_s: float = 30, max_deliveries: int = 3) -> Queue:
        """Return the queue *name* of *tenant*.

        Args:
            tenant: The tenant that owns the items; empty if there is only one tenant.
            name: Every process must use a name with the same *ack_wait_s* and *max_deliveries*.
            ack_wait_s: How long a consumer may keep an item, in seconds, before it is redelivered; `in_progress` starts
                this time again.
            max_deliveries: How often an item is delivered before it is `exhausted`.
        """
        ...

    def create(self, tenant: str, key: str, value: bytes = b"", *, ttl_s: float = 86_400) -> bool:
        """Write *value* if *key* does not exist, and return whether it did not. Of many callers, only one gets True."""
        ...

    def get(self, tenant: str, key: str) -> bytes | None:
        """Return the value of *key*; None if it does not exist or has expired."""
        ...

    def delete(self, tenant: str, key: str) -> None:
        """Delete *key*."""
        ...

    def lease(self, tenant: str, name: str, *, holder: str, ttl_s: float) -> BusLease | None:
        """Acquire the lease *name* for *ttl_s* seconds, at least 1.

        Returns:
            None if another holder has it. The current holder gets it again.
        """
        ...

    def renew(self, lease: BusLease, *, ttl_s: float) -> BusLease | None:
        """Extend *lease* to *ttl_s* seconds from now; None if it was lost."""
        ...

    def release(self, lease: BusLease) -> None:
        """Release *lease*; does nothing if it was lost."""
        ...

    def holder(self, tenant: str, name: str) -> str | None:
        """Return the holder of the lease *name*; None if it is free."""
        ...

    def health(self) -> str | None:
        """Return why the bus is unavailable, or None. Never waits."""
        ...

    def close(self) -> None:
        """End all subscriptions and release the bus's resources."""
        ...
