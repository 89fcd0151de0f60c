"""Counts in this process: a ring of times for each key of a window, a number for each session.

Memory is bounded, but no count that still matters is forgotten: keys that have not been used for one lifetime are
dropped a generation at a time, and while `MAX_KEYS` keys are alive, calls of another key are refused.
"""

from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from math import inf
from typing import Generic, TypeVar

from typing_extensions import override

from toolcharter.guards.rates.answers import RateKeys, Refused, limit_reached, too_many_keys
from toolcharter.guards.rates.limits import SESSION_IDLE_S, Limit

T = TypeVar("T")

MAX_KEYS = 100_000
"""For how many sessions or agents one limit keeps counts."""


class ExpiringMap(Generic[T]):
    """Values by key. A value that was found or put within the last `life_s` seconds is never dropped."""

    def __init__(self, life_s: float, max_keys: int) -> None:
        self._life_s = life_s
        self._max_keys = max_keys
        self._generation_ends_at = -inf
        self.recent: dict[str, T] = {}
        """The values used since the last turn. Always the same dictionary, so callers may keep it and look keys up."""
        self._older: dict[str, T] = {}

    def __len__(self) -> int:
        return len(self.recent) + len(self._older)

    def find(self, key: str, now: float) -> T | None:
        """The value of *key*, or None."""
        value = self.recent.get(key)
        if value is None:
            if now >= self._generation_ends_at:
                self._start_generation(now)
            value = self._older.pop(key, None)
            if value is not None:
                self.recent[key] = value
        return value

    def _start_generation(self, now: float) -> None:
        # A value still in the old generation was last used before the last turn, at least one lifetime ago.
        self._older = self.recent.copy()
        self.recent.clear()
        self._generation_ends_at = now + self._life_s

    def full_for_s(self, now: float) -> float:
        """How long, in seconds, there is no room for a new key; 0 if there is room."""
        if len(self) < self._max_keys:
            return 0.0
        return self._generation_ends_at - now + (0.0 if self._older else self._life_s)


class Counter(ABC, Generic[T]):
    """Counts the calls that one limit has let in."""

    def __init__(self, limit: Limit, life_s: float, max_keys: int) -> None:
        self.limit = limit
        self.key_index = RateKeys._fields.index(limit.whose)
        self.entries: ExpiringMap[T] = ExpiringMap(life_s, max_keys)

    def refusal(self, keys: RateKeys, now: float) -> Refused | None:
        """Return the refusal of a call at *now*, or None if it is within the limit."""
        known = self.entries.find(keys[self.key_index], now)
        if known is None:
            full_for_s = self.entries.full_for_s(now)
            return too_many_keys(self.limit, len(self.entries), full_for_s) if full_for_s else None
        wait_s = self.wait_s(known, now)
        return limit_reached(self.limit, wait_s) if wait_s > 0 else None

    @abstractmethod
    def wait_s(self, known: T, now: float) -> float:
        """How long, in seconds, the next call has to wait if *known* is counted; 0 if it need not."""

    @abstractmethod
    def count(self, keys: RateKeys, now: float) -> None:
        """Count a call, which must be within the limit."""

    @abstractmethod
    def give_back(self, keys: RateKeys, now: float) -> None:
        """Undo `count`."""


class WindowCounter(Counter[deque[float]]):
    """A sliding window: a call is within the limit if the call `number` calls before it has left the window."""

    def __init__(self, limit: Limit, max_keys: int = MAX_KEYS) -> None:
        super().__init__(limit, limit.window_s, max_keys)

    def wait_s(self, known: deque[float], now: float) -> float:
        """As `Counter`."""
        return known[0] + self.limit.window_s - now if len(known) == self.limit.number else 0.0

    def count(self, keys: RateKeys, now: float) -> None:
        """As `Counter`."""
        key = keys[self.key_index]
        ring = self.entries.recent.get(key)
        if ring is None:
            ring = self.entries.recent[key] = deque(maxlen=self.limit.number)
        ring.append(now)

    def give_back(self, keys: RateKeys, now: float) -> None:
        """As `Counter`."""
        # The time that the ring dropped for this one had left the window. If this one is gone, it has left it, too.
        with suppress(ValueError):
            (self.entries.find(keys[self.key_index], now) or deque()).remove(now)


class SessionCounter(Counter[int]):
    """A plain count, kept until the session has been idle for `SESSION_IDLE_S`."""

    def __init__(self, limit: Limit, max_keys: int = MAX_KEYS) -> None:
        super().__init__(limit, SESSION_IDLE_S, max_keys)

    @override
    def wait_s(self, known: int, now: float) -> float:
        """As `Counter`."""
        return inf if known >= self.limit.number else 0.0

    @override
    def count(self, keys: RateKeys, now: float) -> None:
        """As `Counter`."""
        key = keys[self.key_index]
        self.entries.recent[key] = self.entries.recent.get(key, 0) + 1

    def give_back(self, keys: RateKeys, now: float) -> None:
        """As `Counter`."""
        key = keys[self.key_index]
        self.entries.recent[key] = max(0, (self.entries.find(key, now) or 0) - 1)


def counter_for(limit: Limit, max_keys: int = MAX_KEYS) -> WindowCounter | SessionCounter:
    """The counter that *limit* needs."""
    return SessionCounter(limit, max_keys) if limit.window_s == inf else WindowCounter(limit, max_keys)
