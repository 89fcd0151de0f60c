"""The bus `nats://`: topics are NATS messages; queues, keys and leases are JetStream streams, consumers and buckets.

Each tenant has a stream of queues, `toolcharter-TENANT-queues`, and two buckets, `toolcharter-TENANT-keys` and
`toolcharter-TENANT-leases`. Without a tenant, the name has `_` in its place. Keys and leases expire by the server's
clock.
"""

import math
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import orjson
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription as NatsSubscription
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.api import AckPolicy, ConsumerConfig, KeyValueConfig, RetentionPolicy, StreamConfig
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

from toolcharter import BusLease, BusUnavailable, bus_name
from toolcharter_nats.connection import REQUEST_S, Connection, Server

REMEMBERED_S = 3600.0
"""How long a queue remembers the `item_id` of each item, to drop duplicates, in seconds."""
_WRONG_REVISION = (10071, 10164)
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
T = TypeVar("T")


class NatsBus:
    """A `Bus` on the JetStream of *server*."""

    is_shared = True

    def __init__(self, server: Server) -> None:
        self._connection = Connection(server)
        self._js = self._connection.jetstream
        self._made: set[str] = set()
        """The streams, buckets and consumers that this process has created or found."""
        self._callbacks = ThreadPoolExecutor(1, thread_name_prefix="toolcharter-nats-heard")

    def publish(self, tenant: str, topic: str, payload: bytes = b"") -> None:
        """As `Bus.publish`."""
        subject = f"toolcharter.{_tenant(tenant)}.topic.{bus_name(topic)}"
        self._connection.submit(lambda: self._connection.client.publish(subject, payload))

    def subscribe(self, topic: str, on_message: Callable[[str, bytes], object]) -> "_NatsSubscription":
        """As `Bus.subscribe`."""
        subscription = _NatsSubscription(self._connection)

        def notify_subscriber(tenant: str, payload: bytes) -> None:
            with suppress(Exception):
                on_message(tenant, payload)

        async def on_nats_message(message: Msg) -> None:
            tenant = message.subject.split(".")[1]
            with suppress(RuntimeError):  # The bus is closing.
                self._callbacks.submit(notify_subscriber, "" if tenant == "_" else tenant, message.data)

        async def subscribe_now() -> None:
            subject = f"toolcharter.*.topic.{bus_name(topic)}"
            subscription.inner = await self._connection.client.subscribe(subject, cb=on_nats_message)
            await self._connection.client.flush()

        bus_name(topic)
        try:
            self._connection.run(subscribe_now)
        except BusUnavailable:
            if subscription.inner is None:
                self._connection.on_connect(subscribe_now)
        return subscription

    def queue(self, tenant: str, name: str, *, ack_wait_s: float = 30, max_deliveries: int = 3) -> "_NatsQueue":
        """As `Bus.queue`."""
        return _NatsQueue(self, _tenant(tenant), bus_name(name), ack_wait_s, max_deliveries)

    def create(self, tenant: str, key: str, value: bytes = b"", *, ttl_s: float = 86_400) -> bool:
        """As `Bus.create`."""
        return self._write(tenant, "keys", key, value, ttl_s, last=0) is not None

    def get(self, tenant: str, key: str) -> bytes | None:
        """As `Bus.get`."""
        found = self._read(tenant, "keys", key)
        return None if found is None else found[0]

    def delete(self, tenant: str, key: str) -> None:
        """As `Bus.delete`."""
        bucket = _bucket(tenant, "keys")
        subject = f"$KV.{bucket}.{bus_name(key)}"
        self._with_bucket(bucket, lambda: self._js.purge_stream(f"KV_{bucket}", subject=subject))

    def lease(self, tenant: str, name: str, *, holder: str, ttl_s: float) -> BusLease | None:
        """As `Bus.lease`."""
        found = self._read(tenant, "leases", name)
        held = BusLease(tenant, name, "", 0, 0) if found is None else _lease(tenant, name, *found)
        if held.holder not in {"", holder}:
            return None
        revision = self._write(
            tenant, "leases", name, _document(held._replace(holder=holder)), ttl_s, last=held.revision
        )
        if revision is None:
            return None
        return BusLease(tenant, name, holder, held.fence or revision, revision)

    def renew(self, lease: BusLease, *, ttl_s: float) -> BusLease | None:
        """As `Bus.renew`."""
        found = self._read(lease.tenant, "leases", lease.name)
        held = None if found is None else _lease(lease.tenant, lease.name, *found)
        if held is None or (held.fence, held.holder) != (lease.fence, lease.holder):
            return None
        revision = self._write(lease.tenant, "leases", lease.name, _document(held), ttl_s, last=held.revision)
        return None if revision is None else held._replace(revision=revision)

    def release(self, lease: BusLease) -> None:
        """As `Bus.release`."""
        found = self._read(lease.tenant, "leases", lease.name)
        held = None if found is None else _lease(lease.tenant, lease.name, *found)
        if held is not None and held.fence == lease.fence:
            free = _document(BusLease(lease.tenant, lease.name, "", 0, 0))
            self._write(lease.tenant, "leases", lease.name, free, 1, last=held.revision)

    def holder(self, tenant: str, name: str) -> str | None:
        """As `Bus.holder`."""
        found = self._read(tenant, "leases", name)
        return None if found is None else _lease(tenant, name, *found).holder or None

    def health(self) -> str | None:
        """As `Bus.health`."""
        return self._connection.health()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        self._callbacks.shutdown(wait=False, cancel_futures=True)

    def run(
        self, name: str, make: Callable[[], Awaitable[object]], work: Callable[[], Awaitable[T]], wait_s: float = 0
    ) -> T:
        """Run *work* and return its result.

        Args:
            name: The stream, bucket or consumer that *work* uses.
            make: Creates it on the first use, and once more if the server has lost it; then *work* is retried.
            work: Uses it.
            wait_s: How long *work* may wait in addition to the time limit of a request, in seconds.

        Raises:
            BusUnavailable: The server is unreachable or does not answer.
        """

        async def make_and_run() -> T:
            if name not in self._made:
                await make()
                self._made.add(name)
            try:
                return await work()
            except (NotFoundError, NoStreamResponseError):
                await make()
                return await work()

        return self._connection.run(make_and_run, REQUEST_S + wait_s)

    def stream_config(self, **settings: Any) -> StreamConfig:
        """Return the configuration of a stream, with the number of replicas from the URL."""
        return StreamConfig(num_replicas=self._connection.server.replicas, **settings)

    @property
    def connection(self) -> Connection:
        """The connection to the server."""
        return self._connection

    def _with_bucket(self, bucket: str, work: Callable[[], Awaitable[T]]) -> T:
        config = KeyValueConfig(bucket=bucket, history=1, replicas=self._connection.server.replicas)
        return self.run(bucket, lambda: self._js.create_key_value(config), work)

    def _write(self, tenant: str, kind: str, key: str, value: bytes, ttl_s: float, *, last: int) -> int | None:
        """Write a key if its latest revision is *last* (0: it does not exist). Return the new revision, or None."""
        bucket = _bucket(tenant, kind)
        subject = f"$KV.{bucket}.{bus_name(key)}"

        async def write() -> int | None:
            try:
                headers = {_EXPECTED: str(last)}
                written = await self._js.publish(subject, value, headers=headers, msg_ttl=max(1, math.ceil(ttl_s)))
            except APIError as error:
                if error.err_code in _WRONG_REVISION:
                    return None
                raise
            return written.seq

        return self._with_bucket(bucket, write)

    def _read(self, tenant: str, kind: str, key: str) -> tuple[bytes, int] | None:
        bucket = _bucket(tenant, kind)
        subject = f"$KV.{bucket}.{bus_name(key)}"

        async def read() -> tuple[bytes, int] | None:
            try:
                found = await self._js.get_msg(f"KV_{bucket}", subject=subject)
            except NotFoundError as error:
                if error.err_code == 10037:  # No message; otherwise there is no bucket.  # noqa: PLR2004
                    return None
                raise
            return found.data or b"", found.seq or 0

        return self._with_bucket(bucket, read)


class _NatsSubscription:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.inner: NatsSubscription | None = None

    def close(self) -> None:
        """Stop receiving messages."""
        inner, self.inner = self.inner, None
        if inner is not None:
            self._connection.submit(inner.unsubscribe)


class _NatsQueue:
    """One subject of the tenant's stream of queues, and the consumer that distributes its items."""

    def __init__(self, bus: NatsBus, tenant: str, name: str, ack_wait_s: float, max_deliveries: int) -> None:
        self._bus, self._name, self._ack_wait_s, self._max_deliveries = bus, name, ack_wait_s, max_deliveries
        self._tenant = "" if tenant == "_" else tenant
        self._stream = f"toolcharter-{tenant}-queues"
        self._subject = f"toolcharter.{tenant}.queue.{name}"
        self._all = f"toolcharter.{tenant}.queue.*"

    def put(self, item: bytes, /, *, item_id: str) -> bool:
        """As `Queue.put`."""
        headers = {"Nats-Msg-Id": f"{self._name}/{item_id}", "Toolcharter-Item": item_id}
        js = self._bus.connection.jetstream
        put = self._bus.run(
            self._stream,
            self._make_stream,
            lambda: js.publish(self._subject, item, stream=self._stream, headers=headers),
        )
        return not put.duplicate

    def pull(self, timeout_s: float) -> "_NatsDelivery | None":
        """As `Queue.pull`."""

        async def fetch() -> Msg | None:
            subscription = await self._bus.connection.jetstream.pull_subscribe_bind(self._name, stream=self._stream)
            try:
                return (await subscription.fetch(1, timeout=max(0.05, timeout_s)))[0]
            except (NatsTimeoutError, TimeoutError):
                return None
            finally:
                await subscription.unsubscribe()

        message = self._bus.run(f"{self._stream}/{self._name}", self._make_consumer, fetch, timeout_s)
        if message is None:
            return None
        return _NatsDelivery(self._bus.connection, message, self._tenant, self._max_deliveries)

    async def _make_stream(self) -> None:
        config = self._bus.stream_config(
            name=self._stream,
            subjects=[self._all],
            retention=RetentionPolicy.WORK_QUEUE,
            duplicate_window=REMEMBERED_S,
        )
        await self._bus.connection.jetstream.add_stream(config)

    async def _make_consumer(self) -> None:
        await self._make_stream()
        config = ConsumerConfig(
            durable_name=self._name,
            filter_subject=self._subject,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=self._ack_wait_s,
            max_ack_pending=10_000,
        )
        await self._bus.connection.jetstream.add_consumer(self._stream, config)


class _NatsDelivery:
    def __init__(self, connection: Connection, message: Msg, tenant: str, max_deliveries: int) -> None:
        self._connection, self._message = connection, message
        self.tenant, self.item = tenant, message.data
        self.item_id = (message.headers or {}).get("Toolcharter-Item", "")
        self.exhausted = message.metadata.num_delivered > max_deliveries

    def ack(self) -> None:
        """As `Delivery.ack`."""
        self._connection.run(lambda: _await_answer(self._message.ack_sync(REQUEST_S)))

    def nak(self, delay_s: float = 0) -> None:
        """As `Delivery.nak`."""
        self._connection.run(lambda: _await_answer(self._message.nak(delay_s or None)))

    def in_progress(self) -> None:
        """As `Delivery.in_progress`."""
        self._connection.run(self._message.in_progress)


async def _await_answer(answer: Coroutine[Any, Any, object]) -> None:
    await answer


def _tenant(tenant: str) -> str:
    return bus_name(tenant) if tenant else "_"


def _bucket(tenant: str, kind: str) -> str:
    return f"toolcharter-{_tenant(tenant)}-{kind}"


def _document(lease: BusLease) -> bytes:
    return orjson.dumps({"holder": lease.holder, "fence": lease.fence})


def _lease(tenant: str, name: str, document: bytes, revision: int) -> BusLease:
    """Parse a lease. Its fence is the revision of its first writing, which could not contain its own revision.

    Raises:
        BusUnavailable: Another program has written the key.
    """
    held = _parse_document(document)
    holder, fence = held.get("holder"), held.get("fence")
    if not isinstance(holder, str) or not isinstance(fence, int):
        raise BusUnavailable(f"The lease {name!r} was written by another program: its holder is unknown.")
    return BusLease(tenant, name, holder, (fence or revision) if holder else 0, revision)


def _parse_document(document: bytes) -> dict[str, Any]:
    with suppress(orjson.JSONDecodeError):
        told = orjson.loads(document)
        if isinstance(told, dict):
            return told
    return {}
