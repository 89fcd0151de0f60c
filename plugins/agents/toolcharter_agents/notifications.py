"""Notify parents of ended subagents: one item in the inbox of the parent's session for all ends of one second."""

import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from toolcharter import Inbox, Store, StoreTransaction, ToolcharterError
from toolcharter_agents.states import ENDED, State, Subagent

BATCH_S = 1.0
"""How long the first end waits for others, in seconds."""
MAX_ENDS = 20
"""The most ends in one item."""
MAX_CHARS = 18_000
"""The length of an item, in characters."""
_MAX_ROSTER = 30


class TenantServices(NamedTuple):
    """The store and the inbox of a tenant."""

    tenant: str
    store: Store
    inbox: Inbox


Key = tuple[str, str]
"""A tenant, and the key of a parent's session."""


class Announcer:
    """Notifies parents of the ends of one tool's subagents, batched for one second.

    The records say which ends a parent has been notified of. Ends by another tool, or on a lost worker, are therefore
    included, and no end is sent twice.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Key, tuple[TenantServices, int]] = {}
        """The services of each parent, and how many ends wait for it."""
        self._timers: dict[Key, threading.Timer] = {}
        self._notifying = threading.Lock()

    def add(self, services: TenantServices, parent: str) -> None:
        """Notify *parent* of an end within one second."""
        key = (services.tenant, parent)
        with self._lock:
            _, number = self._waiting.get(key, (services, 0))
            self._waiting[key] = (services, number + 1)
            if number + 1 < MAX_ENDS:
                if not number:
                    timer = self._timers[key] = threading.Timer(BATCH_S, self._notify, (key,))
                    timer.daemon = True
                    timer.start()
                return
        self._notify(key)

    def close(self) -> None:
        """Send all waiting notifications now. No store is used after this returns."""
        for key in list(self._waiting):
            self._notify(key)
        with self._notifying:
            return

    def _notify(self, key: Key) -> None:
        with self._notifying:
            with self._lock:
                services, _ = self._waiting.pop(key, (None, 0))
                timer = self._timers.pop(key, None)
            if timer is not None:
                timer.cancel()
            if services is not None:
                notify_parent(services, key[1])


def notify_parent(services: TenantServices, parent: str) -> None:
    """Put an item into the inbox of *parent*, with the ends that it has not been notified of.

    If the inbox does not take the item, the parent still finds the ends in its list of subagents.
    """
    for _ in range(_MAX_ROSTER):
        try:
            ended = services.store.transact(lambda records: _take_unnotified(records, parent))
            if ended:
                text = ends_text(ended, roster(services.store, parent), time.time())
                services.inbox.put(text, source="subagents", session=parent)
        except ToolcharterError:
            return
        if len(ended) < MAX_ENDS:
            return


def _take_unnotified(records: StoreTransaction, parent: str) -> list[Subagent]:
    """The ends that *parent* has not been notified of, at most 20, the oldest first. Marks them as notified."""
    untold: list[Subagent] = []
    page = records.page(Subagent, where={"parent": parent, "is_told": False}, order="sequence", limit=100)
    for one in page.records:
        if one.record.state in ENDED and len(untold) < MAX_ENDS:
            records.put(one.record.marked_notified(), expected=one.version)
            untold.append(one.record)
    return untold


def roster(store: Store, parent: str) -> list[Subagent]:
    """Return the latest subagents of a session that are neither archived nor rejected."""
    page = store.page(Subagent, where={"parent": parent}, order="sequence", descending=True, limit=_MAX_ROSTER)
    return [one.record for one in page.records if one.record.state not in {State.ARCHIVED, State.REJECTED}]


def ends_text(ended: Sequence[Subagent], others: Sequence[Subagent], now: float) -> str:
    """Return the text for the parent: each end with its result and usage, and the names of all its subagents."""
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
