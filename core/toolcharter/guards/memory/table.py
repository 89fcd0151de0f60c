"""What is remembered of each session: bounded, the least recently used goes first."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolcharter.api.call import Call

MAX_SESSIONS = 1024


class Flight(NamedTuple):
    """A call that has entered its tool and not ended."""

    call: Call
    facts: tuple[Any, ...]
    """What each guard wants back at the end."""
    has_effects: bool
    notes: tuple[str, ...]
    """What the guards have warned of."""


@dataclass(slots=True)
class Session:
    """What the guards know of one session."""

    states: tuple[Any, ...]
    """One of each guard."""
    flights: dict[int, Flight] = field(default_factory=dict)
    """By the `id` of the call, which the flight keeps alive."""


class Sessions:
    """The sessions by key. Not thread-safe: its owner holds a lock.

    A dropped session starts from nothing when it comes back: its files must be read and its earlier calls be
    made again, and rows start from one. One with a call on its way is not dropped, be they more than *limit*.
    """

    def __init__(self, fresh: Callable[[], Session], limit: int) -> None:
        self._fresh = fresh
        self._limit = limit
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def seen(self, key: str) -> Session:
        """The session as it is, or a new one that is not kept; changes nothing."""
        return self._sessions.get(key) or self._fresh()

    def used(self, key: str) -> Session:
        """The session, now the most recently used one; made and kept if there is none."""
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = self._fresh()
            self._drop(key)
        self._sessions.move_to_end(key)
        return session

    def _drop(self, newest: str) -> None:
        while len(self._sessions) > self._limit:
            idle = (key for key, session in self._sessions.items() if key != newest and not session.flights)
            key = next(idle, None)
            if key is None:
                return
            del self._sessions[key]
