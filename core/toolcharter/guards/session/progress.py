"""Guards against turns that lead nowhere though no call follows its like: the same answers, and reading without end.

`no_progress` counts a call among the session's latest ones, whatever was called between, and only with the same result:
who asks a build again whether it has ended is told something else each time, some day. `read_streak` counts calls that
read, until one changes something. Programs and other servers' tools count neither way: nobody knows what they do.

Source: GoClaw, internal/agent/toolloop.go: 30 calls, 0.6 different ones.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from toolcharter.api.call import Call, Deny
from toolcharter.api.reasons import Reason
from toolcharter.guards.session.state import Ending, Objection, Recent, SessionGuard, of_call, of_text
from toolcharter.profile.settings import ReadStreak, Repeats

LATEST = 30
"""How many calls that have ended `no_progress` looks back at."""
DIFFERENT = 0.6
"""Who reads more different things than this share of all its reads explores; who reads fewer goes in circles."""
MAX_READS = 1024
"""How many different reads of a streak are remembered; an older one counts as different again."""


class NoProgressGuard(SessionGuard[deque[tuple[bytes, bytes]], bytes]):
    """Counts how often a call among the latest had the result that it had last.

    The warning comes with the `warn`th result, and after the `deny`th the call is refused, until others have pushed it
    out of the latest ones.
    """

    def __init__(self, settings: Repeats) -> None:
        self._settings = settings

    def fresh(self) -> deque[tuple[bytes, bytes]]:
        """No call has ended."""
        return deque(maxlen=LATEST)

    def look(self, call: Call) -> bytes:
        """The call by its tool and arguments."""
        return of_call(call.tool, call.action, call.args)

    def check(self, state: deque[tuple[bytes, bytes]], call: Call, facts: bytes) -> Objection:
        """Deny the call that brought one result `deny` times."""
        number, deny = _same(state, facts), self._settings.deny
        if deny is None or number < deny:
            return None
        return Deny(Reason.REPEATED_CALL, f"{_answered(call, number)}.", "Do something else, or change the arguments.")

    def leave(self, state: deque[tuple[bytes, bytes]], call: Call, facts: bytes, ending: Ending) -> str | None:
        """Remember what came of the call; warn the model from `warn` on."""
        state.append((facts, of_text(ending.text)))
        number, warn = _same(state, facts), self._settings.warn
        return None if warn is None or number < warn else f"{_answered(call, number)}; try another way."


def _same(state: deque[tuple[bytes, bytes]], call: bytes) -> int:
    """How often *call* had the result that it had last."""
    results = [result for known, result in state if known == call]
    return sum(result == results[-1] for result in results)


def _answered(call: Call, number: int) -> str:
    return f"{call.tool!r} was called {number} times with the same arguments and answered the same each time"


@dataclass(slots=True)
class Reading:
    """The reads of a session since it last changed something."""

    length: int = 0
    seen: Recent[bytes] = field(default_factory=lambda: Recent(MAX_READS))
    different: int = 0


class Step(NamedTuple):
    """What a call is to the streak."""

    reads: bytes | None
    """The call by its tool and arguments, if it reads."""
    changes: bool
    """Whether it ends the streak when it enters its tool."""


class ReadStreakGuard(SessionGuard[Reading, Step]):
    """Counts reads without a change between them, refused ones included: first the reader is told, then stopped."""

    def __init__(self, settings: ReadStreak) -> None:
        self._settings = settings

    def fresh(self) -> Reading:
        """Nothing was read."""
        return Reading()

    def look(self, call: Call) -> Step:
        """What the capabilities of the call's action say of it. Undeclared ones may be anything."""
        words = call.capabilities
        if call.kind != "builtin":
            return Step(None, changes=False)
        if words is None or any(not word.endswith(":read") and word != "text" for word in words):
            return Step(None, changes=True)
        reads = any(word.endswith(":read") for word in words)
        return Step(of_call(call.tool, call.action, call.args) if reads else None, changes=False)

    def check(self, state: Reading, call: Call, facts: Step) -> Objection:
        """Deny from `deny` on, warn from `warn` on; later for a reader that explores."""
        if facts.reads is None:
            return None
        number = state.length + 1
        different = state.different + (facts.reads not in state.seen)
        circles = different <= DIFFERENT * number
        warn, deny = (self._settings.warn, self._settings.deny) if circles else self._settings.exploring
        said = f"This is read {number} without a change between, and {different} of them are different ones"
        if deny is not None and number >= deny:
            hint = "Write down what you found, or do what it is for." if not circles else "Use what you have read."
            return Deny(Reason.REPEATED_CALL, f"{said}.", hint)
        if warn is not None and number >= warn:
            return f"{said}; use what you have read before you read on."
        return None

    def count(self, state: Reading, facts: Step) -> None:
        """One more read."""
        if facts.reads is not None:
            state.length += 1
            state.different += facts.reads not in state.seen
            state.seen.add(facts.reads)

    def enter(self, state: Reading, facts: Step, *, has_effects: bool) -> Step:
        """What changes something ends the streak."""
        if facts.changes:
            state.length = state.different = 0
            state.seen.clear()
        return facts
