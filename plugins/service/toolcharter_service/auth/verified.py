"""`VerifiedCredentials`: who stands behind tokens and sessions, remembered until the store says that they have changed.

A token that is known costs a hash and a look into a dictionary. What is not known is not remembered: however many wrong
tokens come, none of them takes the place of a right one.
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
"""How often the store is asked whether anything has changed: twice a second and a little, since that takes time, too."""
MAX_VERIFIED = 10_000
Read = Callable[[str], Awaitable["Verified | None"]]
"""Asks the store for the credential with a digest."""
_WATCHED = (TokenRecord, UserRecord, SessionRecord)


class Verified(NamedTuple):
    """A credential that was found in the store."""

    principal: Principal
    expires: float
    """In seconds since 1970."""
    user: tuple[str, str] | None = None
    """Tenant and name of the user whose record it depends on."""
    renew: float = float("inf")
    """From when its use is to be written down, in seconds since 1970."""


class VerifiedCredentials:
    """One process's.

    Args:
        store: The records of the service as a whole.
        stale_s: How long what is known holds while the store does not answer.
    """

    def __init__(self, store: AsyncStore, stale_s: float) -> None:
        self._store = store
        self._stale_s = stale_s
        self._known: dict[str, Verified] = {}
        self._seen: int | None = None
        """The latest change that this process has heard of; None before it has heard of any."""
        self._epoch = 0
        """One more whenever something was forgotten."""
        self._good_until = 0.0
        self._nudged = asyncio.Event()
        self._catching_up = asyncio.Lock()

    def find(self, digest: str) -> Verified | None:
        """What is known of a credential; None if the store has to be asked."""
        known = self._known.get(digest)
        if known is None or time.monotonic() > self._good_until:
            return None
        return known

    async def load(self, digest: str, read: Read) -> Verified | None:
        """Ask the store by *read*, and remember what it finds.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        epoch, is_watching = self._epoch, self._seen is not None
        found = await read(digest)
        # Something was forgotten meanwhile, perhaps this: what was read may be from before.
        if found is not None and is_watching and epoch == self._epoch:
            while len(self._known) >= MAX_VERIFIED:
                del self._known[next(iter(self._known))]
            self._known[digest] = found
        return found

    def postpone(self, digest: str, renew: float) -> None:
        """Note that the use of a credential is being written down, so that not every request does it."""
        known = self._known.get(digest)
        if known is not None:
            self._known[digest] = known._replace(renew=renew)

    def forget(self, digest: str) -> None:
        """Ask the store when this credential is used next."""
        self._epoch += 1
        self._known.pop(digest, None)

    def nudge(self) -> None:
        """Somebody says that something has changed: look now."""
        self._nudged.set()

    async def watch(self) -> None:
        """Forget what others have changed, for ever. Where the store does not answer, what is known ages."""
        while True:
            with suppress(StoreUnavailable):
                await self.catch_up()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._nudged.wait()
            self._nudged.clear()

    async def catch_up(self) -> None:
        """Ask once what has changed.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        async with self._catching_up:
            asked = time.monotonic()
            last = await self._store.last_change()
            if self._seen is None or last < self._seen:  # the beginning, or another store took this one's place
                self._forget_all()
                self._seen = last
            while self._seen < last:
                try:
                    changes = await self._store.changes(self._seen, models=_WATCHED)
                except StoreConflict:  # deletions are forgotten: the store was restored from an archive
                    self._forget_all()
                    self._seen = last
                    break
                for change in changes:
                    if change.kind == UserRecord.store_kind.name:
                        self._forget_user(change.key)
                    else:
                        self.forget(change.key[0])
                self._seen = changes[-1].seq if changes else last
            self._good_until = asked + self._stale_s + 2 * POLL_S

    def _forget_user(self, key: tuple[str, ...]) -> None:
        self._epoch += 1
        for digest in [digest for digest, one in self._known.items() if one.user == key]:
            del self._known[digest]

    def _forget_all(self) -> None:
        self._epoch += 1
        self._known.clear()
