"""The running subagents of this process, and the cancellation of subagents on any worker."""

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from toolcharter import RunningAgent, SessionRecord, Store, StoreTransaction, ToolcharterError
from toolcharter_agents.states import State, Subagent

ALIVE_S = 30.0
"""For how long a subagent's heartbeat is valid, in seconds; without a new one its worker counts as lost."""
CHECK_EVERY_S = 1.0
"""The seconds between two checks of the subagents' records: a cancellation by another worker takes effect so late."""
CANCELLED = "cancelled during execution"


class Launched(NamedTuple):
    """A running subagent of this process."""

    id: str
    agent: RunningAgent
    has_settled: threading.Event
    """Set once the subagent's end is recorded."""


class _Watched(NamedTuple):
    """A watched subagent."""

    launched: Launched
    store: Store
    session: SessionRecord | None
    """The session record that still has to be written; None once it is written."""


class Running:
    """The running subagents of this process, and the thread that checks whether other workers have ended them.

    There is one for the process, because a subagent may be started by one tool and cancelled by another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._using = threading.Lock()
        """Held while the thread uses stores."""
        self._watched: dict[str, _Watched] = {}
        self._is_watched = False
        self._has_new = threading.Event()

    def watch(self, launched: Launched, store: Store, session: SessionRecord) -> None:
        """Watch one more subagent, and have the thread write its session record."""
        with self._lock:
            self._watched[launched.id] = _Watched(launched, store, session)
            self._has_new.set()
            if self._is_watched:
                return
            self._is_watched = True
        threading.Thread(target=self._watch, name="toolcharter-subagents", daemon=True).start()

    def get(self, number: str) -> Launched | None:
        """Return the subagent with this number; None if it does not run in this process."""
        known = self._watched.get(number)
        return None if known is None else known.launched

    def forget(self, number: str) -> None:
        """Stop watching a subagent."""
        with self._lock:
            self._watched.pop(number, None)

    def unwatch(self, numbers: Iterable[str], timeout_s: float) -> None:
        """Stop watching these subagents. Their store is not used after this returns, unless *timeout_s* has passed."""
        for number in numbers:
            self.forget(number)
        if self._using.acquire(timeout=timeout_s):
            self._using.release()

    def _watch(self) -> None:
        while True:
            self._has_new.wait(CHECK_EVERY_S)
            with self._lock:
                self._has_new.clear()
                self._watched = {number: one for number, one in self._watched.items() if not one.launched.agent.is_done}
                numbers = [*self._watched]
                self._is_watched = bool(numbers)
            if not numbers:
                return
            for number in numbers:
                with self._using:
                    self._check(number)

    def _check(self, number: str) -> None:
        known = self._watched.get(number)
        if known is None or known.launched.agent.is_done:
            return
        if known.session is not None:
            with suppress(ToolcharterError):  # the record is written again at the subagent's end
                known.store.put(known.session, expected=0)
            with self._lock:
                if number in self._watched:
                    self._watched[number] = known._replace(session=None)
        with suppress(ToolcharterError):  # the store is unavailable; the next check tries again
            check_subagent(known.launched, known.store)


def check_subagent(launched: Launched, store: Store) -> None:
    """Cancel a subagent if its record says that it has ended; else extend its `alive_until` as a heartbeat."""
    found = store.get(Subagent, launched.id)
    now = time.time()
    if found is None or found.record.state != State.RUNNING:
        launched.agent.cancel()
    elif found.record.alive_until < now + ALIVE_S * 2 / 3:
        store.put(found.record.model_copy(update={"alive_until": now + ALIVE_S}), expected=found.version)


RUNNING = Running()


def cancel_subagents(store: Store, ids: Iterable[str], *, text: str = CANCELLED) -> list[str]:
    """Cancel subagents on whatever worker they run; return the numbers of those that were running."""
    done = []
    for number in ids:

        def write(records: StoreTransaction, number: str = number) -> bool:
            found = records.get(Subagent, number)
            if found is None or found.record.state != State.RUNNING:
                return False
            one = found.record.with_state(State.CANCELLED, time.time(), result=text, reason="cancelled", is_told=True)
            records.put(one, expected=found.version)
            return True

        if store.transact(write):
            done.append(number)
        if (launched := RUNNING.get(number)) is not None:
            launched.agent.cancel()
    return done
