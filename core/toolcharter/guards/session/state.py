"""What session guards share: digests of calls, the latest few of many, the table of sessions, the base of a guard.

The table is bounded; the session that was used least recently goes first.
"""

import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import orjson

from toolcharter.api.call import Call, Deny, Outcome

_BYTES = 16  # A chance meeting of two texts is as likely as a fault of the machine.
_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def of_call(tool: str, action: str | None, args: Mapping[str, Any]) -> bytes:
    """Name a call: equal for equal arguments, in whatever order they and the keys within them are."""
    return _of_json([tool, action, dict(args)])


def of_args(args: Mapping[str, Any], names: Sequence[str]) -> bytes:
    """Name the values of the arguments called *names*; an absent one is null."""
    return _of_json([args.get(name) for name in names])


def _of_json(whole: list[Any]) -> bytes:
    try:
        # Validated arguments came from JSON; `repr` is for the types that validation makes of it.
        canonical = orjson.dumps(whole, default=repr, option=_CANONICAL)
    except TypeError:  # A default may hold what JSON has no room for: a huge number, half a character.
        canonical = json.dumps(whole, default=repr, sort_keys=True).encode()
    return blake2b(canonical, digest_size=_BYTES).digest()


def of_text(text: str) -> bytes:
    """Name a text, lone surrogates and all."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()


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


PREFIX = "NOTE: "


def note(text: str) -> str:
    """*text* as one line; a message that a profile wraps over several lines is joined by spaces."""
    return PREFIX + " ".join(text.split())


def with_notes(text: str, notes: Sequence[str]) -> str:
    """*text*, already scrubbed and cut, and each of *notes* on a line of its own behind it."""
    return "\n".join((text, *notes) if text else notes)


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


S = TypeVar("S")
F = TypeVar("F")

Objection: TypeAlias = Deny | str | None
"""A denial, a warning for the model, or nothing."""


class Ending(NamedTuple):
    """How a call ended that had entered its tool."""

    outcome: Outcome
    text: str
    """The model's text, before notes."""
    has_effects: bool


class SessionGuard(ABC, Generic[S, F]):
    """One guard, for all sessions; it holds settings, never memory.

    `look`, `look_in` and `look_back` may take their time and touch files: they run outside the lock. All others
    run inside it, do no I/O, and are given the session's state. `check` must not change it.
    """

    @abstractmethod
    def fresh(self) -> S:
        """The state of a session that has called nothing yet."""

    @abstractmethod
    def look(self, call: Call) -> F:
        """Find out all that the guard wants to know of *call*, without its session."""

    def look_in(self, call: Call, facts: F) -> F:
        """The facts at the last moment before the call enters its tool."""
        return facts

    def look_back(self, call: Call, facts: F, ending: Ending) -> F:
        """The facts once the call has ended."""
        return facts

    @abstractmethod
    def check(self, state: S, call: Call, facts: F) -> Objection:
        """What there is to say against the call, were it made now."""

    def count(self, state: S, facts: F) -> None:
        """A call was made, and enters its tool or is refused by one of these guards."""

    def enter(self, state: S, facts: F, *, has_effects: bool) -> F:
        """A call enters its tool; `leave` gets the facts that this returns."""
        return facts

    def forget(self, state: S, call_ids: Collection[str]) -> None:
        """The model no longer sees the results of these calls; of no call any more, if none is named."""

    def leave(self, state: S, call: Call, facts: F, ending: Ending) -> str | None:
        """A call that entered has ended; a text is a message for the model."""
        return None
