"""A set that forgets what was added longest ago."""

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Recent(Generic[T]):
    """At most *limit* things. To look at it changes nothing, so that a dry run may."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._things: dict[T, str] = {}

    def __contains__(self, thing: T) -> bool:
        return thing in self._things

    def add(self, thing: T, call_id: str = "") -> None:
        """Remember *thing* as the newest, whether or not it is new, and the call that it comes from."""
        self._things.pop(thing, None)
        self._things[thing] = call_id
        if len(self._things) > self._limit:
            del self._things[next(iter(self._things))]

    def drop(self, call_ids: Collection[str]) -> None:
        """Forget what comes from these calls."""
        self._things = {thing: call_id for thing, call_id in self._things.items() if call_id not in call_ids}

    def clear(self) -> None:
        """Forget everything."""
        self._things.clear()
