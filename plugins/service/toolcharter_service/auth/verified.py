"""`VerifiedCredentials`: a cache of the principals of tokens and sessions, kept until the store reports a change.

A cached token costs a hash and a dictionary look-up. Unknown tokens are not cached: wrong tokens, however many, cannot
displace valid ones.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from toolcharter import AsyncStore, StoreConflict, StoreUnavailable
from toolcharter_service.auth.principal import Principal
from toolcharter_service.auth.records import SessionRecord, TokenRecord, UserRecord

POLL_S = 0.4
"""The pause between two polls of the store for changes, in seconds. With the polls, that is about twice a second."""
MAX_VERIFIED = 10_000
ReadCredential = Callable[[str], Awaitable["VerifiedCredential | None"]]
"""Reads the credential with a digest from the store."""
_WATCHED = (TokenRecord, UserRecord, SessionRecord)


class VerifiedCredential(NamedTuple):
    """A credential from the store."""

    principal: Principal
    expires: float
    """In seconds since 1970."""
    user: tuple[str, str] | None = None
    """The tenant and name of the user on whose record it depends; None if it depends on none."""
    renew_at: float = float("inf")
    """When its next use has to be recorded, in seconds since 1970."""


class VerifiedCredentials:
    """The cache of one process.

    Args:
        store: The records of the service as a whole.
        stale_s: How long cached credentials stay valid while the store does not answer, in seconds.
    """

    def __init__(self, store: AsyncStore, stale_s: float) -> None:
        self._store = store
        self._stale_s = stale_s
        self._cached: dict[str, VerifiedCredential] = {}
        self._seen: int | None = None
        """The number of the latest change that this process has read; None before the first poll."""
        self._epoch = 0
        """Grows whenever an entry is dropped."""
        self._fresh_until = 0.0
        self._poll_requested = asyncio.Event()
        self._catch_up_lock = asyncio.Lock()

    def find(self, digest: str) -> VerifiedCredential | None:
        """Return the cached credential; None if the store has to be asked."""
        cached = self._cached.get(digest)
        if cached is None or time.monotonic() > self._fresh_until:
            return None
        return cached

    async def load(self, digest: str, read: ReadCredential) -> VerifiedCredential | None:
        """Read a credential from the store, and cache it.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        epoch, is_watching = self._epoch, self._seen is not None
        found = await read(digest)
        # If an entry was dropped meanwhile, it may be this one, and *found* may be outdated: not cached.
        if found is not None and is_watching and epoch == self._epoch:
            while len(self._cached) >= MAX_VERIFIED:
                del self._cached[next(iter(self._cached))]
            self._cached[digest] = found
        return found

    def postpone(self, digest: str, renew_at: float) -> None:
        """Set when the use of a credential has to be recorded next, so that not every request records it."""
        cached = self._cached.get(digest)
        if cached is not None:
            self._cached[digest] = cached._replace(renew_at=renew_at)

    def forget(self, digest: str) -> None:
        """Drop a credential from the cache: its next use reads the store."""
        self._epoch += 1
        self._cached.pop(digest, None)

    def poll_now(self) -> None:
        """Poll the store now: another process has announced a change."""
        self._poll_requested.set()

    async def poll_changes(self) -> None:
        """Poll the store for changes until cancelled. If it does not answer for too long, cached credentials expire."""
        while True:
            with suppress(StoreUnavailable):
                await self.catch_up()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._poll_requested.wait()
            self._poll_requested.clear()

    async def catch_up(self) -> None:
        """Read the changes from the store once, and drop the changed credentials.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        async with self._catch_up_lock:
            asked = time.monotonic()
            last = await self._store.last_change()
            if self._seen is None or last < self._seen:  # the first poll, or the store was replaced
                self._forget_all()
                self._seen = last
            while self._seen < last:
                try:
                    changes = await self._store.changes(self._seen, models=_WATCHED)
                except StoreConflict:  # the store no longer knows all deletions, for instance after a restore
                    self._forget_all()
                    self._seen = last
                    break
                for change in changes:
                    if change.kind == UserRecord.store_kind.name:
                        self._forget_user(change.key)
                    else:
                        self.forget(change.key[0])
                self._seen = changes[-1].seq if changes else last
            self._fresh_until = asked + self._stale_s + 2 * POLL_S

    def _forget_user(self, key: tuple[str, ...]) -> None:
        self._epoch += 1
        for digest in [digest for digest, one in self._cached.items() if one.user == key]:
            del self._cached[digest]

    def _forget_all(self) -> None:
        self._epoch += 1
        self._cached.clear()
