"""Guards against loops that are not calls repeated in a row: the same results again and again, and endless reading.

`no_progress` counts how often a call had the same result among the session's latest calls, with any calls in between.
Only equal results count together: a call that polls a build gets another result at some point. `read_streak` counts
calls that read, until a call changes something. Programs and tools of other servers neither count nor end a streak,
since their effects are unknown.

Source: GoClaw, internal/agent/toolloop.go: 30 calls, 0.6 different ones.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from toolcharter.api.call import Call, Deny
from toolcharter.api.reasons import Reason
from toolcharter.guards.session.state import Ending, Objection, Recent, SessionGuard, digest_call, digest_text
from toolcharter.profile.settings import ReadStreak, Repeats

LATEST = 30
"""How many of the latest ended calls `no_progress` considers."""
DIFFERENT = 0.6
"""A session explores if the share of different reads among all its reads is higher; otherwise it reads in circles."""
MAX_READS = 1024
"""How many different reads of a streak are remembered. An older read counts as different again."""


class NoProgressGuard(SessionGuard[deque[tuple[bytes, bytes]], bytes]):
    """Counts how often the same call, among the latest calls, had the same result as the last time.

    The warning comes with the `warn`th such result. After the `deny`th, the call is refused until other calls have
    displaced it from the latest ones.
    """

    def __init__(self, settings: Repeats) -> None:
        self._settings = settings

    def new_state(self) -> deque[tuple[bytes, bytes]]:
        """The state before any call has ended."""
        return deque(maxlen=LATEST)

    def collect_facts(self, call: Call) -> bytes:
        """Return a digest of the call's tool and arguments."""
        return digest_call(call.tool, call.action, call.args)

    def check(self, state: deque[tuple[bytes, bytes]], call: Call, facts: bytes) -> Objection:
        """Deny the call if it has had the same result `deny` times."""
        number, deny = _count_same(state, facts), self._settings.deny
        if deny is None or number < deny:
            return None
        return Deny(
            Reason.REPEATED_CALL,
            f"{_no_progress_message(call, number)}.",
            "Do something else, or change the arguments.",
        )

    def on_end(self, state: deque[tuple[bytes, bytes]], call: Call, facts: bytes, ending: Ending) -> str | None:
        """Remember the call's result, and warn the model from the `warn`th same result on."""
        state.append((facts, digest_text(ending.text)))
        number, warn = _count_same(state, facts), self._settings.warn
        return None if warn is None or number < warn else f"{_no_progress_message(call, number)}; try another way."


def _count_same(state: deque[tuple[bytes, bytes]], call: bytes) -> int:
    """How often *call* had the same result as the last time."""
    results = [result for known, result in state if known == call]
    return sum(result == results[-1] for result in results)


def _no_progress_message(call: Call, number: int) -> str:
    return f"{call.tool!r} was called {number} times with the same arguments and returned the same result each time"


@dataclass(slots=True)
class ReadStreakState:
    """The reads of a session since it last changed something."""

    length: int = 0
    seen: Recent[bytes] = field(default_factory=lambda: Recent(MAX_READS))
    different: int = 0


class Step(NamedTuple):
    """The effect of a call on the streak."""

    reads: bytes | None
    """A digest of the call's tool and arguments, if it reads."""
    changes: bool
    """Whether the call ends the streak when it enters its tool."""


class ReadStreakGuard(SessionGuard[ReadStreakState, Step]):
    """Counts reads without a change between them, including refused reads. First warns the model, then denies reads."""

    def __init__(self, settings: ReadStreak) -> None:
        self._settings = settings

    def new_state(self) -> ReadStreakState:
        """The state before any read."""
        return ReadStreakState()

    def collect_facts(self, call: Call) -> Step:
        """Derive the step from the capabilities of the call's action. Undeclared capabilities count as a change."""
        words = call.capabilities
        if call.kind != "builtin":
            return Step(None, changes=False)
        if words is None or any(not word.endswith(":read") and word != "text" for word in words):
            return Step(None, changes=True)
        reads = any(word.endswith(":read") for word in words)
        return Step(digest_call(call.tool, call.action, call.args) if reads else None, changes=False)

    def check(self, state: ReadStreakState, call: Call, facts: Step) -> Objection:
        """Deny from the `deny`th read on and warn from the `warn`th. A session that explores has higher limits."""
        if facts.reads is None:
            return None
        number = state.length + 1
        different = state.different + (facts.reads not in state.seen)
        circles = different <= DIFFERENT * number
        warn, deny = (self._settings.warn, self._settings.deny) if circles else self._settings.exploring
        said = f"This is read {number} without a change in between, and {different} of these reads are different"
        if deny is not None and number >= deny:
            hint = (
                "Write down what you found, or continue with your task." if not circles else "Use what you have read."
            )
            return Deny(Reason.REPEATED_CALL, f"{said}.", hint)
        if warn is not None and number >= warn:
            return f"{said}; use what you have read before you read on."
        return None

    def count(self, state: ReadStreakState, facts: Step) -> None:
        """Count a read."""
        if facts.reads is not None:
            state.length += 1
            state.different += facts.reads not in state.seen
            state.seen.add(facts.reads)

    def on_enter(self, state: ReadStreakState, facts: Step, *, has_effects: bool) -> Step:
        """End the streak if the call changes something."""
        if facts.changes:
            state.length = state.different = 0
            state.seen.clear()
        return facts
