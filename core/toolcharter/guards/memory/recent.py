"""A set that forgets what was added longest ago."""

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Recent(Generic[T]):
    """At most *limit* things. To look at it changes nothing, so that a dry run may."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._things: dict[T, None] = {}

    def __contains__(self, thing: T) -> bool:
        return thing in self._things

    def add(self, thing: T) -> None:
        """Remember *thing* as the newest, whether or not it is new."""
        self._things.pop(thing, None)
        self._things[thing] = None
        if len(self._things) > self._limit:
            del self._things[next(iter(self._things))]

    def clear(self) -> None:
        """Forget everything."""
        self._things.clear()
