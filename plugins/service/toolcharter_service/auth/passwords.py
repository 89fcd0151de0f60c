"""Passwords: argon2id in a small thread pool, with the same work for unknown as for existing users.

A hash takes 64 MiB and about 50 ms. So the pool and its queue are limited, and further requests are refused.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TypeVar
from unicodedata import normalize

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from toolcharter_service.http.problems import HttpProblem

T = TypeVar("T")

MIN_LENGTH = 15
"""In characters. Source: NIST SP 800-63B-4, section 3.1.1.2, for passwords without a second factor."""
MAX_LENGTH = 1_024
THREADS = 2
MAX_WAITING = 16
"""The most hashes that may wait for a thread."""


class Passwords:
    """Computes and verifies the hashes of one process."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._pool = ThreadPoolExecutor(THREADS, "toolcharter passwords")
        self._pending = 0

    @cached_property
    def _dummy_hash(self) -> str:
        """The hash that is verified for unknown users. It has the same parameters, and so takes the same time."""
        return self._hasher.hash("\0")

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def hash(self, password: str) -> str:
        """Return the hash to store. Blocks."""
        return self._hasher.hash(_normalize(password))

    async def ahash(self, password: str) -> str:
        """Return the hash to store, from asynchronous code.

        Raises:
            HttpProblem: 503, too many hashes are waiting.
        """
        return await self._in_pool(lambda: self.hash(password))

    async def verify(self, known: str | None, password: str) -> bool:
        """Whether *password* has the hash *known*; False for None, after the same work.

        Raises:
            HttpProblem: 503, too many hashes are waiting.
        """

        def work() -> bool:
            try:
                return self._hasher.verify(known or self._dummy_hash, _normalize(password)) and known is not None
            except (VerificationError, InvalidHashError):
                return False

        return await self._in_pool(work)

    def needs_rehash(self, known: str) -> bool:
        """Whether a hash has outdated parameters, and should be computed again."""
        return self._hasher.check_needs_rehash(known)

    async def _in_pool(self, work: Callable[[], T]) -> T:
        if self._pending >= THREADS + MAX_WAITING:
            message = "Too many people are signing in."
            raise HttpProblem(503, message, "too_busy", headers={"Retry-After": "2"})
        self._pending += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(self._on_done)
        # Shielded: a client that disconnects must not free its place while the thread is still working.
        return await asyncio.shield(future)

    def _on_done(self, _: "asyncio.Future[T]") -> None:
        self._pending -= 1


def _normalize(password: str) -> str:
    """Normalise a password: keyboards compose the same letters differently. Source: NIST SP 800-63B-4, 3.1.1.2."""
    return normalize("NFKC", password)
