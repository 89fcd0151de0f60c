"""Ends of subagents, told to the inbox of their parent's session: those of a second together, at most 20 of them."""

import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from toolcharter import Inbox, Store, StoreTransaction, ToolcharterError
from toolcharter_agents.states import ENDED, State, Subagent

JOINED_S = 1.0
"""How long the first end waits for others, in seconds."""
MOST = 20
"""How many ends one item tells of."""
MAX_CHARS = 18_000
"""How long an item is, in characters."""
_ROSTER = 30


class Place(NamedTuple):
    """Where the records and the inbox of an end are."""

    tenant: str
    store: Store
    inbox: Inbox


Key = tuple[str, str]
"""A tenant, and the key of a parent's session."""


class Announcer:
    """Has the parents of a tool's subagents told of ends, those of a second together.

    What is told stands in the records, so that ends by another tool, or on a worker that is gone, are told as well, and
    none twice.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Key, tuple[Place, int]] = {}
        """With how many ends wait."""
        self._timers: dict[Key, threading.Timer] = {}
        self._telling = threading.Lock()

    def add(self, place: Place, parent: str) -> None:
        """Tell *parent* of an end within a second."""
        key = (place.tenant, parent)
        with self._lock:
            _, number = self._waiting.get(key, (place, 0))
            self._waiting[key] = (place, number + 1)
            if number + 1 < MOST:
                if not number:
                    timer = self._timers[key] = threading.Timer(JOINED_S, self._tell, (key,))
                    timer.daemon = True
                    timer.start()
                return
        self._tell(key)

    def close(self) -> None:
        """Tell at once of all that waits, and use no store any more once this returns."""
        for key in list(self._waiting):
            self._tell(key)
        with self._telling:
            return

    def _tell(self, key: Key) -> None:
        with self._telling:
            with self._lock:
                place, _ = self._waiting.pop(key, (None, 0))
                timer = self._timers.pop(key, None)
            if timer is not None:
                timer.cancel()
            if place is not None:
                tell(place, key[1])


def tell(place: Place, parent: str) -> None:
    """Leave an item for *parent* with the ends that it has not heard of. What no inbox takes stands in the list of subagents."""
    for _ in range(_ROSTER):
        try:
            ended = place.store.transact(lambda records: _untold(records, parent))
            if ended:
                text = text_of(ended, roster(place.store, parent), time.time())
                place.inbox.put(text, source="subagents", session=parent)
        except ToolcharterError:
            return
        if len(ended) < MOST:
            return


def _untold(records: StoreTransaction, parent: str) -> list[Subagent]:
    """The ends that *parent* has not been told of, at most 20, the oldest first; from now on it has."""
    untold: list[Subagent] = []
    page = records.page(Subagent, where={"parent": parent, "is_told": False}, order="sequence", limit=100)
    for one in page.records:
        if one.record.state in ENDED and len(untold) < MOST:
            records.put(one.record.told(), expected=one.version)
            untold.append(one.record)
    return untold


def roster(store: Store, parent: str) -> list[Subagent]:
    """The latest subagents of a session that are not archived."""
    page = store.page(Subagent, where={"parent": parent}, order="sequence", descending=True, limit=_ROSTER)
    return [one.record for one in page.records if one.record.state not in {State.ARCHIVED, State.REJECTED}]


def text_of(ended: Sequence[Subagent], others: Sequence[Subagent], now: float) -> str:
    """What the parent reads: each end with what it has used, and who else there is."""
    head = "A subagent has ended." if len(ended) == 1 else f"{len(ended)} subagents have ended."
    names = ", ".join(f"{one.label} {one.state}" for one in others)
    room = max(200, (MAX_CHARS - len(names)) // len(ended) - 200)
    parts = [head]
    for one in ended:
        reason = f" ({one.reason})" if one.reason else ""
        result = one.result if len(one.result) <= room else f"{one.result[:room]}[...]"
        parts.append(
            f"{one.label} [{one.id}] {one.state}{reason} after {one.runtime_s(now):.1f} s, {one.iterations} iterations,"
            f" {one.input_tokens} + {one.output_tokens} tokens:\n{result}"
        )
    return "\n\n".join((*parts, f"All subagents: {names or 'none'}."))
