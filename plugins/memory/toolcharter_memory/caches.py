"""A bounded cache of records that were read lately. An entry is dropped when the store reports a change to its agent.

Changes by this process are seen at once, changes by other processes within a second.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from toolcharter import Store, StoreConflict, StoreRecord

T = TypeVar("T")
TTL_S = 300.0
"""How long an entry is kept at most, in seconds. Source: 004, internal/tools/context_file_interceptor.go."""
MAX_ENTRIES = 200
"""How many entries, such as an agent's files or a document, are kept. Source: as above."""
MAX_CHARS = 65_536
"""Longer texts are read from the store each time."""
CHECK_EVERY_S = 1.0
"""How often the store is asked for changes by other processes, in seconds."""
_MAX_CHANGES = 100


class Writes:
    """Counts this process's writes, so that its caches ask the store for changes at once."""

    def __init__(self) -> None:
        self.count = 0

    def note(self) -> None:
        """Count one write."""
        self.count += 1


WRITES = Writes()
"""Shared by the whole process: it is all that tools and extension objects of several toolboxes have in common."""


class _Entry(NamedTuple):
    agent: str
    value: Any
    loaded_at: float


class _LastChange(NamedTuple):
    """The last change of one tenant that the cache has seen."""

    seq: int
    writes: int
    at: float


class Cache:
    """Caches values that are made of the records of an agent of a tenant. Thread-safe.

    Args:
        models: The kinds of records that values are made of; the first part of each key is the agent.
        max_entries: How many values it keeps; the least recently used value is dropped first.
        ttl_s: How long a value is kept at most, in seconds.
        clock: As `time.monotonic`.
    """

    def __init__(
        self,
        models: Sequence[type[StoreRecord]],
        *,
        max_entries: int = MAX_ENTRIES,
        ttl_s: float = TTL_S,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._models = models
        self._max_entries = max_entries
        self._ttl_s = ttl_s
        self._clock = clock
        self._entries: OrderedDict[tuple[str, Hashable], _Entry] = OrderedDict()
        self._seen: dict[str, _LastChange] = {}
        self._drops = 0
        self._lock = threading.Lock()

    def get(self, store: Store, tenant: str, agent: str, key: Hashable, load: Callable[[], T]) -> T:
        """Return the value of *key*; call *load* if it is not cached or may have changed.

        Args:
            store: The store that reports changes.
            tenant: The tenant that the value belongs to.
            agent: The agent whose records the value is made of.
            key: The key of the value.
            load: Reads the value from the store.
        """
        now = self._clock()
        self._drop_changed(store, tenant, now)
        with self._lock:
            found = self._entries.get((tenant, key))
            drops = self._drops
            if found is not None and now - found.loaded_at < self._ttl_s:
                self._entries.move_to_end((tenant, key))
                value: T = found.value
                return value
        value = load()
        with self._lock:
            is_large = isinstance(value, str) and len(value) > MAX_CHARS
            if drops == self._drops and not is_large:  # else it may be older than a change that was reported meanwhile
                self._entries[tenant, key] = _Entry(agent, value, now)
                self._entries.move_to_end((tenant, key))
                while len(self._entries) > self._max_entries:
                    self._entries.popitem(last=False)
        return value

    def clear(self, tenant: str, agents: frozenset[str] | None = None) -> None:
        """Drop the values of a tenant, or only those of some of its agents."""
        with self._lock:
            self._drops += 1
            for key, entry in list(self._entries.items()):
                if key[0] == tenant and (agents is None or entry.agent in agents):
                    del self._entries[key]

    def _drop_changed(self, store: Store, tenant: str, now: float) -> None:
        """Drop the values of agents whose records have changed since the last look."""
        seen, writes = self._seen.get(tenant), WRITES.count
        if seen is not None and seen.writes == writes and now - seen.at < CHECK_EVERY_S:
            return
        if seen is None:
            self._set_seen(tenant, _LastChange(store.last_change(), writes, now))
            self.clear(tenant)
            return
        try:
            changes = store.changes(seen.seq, models=self._models, limit=_MAX_CHANGES)
        except StoreConflict:
            changes = ()
            self.clear(tenant)
            self._set_seen(tenant, _LastChange(store.last_change(), writes, now))
            return
        if changes:
            self.clear(tenant, None if len(changes) == _MAX_CHANGES else frozenset(one.key[0] for one in changes))
        self._set_seen(tenant, _LastChange(max((seen.seq, *(one.seq for one in changes))), writes, now))

    def _set_seen(self, tenant: str, seen: _LastChange) -> None:
        with self._lock:
            if len(self._seen) > self._max_entries:
                self._seen.clear()
                self._entries.clear()
            self._seen[tenant] = seen
