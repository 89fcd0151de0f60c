"""The rate limit of attempts to sign in: per user and per address, counted in the store for all processes together.

An attempt is counted before the password is checked, so simultaneous attempts count, too. Unknown users are counted
like existing users. Names and addresses are hashed to a fixed number of buckets, so that trying many of them cannot
fill the store.
"""

import time
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from toolcharter import AsyncStore, StoreTransaction
from toolcharter_service.auth.records import AttemptRecord
from toolcharter_service.http.problems import HttpProblem

BUCKETS = 65_536


class Rate(NamedTuple):
    """The most attempts at once, and the seconds after which each is forgotten."""

    burst: int
    each_s: float


OF_USER = Rate(10, 30.0)
OF_ADDRESS = Rate(30, 10.0)


class Attempts:
    """The counters of the service as a whole."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def acquire(self, tenant: str, user: str, address: str) -> None:
        """Count an attempt.

        Raises:
            HttpProblem: 429, with `Retry-After`.
            StoreUnavailable: The store does not answer. An attempt that cannot be counted has to be refused.
        """
        rates = {_bucket("user", tenant, user): OF_USER, _bucket("address", network_of(address)): OF_ADDRESS}

        def work(transaction: StoreTransaction) -> float:
            now, wait_s = time.time(), 0.0
            taken: list[AttemptRecord] = []
            for bucket, rate in rates.items():
                known = transaction.get(AttemptRecord, bucket)
                empty = max(known.record.empty if known else 0.0, now) + rate.each_s
                wait_s = max(wait_s, empty - now - rate.burst * rate.each_s)
                taken.append(AttemptRecord(bucket=bucket, empty=empty))
            if wait_s <= 0:
                for record in taken:
                    transaction.put(record)
            return wait_s

        wait_s = await self._store.transact(work)
        if wait_s > 0:
            headers = {"Retry-After": str(int(wait_s) + 1)}
            raise HttpProblem(429, "Too many attempts to sign in.", "too_many_attempts", headers=headers)

    async def forget_user(self, tenant: str, user: str) -> None:
        """Forget a user's failed attempts after a success. The count of the address stays."""
        await self._store.delete(AttemptRecord, _bucket("user", tenant, user))


def network_of(address: str) -> str:
    """Return the network that an address is counted as: for IPv6 its /64, since a client can use all of it."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))
    return str(found)


def _bucket(*names: str) -> str:
    digest = sha256("\0".join(names).encode()).digest()
    return f"{names[0]}:{int.from_bytes(digest[:8]) % BUCKETS}"
