"""`RateLimits`: the limits of a profile and its ceilings, bound to a tool and an agent once, asked for each call."""

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
from toolcharter.guards.rates.answers import Answer, Keys, Refused, Unavailable
from toolcharter.guards.rates.counts import MAX_KEYS, SessionCounter, WindowCounter, counter_for
from toolcharter.guards.rates.limits import Limit, limits_of
from toolcharter.profile.names import same_tool
from toolcharter.profile.settings import Rates

if TYPE_CHECKING:
    from toolcharter.guards.rates import redis_store
    from toolcharter.guards.rates.redis_store import CountedThere, RedisStore
else:
    redis_store = lazy("toolcharter.guards.rates.redis_store")

Clock = Callable[[], float]
"""Seconds that never go back."""

TIMEOUT_S = 2.0
"""How long a Redis may take to be connected to, and for each of its answers, in seconds."""


class BoundLimits(Protocol):
    """The limits that concern one tool for one agent."""

    waits: bool
    """Whether another process keeps counts, which has to answer."""

    def take(self, keys: Keys, /) -> Answer | None:
        """Count a call that enters its tool now; an answer is why it must not, and then nothing is counted."""

    async def atake(self, keys: Keys, /) -> Answer | None:
        """`take` from asynchronous code, which goes on meanwhile."""


class _Local:
    """Limits whose counts this process keeps, so that asking them never waits."""

    waits = False
    take: Callable[[Keys], Refused | None]

    async def atake(self, keys: Keys, /) -> Refused | None:
        """As `BoundLimits`."""
        return self.take(keys)


class SingleWindow(_Local):
    """One window counted in this process, which most profiles have: `InProcess` without its loops."""

    def __init__(self, counter: WindowCounter, lock: RLock, clock: Clock) -> None:
        self.take = _take_of(counter, lock, clock)
        """As `BoundLimits`."""


def _take_of(counter: WindowCounter, lock: RLock, clock: Clock) -> Callable[[Keys], Refused | None]:
    # A closure and no `with`: a method took a fifth more time, `with` a third.
    acquire, release, find, place = lock.acquire, lock.release, counter.kept.young.get, counter.place
    number, window_s = counter.limit.number, counter.limit.window_s

    def take(keys: Keys, /) -> Refused | None:
        try:
            acquire()
            now = clock()
            ring = find(keys[place])
            if ring is None or (len(ring) == number and ring[0] + window_s > now):
                refusal = counter.refusal(keys, now)
                if refusal is None:
                    counter.count(keys, now)
            else:
                refusal = None
                ring.append(now)
            release()
        except BaseException:
            # Interrupted, perhaps while it waited: then the lock is not ours, and says so.
            with suppress(RuntimeError):
                release()
            raise
        return refusal

    return take


class InProcess(_Local):
    """Limits whose counts this process keeps."""

    def __init__(self, counters: Sequence[WindowCounter | SessionCounter], lock: RLock, clock: Clock) -> None:
        self._counters = tuple(counters)
        self._lock = lock
        self._clock = clock

    def take(self, keys: Keys, /) -> Refused | None:
        """As `BoundLimits`."""
        answer = self.reserve(keys)
        return answer if isinstance(answer, Refused) else None

    def reserve(self, keys: Keys) -> Refused | float:
        """Count a call in all limits or in none; a number is the time it was counted with.

        Of several refusals it is the one that lasts longest.
        """
        with self._lock:
            now = self._clock()
            refusals = [refusal for counter in self._counters if (refusal := counter.refusal(keys, now))]
            if refusals:
                return max(refusals, key=_wait_s)
            for counter in self._counters:
                counter.count(keys, now)
        return now

    def give_back(self, keys: Keys, stamp: float) -> None:
        """Undo the `reserve` that gave *stamp*."""
        with self._lock:
            for counter in self._counters:
                counter.give_back(keys, stamp)


def _wait_s(refusal: Refused) -> float:
    return inf if refusal.wait_s is None else refusal.wait_s


class Chained:
    """Limits that are counted here and on servers; what a later place refuses the earlier ones give back.

    A server that cannot be asked to give back, or a call that is cancelled on the way, stays counted: that errs on the
    strict side.
    """

    waits = True

    def __init__(self, here: InProcess, there: "Sequence[CountedThere]") -> None:
        self._here = here
        self._there = tuple(there)

    def take(self, keys: Keys, /) -> Answer | None:
        """As `BoundLimits`."""
        taking = self._take(keys, blocks=True)
        while True:  # Once: what blocks never suspends.
            try:
                taking.send(None)
            except StopIteration as end:
                answer: Answer | None = end.value
                return answer

    async def atake(self, keys: Keys, /) -> Answer | None:
        """As `BoundLimits`."""
        return await self._take(keys, blocks=False)

    async def _take(self, keys: Keys, *, blocks: bool) -> Answer | None:
        # What this process counts comes first: it costs no way to a server, and nothing when it is given back.
        counted = self._here.reserve(keys)
        if isinstance(counted, Refused):
            return counted
        stamps: list[float] = []
        for place in self._there:
            answer = await place.reserve(keys, blocks=blocks)
            if isinstance(answer, (Refused, Unavailable)):
                self._here.give_back(keys, counted)
                for earlier, stamp in zip(self._there, stamps, strict=False):
                    await earlier.give_back(keys, stamp, blocks=blocks)
                return answer
            stamps.append(answer)
        return None


class RateLimits:
    """The rate limits of one toolbox: a call needs room in those of its profile and of each ceiling."""

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
        """Connect to nothing yet.

        Args:
            rates: Of the profile and of each ceiling, in any order.
            clock: Seconds that never go back; Redis goes by its own clock.
            timeout_s: How long a Redis may take to be connected to, and for each of its answers, in seconds.
            max_keys: How many sessions or agents one limit keeps counts of in this process.
            aliases: Other names of tools, under which limits may be written.
            secret: Gives the URL for a store that is written as `secret:NAME`, when the first call is counted there.

        Raises:
            ConfigurationError: A store is no URL of a Redis, or the library for it is not installed.
            GlobError: The pattern of an agent cannot be read.
        """
        self._limits = limits = limits_of(rates, aliases)
        self._clock = clock
        self._lock = RLock()
        renew_in_child(self)
        self._counters = {limit: counter_for(limit, max_keys) for limit in limits if limit.store is None}
        self._shared = [limit for limit in limits if limit.store is not None]
        urls = dict.fromkeys(limit.store for limit in self._shared if limit.store is not None)
        self._stores = {url: _open(url, timeout_s, secret) for url in urls}

    def concerning(self, tool: str, agent: str | None) -> list[Limit]:
        """What `bind` binds, in words for people; arguments as there."""
        name = same_tool(tool)
        return [limit for limit in self._limits if limit.concerns(name, agent)]

    def renew(self) -> None:
        """In a fork's child, which counts on by itself: a thread that is the parent's may hold the lock."""
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]

    def bind(self, tool: str, agent: str | None) -> BoundLimits | None:
        """The limits that concern *tool* for *agent*; None if there are none, so that an unlimited tool pays nothing.

        Args:
            tool: The canonical name.
            agent: The name that the patterns see; None matches none of them.
        """
        name = same_tool(tool)
        here = [counter for limit, counter in self._counters.items() if limit.concerns(name, agent)]
        shared = [limit for limit in self._shared if limit.concerns(name, agent)]
        if not shared and len(here) == 1 and isinstance(here[0], WindowCounter):
            return SingleWindow(here[0], self._lock, self._clock)
        counted_here = InProcess(here, self._lock, self._clock)
        if shared:
            return Chained(counted_here, [store.bind(of_store) for store, of_store in self._by_store(shared)])
        return counted_here if here else None

    def _by_store(self, limits: Sequence[Limit]) -> "list[tuple[RedisStore, list[Limit]]]":
        found = ((store, [limit for limit in limits if limit.store == url]) for url, store in self._stores.items())
        return [(store, of_store) for store, of_store in found if of_store]

    def close(self) -> None:
        """Close the connections; from another thread than that of the loops whose `atake` made some."""
        for store in self._stores.values():
            store.close()


def _open(url: str, timeout_s: float, secret: Callable[[str], str]) -> "RedisStore":
    return redis_store.RedisStore(partial(secret, url) if is_secret_reference(url) else url, timeout_s)
