"""What session guards share: digests of calls, bounded sets, the table of sessions, the base class of a guard.

The table is bounded: the least recently used session is dropped first.
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

_BYTES = 16  # A collision of two digests is no more likely than a hardware fault.
_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def digest_call(tool: str, action: str | None, args: Mapping[str, Any]) -> bytes:
    """Return a call's digest. It does not depend on the order of the arguments or of the keys within them."""
    return _digest_json([tool, action, dict(args)])


def digest_args(args: Mapping[str, Any], names: Sequence[str]) -> bytes:
    """Return a digest of the arguments *names*. An absent argument counts as null."""
    return _digest_json([args.get(name) for name in names])


def _digest_json(whole: list[Any]) -> bytes:
    try:
        # Arguments come from JSON; `repr` is for the types into which validation converts them.
        canonical = orjson.dumps(whole, default=repr, option=_CANONICAL)
    except TypeError:  # A default may contain values that orjson refuses: a huge number, a lone surrogate.
        canonical = json.dumps(whole, default=repr, sort_keys=True).encode()
    return blake2b(canonical, digest_size=_BYTES).digest()


def digest_text(text: str) -> bytes:
    """Return a text's digest. The text may contain lone surrogates."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()


T = TypeVar("T", bound=Hashable)


class Recent(Generic[T]):
    """A set of at most *limit* things, which drops the oldest. Looking a thing up changes nothing, for dry runs."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._things: dict[T, str] = {}

    def __contains__(self, thing: T) -> bool:
        return thing in self._things

    def add(self, thing: T, call_id: str = "") -> None:
        """Add *thing* as the newest, even if it is in the set already, with the call that it comes from."""
        self._things.pop(thing, None)
        self._things[thing] = call_id
        if len(self._things) > self._limit:
            del self._things[next(iter(self._things))]

    def drop(self, call_ids: Collection[str]) -> None:
        """Remove the things that come from these calls."""
        self._things = {thing: call_id for thing, call_id in self._things.items() if call_id not in call_ids}

    def clear(self) -> None:
        """Remove all things."""
        self._things.clear()


PREFIX = "NOTE: "


def note(text: str) -> str:
    """Format *text* as one line. The lines of a message that a profile wraps are joined by spaces."""
    return PREFIX + " ".join(text.split())


def with_notes(text: str, notes: Sequence[str]) -> str:
    """Append each of *notes* on its own line to *text*, which is already scrubbed and truncated."""
    return "\n".join((text, *notes) if text else notes)


MAX_SESSIONS = 1024


class RunningCall(NamedTuple):
    """A call that has entered its tool and has not ended."""

    call: Call
    facts: tuple[Any, ...]
    """The facts of each guard, which it gets back at the end."""
    has_effects: bool
    notes: tuple[str, ...]
    """The guards' warnings."""


@dataclass(slots=True)
class Session:
    """The guards' states for one session."""

    states: tuple[Any, ...]
    """The state of each guard."""
    running: dict[int, RunningCall] = field(default_factory=dict)
    """The running calls by `id`. The flight keeps the call alive, so its `id` is not reused."""


class Sessions:
    """The sessions by key. Not thread-safe: the owner holds a lock.

    A dropped session starts from scratch when it comes back: its files must be read and required calls be made again,
    and rows start from 1. A session with a running call is not dropped, even if there are more than *limit*.
    """

    def __init__(self, new_session: Callable[[], Session], limit: int) -> None:
        self._new_session = new_session
        self._limit = limit
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def peek(self, key: str) -> Session:
        """Return the session, or a new one that is not kept. Changes nothing."""
        return self._sessions.get(key) or self._new_session()

    def touch(self, key: str) -> Session:
        """Return the session, made if it does not exist, and mark it as the most recently used."""
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = self._new_session()
            self._drop(key)
        self._sessions.move_to_end(key)
        return session

    def _drop(self, newest: str) -> None:
        while len(self._sessions) > self._limit:
            idle = (key for key, session in self._sessions.items() if key != newest and not session.running)
            key = next(idle, None)
            if key is None:
                return
            del self._sessions[key]


S = TypeVar("S")
F = TypeVar("F")

Objection: TypeAlias = Deny | str | None
"""A denial, a warning for the model, or nothing."""


class Ending(NamedTuple):
    """The end of a call that had entered its tool."""

    outcome: Outcome
    text: str
    """The text for the model, without notes."""
    has_effects: bool


class SessionGuard(ABC, Generic[S, F]):
    """One guard for all sessions. It holds settings; the state of each session is passed in.

    `collect_facts`, `refresh_facts` and `facts_after` run outside the lock: they may be slow and read files. All other
    methods run inside the lock and do no I/O. `check` must not change the state.
    """

    @abstractmethod
    def new_state(self) -> S:
        """Return the state of a session without calls."""

    @abstractmethod
    def collect_facts(self, call: Call) -> F:
        """Collect the facts that the guard needs about *call*, without its session."""

    def refresh_facts(self, call: Call, facts: F) -> F:
        """Update the facts at the last moment before the call enters its tool."""
        return facts

    def facts_after(self, call: Call, facts: F, ending: Ending) -> F:
        """Update the facts after the call has ended."""
        return facts

    @abstractmethod
    def check(self, state: S, call: Call, facts: F) -> Objection:
        """Return the guard's objection to the call if it were made now."""

    def count(self, state: S, facts: F) -> None:
        """Count a call that enters its tool or that a session guard has refused."""

    def on_enter(self, state: S, facts: F, *, has_effects: bool) -> F:
        """Note that a call enters its tool. `on_end` gets the facts that this returns."""
        return facts

    def forget(self, state: S, call_ids: Collection[str]) -> None:
        """Note that the model no longer sees the results of these calls, or of any call if *call_ids* is empty."""

    def on_end(self, state: S, call: Call, facts: F, ending: Ending) -> str | None:
        """Note that a call that had entered its tool has ended. Returns a message for the model, or None."""
        return None
