"""Identical calls in a row: first a warning, then `repeated_call`."""

from dataclasses import dataclass

from toolcharter.api.call import Call, Deny
from toolcharter.api.reasons import Reason
from toolcharter.guards.memory.digests import of_call
from toolcharter.guards.memory.guard import MemoryGuard, Objection
from toolcharter.profile.settings import Repeats


@dataclass(slots=True)
class Streak:
    """The last call of a session, and how often it was made in a row."""

    last: bytes = b""
    length: int = 0

    def next(self, call: bytes) -> int:
        """Which one in its row *call* would be, counted from 1."""
        return self.length + 1 if call == self.last else 1


class RepeatsGuard(MemoryGuard[Streak, bytes]):
    """Counts calls of one tool with the same arguments, one after the other.

    Calls that entered and calls that these guards refused count, what another stage refuses does not. So a
    refused call goes on being refused; any other call ends the row.
    """

    def __init__(self, settings: Repeats) -> None:
        self._settings = settings

    def fresh(self) -> Streak:
        """No call yet."""
        return Streak()

    def look(self, call: Call) -> bytes:
        """The call by its tool and arguments."""
        return of_call(call.tool, call.action, call.args)

    def check(self, state: Streak, call: Call, facts: bytes) -> Objection:
        """Deny from `deny` on, warn from `warn` on."""
        number, (warn, deny) = state.next(facts), self._settings
        said = f"This is call {number} in a row of {call.tool!r} with the same arguments"
        if deny is not None and number >= deny:
            return Deny(Reason.REPEATED_CALL, f"{said}.", "Do something else first, or change the arguments.")
        if warn is not None and number >= warn:
            return f"{said}; it will hardly answer anything new."
        return None

    def count(self, state: Streak, facts: bytes) -> None:
        """The row goes on, or begins with this call."""
        state.length, state.last = state.next(facts), facts
