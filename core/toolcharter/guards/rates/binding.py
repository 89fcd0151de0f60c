"""`RateLimits`: the limits of a profile and its ceilings, bound to a tool and an agent once, checked for each call."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from threading import RLock
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from toolcharter._fork import renew_in_child
from toolcharter._lazy import lazy
from toolcharter.api.words import is_secret_reference
from toolcharter.guards.rates.answers import Answer, RateKeys, Refused, Unavailable
from toolcharter.guards.rates.counts import MAX_KEYS, SessionCounter, WindowCounter, counter_for
from toolcharter.guards.rates.limits import Limit, compile_limits
from toolcharter.profile.names import fold_tool_name
from toolcharter.profile.settings import Rates

if TYPE_CHECKING:
    from toolcharter.guards.rates import redis_store
    from toolcharter.guards.rates.redis_store import RedisLimits, RedisStore
else:
    redis_store = lazy("toolcharter.guards.rates.redis_store")

Clock = Callable[[], float]
"""A monotonic clock, in seconds."""

TIMEOUT_S = 2.0
"""How long connecting to a Redis, and each of its answers, may take, in seconds."""


class BoundLimits(Protocol):
    """The limits that apply to one tool and one agent."""

    waits: bool
    """Whether `acquire` may have to wait for another process, which keeps counts."""

    def acquire(self, keys: RateKeys, /) -> Answer | None:
        """Count a call that enters its tool now. An answer says why it must not, and then it is not counted."""

    async def aacquire(self, keys: RateKeys, /) -> Answer | None:
        """`acquire` for asynchronous code."""


class _LocalLimits:
    """Limits whose counts this process keeps, so that checking them never waits."""

    waits = False
    acquire: Callable[[RateKeys], Refused | None]

    async def aacquire(self, keys: RateKeys, /) -> Refused | None:
        """As `BoundLimits`."""
        return self.acquire(keys)


class SingleWindow(_LocalLimits):
    """A single window, counted in this process, as most profiles have it: `InProcessLimits` without its loops."""

    def __init__(self, counter: WindowCounter, lock: RLock, clock: Clock) -> None:
        self.acquire = _acquire_of(counter, lock, clock)
        """As `BoundLimits`."""


def _acquire_of(counter: WindowCounter, lock: RLock, clock: Clock) -> Callable[[RateKeys], Refused | None]:
    # A closure without `with`: a method took a fifth more time, and `with` a third.
    acquire_lock, release_lock, find, place = lock.acquire, lock.release, counter.entries.recent.get, counter.key_index
    number, window_s = counter.limit.number, counter.limit.window_s

    def acquire(keys: RateKeys, /) -> Refused | None:
        try:
            acquire_lock()
            now = clock()
            ring = find(keys[place])
            if ring is None or (len(ring) == number and ring[0] + window_s > now):
                refusal = counter.refusal(keys, now)
                if refusal is None:
                    counter.count(keys, now)
            else:
                refusal = None
                ring.append(now)
            release_lock()
        except BaseException:
            # If the interruption came before the lock was acquired, `release_lock` raises RuntimeError.
            with suppress(RuntimeError):
                release_lock()
            raise
        return refusal

    return acquire


class InProcessLimits(_LocalLimits):
    """Limits whose counts this process keeps."""

    def __init__(self, counters: Sequence[WindowCounter | SessionCounter], lock: RLock, clock: Clock) -> None:
        self._counters = tuple(counters)
        self._lock = lock
        self._clock = clock

    def acquire(self, keys: RateKeys, /) -> Refused | None:
        """As `BoundLimits`."""
        answer = self.reserve(keys)
        return answer if isinstance(answer, Refused) else None

    def reserve(self, keys: RateKeys) -> Refused | float:
        """Count a call in all limits or in none, and return the time with which it was counted.

        If several limits refuse, return the refusal that lasts longest.
        """
        with self._lock:
            now = self._clock()
            refusals = [refusal for counter in self._counters if (refusal := counter.refusal(keys, now))]
            if refusals:
                return max(refusals, key=_wait_s)
            for counter in self._counters:
                counter.count(keys, now)
        return now

    def give_back(self, keys: RateKeys, stamp: float) -> None:
        """Undo the `reserve` that returned *stamp*."""
        with self._lock:
            for counter in self._counters:
                counter.give_back(keys, stamp)


def _wait_s(refusal: Refused) -> float:
    return inf if refusal.wait_s is None else refusal.wait_s


class ChainedLimits:
    """Limits that are counted here and on servers. If a later place refuses a call, the earlier ones undo their count.

    If a server cannot be reached for that, or the call is cancelled in between, it stays counted, which can only make
    the limit stricter.
    """

    waits = True

    def __init__(self, local: InProcessLimits, remote: "Sequence[RedisLimits]") -> None:
        self._local_limits = local
        self._remote_limits = tuple(remote)

    def acquire(self, keys: RateKeys, /) -> Answer | None:
        """As `BoundLimits`."""
        taking = self._acquire(keys, blocks=True)
        while True:  # Runs once: with *blocks*, the coroutine never suspends.
            try:
                taking.send(None)
            except StopIteration as end:
                answer: Answer | None = end.value
                return answer

    async def aacquire(self, keys: RateKeys, /) -> Answer | None:
        """As `BoundLimits`."""
        return await self._acquire(keys, blocks=False)

    async def _acquire(self, keys: RateKeys, *, blocks: bool) -> Answer | None:
        # The counts of this process come first: taking them and undoing that needs no request to a server.
        counted = self._local_limits.reserve(keys)
        if isinstance(counted, Refused):
            return counted
        stamps: list[float] = []
        for place in self._remote_limits:
            answer = await place.reserve(keys, blocks=blocks)
            if isinstance(answer, (Refused, Unavailable)):
                self._local_limits.give_back(keys, counted)
                for earlier, stamp in zip(self._remote_limits, stamps, strict=False):
                    await earlier.give_back(keys, stamp, blocks=blocks)
                return answer
            stamps.append(answer)
        return None


class RateLimits:
    """The rate limits of one toolbox. A call must be within those of its profile and of each ceiling."""

    def __init__(
        self,
        rates: Sequence[Rates],
        clock: Clock = monotonic,
        *,
        timeout_s: float = TIMEOUT_S,
        max_keys: int = MAX_KEYS,
        aliases: Mapping[str, str] = MappingProxyType({}),
        secret: Callable[[str], str] = str,
    ) -> None:
        """Prepare the limits, without connecting to a server yet.

        Args:
            rates: The limits of the profile and of each ceiling, in any order.
            clock: A monotonic clock, in seconds. Redis uses its own clock.
            timeout_s: How long connecting to a Redis, and each of its answers, may take, in seconds.
            max_keys: For how many sessions or agents one limit keeps counts in this process.
            aliases: Other names of tools, under which limits may be written.
            secret: Returns the URL of a store that is written as `secret:NAME`. Called when the first call is counted
                there.

        Raises:
            ConfigurationError: A store is not the URL of a Redis, or the library for it is not installed.
            GlobError: The pattern of an agent cannot be parsed.
        """
        self._limits = limits = compile_limits(rates, aliases)
        self._clock = clock
        self._lock = RLock()
        renew_in_child(self)
        self._counters = {limit: counter_for(limit, max_keys) for limit in limits if limit.store is None}
        self._shared = [limit for limit in limits if limit.store is not None]
        urls = dict.fromkeys(limit.store for limit in self._shared if limit.store is not None)
        self._stores = {url: _open(url, timeout_s, secret) for url in urls}

    def limits_for(self, tool: str, agent: str | None) -> list[Limit]:
        """Return the limits that `bind` binds for the same arguments, to show them to the user."""
        name = fold_tool_name(tool)
        return [limit for limit in self._limits if limit.concerns(name, agent)]

    def renew(self) -> None:
        """Reset the lock in a forked child, since a thread of the parent may hold it. The child counts separately."""
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]

    def bind(self, tool: str, agent: str | None) -> BoundLimits | None:
        """Return the limits that apply to *tool* and *agent*; None if there are none, so that a call costs no time.

        Args:
            tool: The canonical name.
            agent: The name that is matched against the patterns; None matches no pattern.
        """
        name = fold_tool_name(tool)
        local = [counter for limit, counter in self._counters.items() if limit.concerns(name, agent)]
        shared = [limit for limit in self._shared if limit.concerns(name, agent)]
        if not shared and len(local) == 1 and isinstance(local[0], WindowCounter):
            return SingleWindow(local[0], self._lock, self._clock)
        counted_here = InProcessLimits(local, self._lock, self._clock)
        if shared:
            return ChainedLimits(counted_here, [store.bind(of_store) for store, of_store in self._by_store(shared)])
        return counted_here if local else None

    def _by_store(self, limits: Sequence[Limit]) -> "list[tuple[RedisStore, list[Limit]]]":
        found = ((store, [limit for limit in limits if limit.store == url]) for url, store in self._stores.items())
        return [(store, of_store) for store, of_store in found if of_store]

    def close(self) -> None:
        """Close the connections. Call it from another thread than those of the event loops that used `aacquire`."""
        for store in self._stores.values():
            store.close()


def _open(url: str, timeout_s: float, secret: Callable[[str], str]) -> "RedisStore":
    return redis_store.RedisStore(partial(secret, url) if is_secret_reference(url) else url, timeout_s)
