"""Passwords: argon2id, in a pool of few threads, the same work for who exists and who does not.

A hash takes 64 MiB and some 50 ms, so that nobody may have many computed at once: what waits too long is refused.
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
"""Hashes that wait for a thread."""


class Passwords:
    """The hashes of one process."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._pool = ThreadPoolExecutor(THREADS, "toolcharter passwords")
        self._under_way = 0

    @cached_property
    def _nobodys(self) -> str:
        """A hash that no password has, with the parameters of the others."""
        return self._hasher.hash("\0")

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def hash(self, password: str) -> str:
        """The hash to keep; blocks."""
        return self._hasher.hash(_normal(password))

    async def ahash(self, password: str) -> str:
        """The same from asynchronous code.

        Raises:
            HttpProblem: 503, too many are waiting.
        """
        return await self._in_pool(lambda: self.hash(password))

    async def verify(self, known: str | None, password: str) -> bool:
        """Whether *password* has the hash *known*; False for None, after the same work.

        Raises:
            HttpProblem: 503, too many are waiting.
        """

        def work() -> bool:
            try:
                return self._hasher.verify(known or self._nobodys, _normal(password)) and known is not None
            except (VerificationError, InvalidHashError):
                return False

        return await self._in_pool(work)

    def is_old(self, known: str) -> bool:
        """Whether a hash has other parameters than new ones, so that it is to be made anew."""
        return self._hasher.check_needs_rehash(known)

    async def _in_pool(self, work: Callable[[], T]) -> T:
        if self._under_way >= THREADS + MAX_WAITING:
            message = "Too many people are signing in."
            raise HttpProblem(503, message, "too_busy", headers={"Retry-After": "2"})
        self._under_way += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(self._ended)
        # Shielded: whoever goes away makes no room for another while the work goes on.
        return await asyncio.shield(future)

    def _ended(self, _: "asyncio.Future[T]") -> None:
        self._under_way -= 1


def _normal(password: str) -> str:
    """The same for the same letters, however a keyboard puts them together. Source: NIST SP 800-63B-4, section 3.1.1.2."""
    return normalize("NFKC", password)
