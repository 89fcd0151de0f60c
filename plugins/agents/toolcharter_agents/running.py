"""The subagents under way in this process, and what ends those that run elsewhere."""

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from toolcharter import RunningAgent, SessionRecord, Store, StoreTransaction, ToolcharterError
from toolcharter_agents.states import State, Subagent

ALIVE_S = 30.0
"""How long a worker is believed to be there after it said so, in seconds."""
LOOKS_S = 1.0
"""How often a worker looks at the records of its subagents: how late it hears of a cancellation elsewhere."""
CANCELLED = "cancelled during execution"


class Launched(NamedTuple):
    """A subagent under way in this process."""

    id: str
    agent: RunningAgent
    has_settled: threading.Event
    """Set once its record says how it ended."""


class _Known(NamedTuple):
    """What is known of one that is looked after."""

    launched: Launched
    store: Store
    session: SessionRecord | None
    """The record of its session, until that is written."""


class Running:
    """The subagents under way in this process, and the thread that looks whether other workers have ended them.

    One for the process: a tool that cancels is another one than that which has started them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._using = threading.Lock()
        """Held while the thread uses stores."""
        self._known: dict[str, _Known] = {}
        self._is_watched = False
        self._has_new = threading.Event()

    def add(self, launched: Launched, store: Store, session: SessionRecord) -> None:
        """Look after one more, and write the record of its session."""
        with self._lock:
            self._known[launched.id] = _Known(launched, store, session)
            self._has_new.set()
            if self._is_watched:
                return
            self._is_watched = True
        threading.Thread(target=self._watch, name="toolcharter-subagents", daemon=True).start()

    def get(self, number: str) -> Launched | None:
        """One that runs in this process."""
        known = self._known.get(number)
        return None if known is None else known.launched

    def drop(self, number: str) -> None:
        """Look after it no longer."""
        with self._lock:
            self._known.pop(number, None)

    def leave(self, numbers: Iterable[str], timeout_s: float) -> None:
        """Look after these no longer, and do not use their store once this returns."""
        for number in numbers:
            self.drop(number)
        if self._using.acquire(timeout=timeout_s):
            self._using.release()

    def _watch(self) -> None:
        while True:
            self._has_new.wait(LOOKS_S)
            with self._lock:
                self._has_new.clear()
                self._known = {number: one for number, one in self._known.items() if not one.launched.agent.is_done}
                numbers = [*self._known]
                self._is_watched = bool(numbers)
            if not numbers:
                return
            for number in numbers:
                with self._using:
                    self._look_after(number)

    def _look_after(self, number: str) -> None:
        known = self._known.get(number)
        if known is None or known.launched.agent.is_done:
            return
        if known.session is not None:
            with suppress(ToolcharterError):  # its end writes it, too
                known.store.put(known.session, expected=0)
            with self._lock:
                if number in self._known:
                    self._known[number] = known._replace(session=None)
        with suppress(ToolcharterError):  # the store is away; what it says then is looked at when it is back
            look_after(known.launched, known.store)


def look_after(launched: Launched, store: Store) -> None:
    """End a subagent whose record says that it has ended, and say of any other that its worker is there."""
    found = store.get(Subagent, launched.id)
    now = time.time()
    if found is None or found.record.state != State.RUNNING:
        launched.agent.cancel()
    elif found.record.alive_until < now + ALIVE_S * 2 / 3:
        store.put(found.record.model_copy(update={"alive_until": now + ALIVE_S}), expected=found.version)


RUNNING = Running()


def cancelled(store: Store, ids: Iterable[str], *, text: str = CANCELLED) -> list[str]:
    """Cancel subagents that are running, wherever they do; returns those that were."""
    done = []
    for number in ids:

        def write(records: StoreTransaction, number: str = number) -> bool:
            found = records.get(Subagent, number)
            if found is None or found.record.state != State.RUNNING:
                return False
            one = found.record.moved(State.CANCELLED, time.time(), result=text, reason="cancelled", is_told=True)
            records.put(one, expected=found.version)
            return True

        if store.transact(write):
            done.append(number)
        if (launched := RUNNING.get(number)) is not None:
            launched.agent.cancel()
    return done
