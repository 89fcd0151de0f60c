"""Ends of subagents, told to the inbox of their parent's session: those of a second together, at most 20 of them."""

import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from toolcharter import Inbox, Store, StoreTransaction, ToolcharterError
from toolcharter_agents.states import State, Subagent

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
    """Joins the ends of one parent's subagents.

    One for the process: the subagents of one parent are started by several tools.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Key, tuple[Place, list[Subagent]]] = {}
        self._timers: dict[Key, threading.Timer] = {}

    def add(self, place: Place, ended: Subagent) -> None:
        """Tell of *ended* within a second."""
        key = (place.tenant, ended.parent)
        with self._lock:
            _, waiting = self._waiting.setdefault(key, (place, []))
            waiting.append(ended)
            if len(waiting) < MOST:
                if len(waiting) == 1:
                    timer = self._timers[key] = threading.Timer(JOINED_S, self._tell, (key,))
                    timer.daemon = True
                    timer.start()
                return
        self._tell(key)

    def flush(self) -> None:
        """Tell at once of all that waits."""
        for key in list(self._waiting):
            self._tell(key)

    def _tell(self, key: Key) -> None:
        with self._lock:
            place, ended = self._waiting.pop(key, (None, []))
            timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if place is not None:
            tell(place, ended)


def tell(place: Place, ended: Sequence[Subagent]) -> None:
    """Leave one item for the parent of *ended*. What no inbox takes is still in the list of subagents."""
    parent = ended[0].parent
    try:
        place.inbox.put(
            text_of(ended, roster(place.store, parent), time.time()),
            source="subagents",
            session=parent,
            key=f"subagents:{','.join(one.id for one in ended)}",
        )
        place.store.transact(lambda records: _mark(records, ended))
    except ToolcharterError:
        return


def _mark(records: StoreTransaction, ended: Sequence[Subagent]) -> None:
    for one in ended:
        found = records.get(Subagent, one.id)
        if found is not None:
            records.put(found.record.told(), expected=found.version)


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


ANNOUNCER = Announcer()
