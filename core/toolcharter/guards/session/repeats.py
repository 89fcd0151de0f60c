"""Guards against useless calls: identical calls in a row, the same result in a row, a result that is already there.

`skip_duplicate` neither stores nor returns a result. A duplicate is allowed again while a call that may have effects
runs, and after such a call has ended with any outcome except a denial, so no session has to use a stale answer.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from toolcharter.api.call import Call, Deny
from toolcharter.api.reasons import Reason
from toolcharter.guards.session.state import Ending, Objection, Recent, SessionGuard, digest_call, digest_text
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Repeats, SkipDuplicate


@dataclass(slots=True)
class Streak:
    """A session's last call, and how often it was made in a row."""

    last: bytes = b""
    length: int = 0

    def next(self, call: bytes) -> int:
        """The position of *call* in its row if it were made now, counted from 1."""
        return self.length + 1 if call == self.last else 1


class RepeatsGuard(SessionGuard[Streak, bytes]):
    """Counts calls of one tool with the same arguments in a row.

    Calls that entered their tool and calls that the session guards refused are counted, but not calls that another
    stage refused. So a refused call stays refused until any other call ends the row.
    """

    def __init__(self, settings: Repeats) -> None:
        self._settings = settings

    def new_state(self) -> Streak:
        """The state before any call."""
        return Streak()

    def collect_facts(self, call: Call) -> bytes:
        """Return a digest of the call's tool and arguments."""
        return digest_call(call.tool, call.action, call.args)

    def check(self, state: Streak, call: Call, facts: bytes) -> Objection:
        """Deny from the `deny`th call in a row on, and warn from the `warn`th."""
        number, (warn, deny) = state.next(facts), self._settings
        said = f"This is call {number} in a row of {call.tool!r} with the same arguments"
        if deny is not None and number >= deny:
            return Deny(Reason.REPEATED_CALL, f"{said}.", "Do something else first, or change the arguments.")
        if warn is not None and number >= warn:
            return f"{said}; it will hardly return anything new."
        return None

    def count(self, state: Streak, facts: bytes) -> None:
        """Continue the row, or begin a new one with this call."""
        state.length, state.last = state.next(facts), facts


@dataclass(slots=True)
class ResultStreak:
    """A session's last result, and how often it came in a row."""

    tool: str = ""
    digest: bytes = b""
    length: int = 0


class ResultsGuard(SessionGuard[ResultStreak, None]):
    """Counts identical results of one tool in a row, in the order in which a session's calls end.

    The warning comes with the `warn`th result. After the `deny`th, the tool is refused until another tool has answered.
    A call with effects and an empty result (`mkdir`, `git add`) is no sign of a loop: it ends the row.
    """

    def __init__(self, settings: Repeats) -> None:
        self._settings = settings

    def new_state(self) -> ResultStreak:
        """The state before any result."""
        return ResultStreak()

    def collect_facts(self, call: Call) -> None:
        """Find out nothing: only the tool's name matters."""

    def check(self, state: ResultStreak, call: Call, facts: None) -> Objection:
        """Deny a tool whose last `deny` results were the same."""
        deny = self._settings.deny
        if deny is None or state.tool != call.tool or state.length < deny:
            return None
        return Deny(Reason.REPEATED_CALL, f"{_result_message(state)}.", "Use another tool first.")

    def on_end(self, state: ResultStreak, call: Call, facts: None, ending: Ending) -> str | None:
        """Count the result, and warn the model from the `warn`th same result on."""
        if ending.has_effects and ending.outcome == "ok" and not ending.text.strip():
            state.tool, state.digest, state.length = "", b"", 0
            return None
        digest = digest_text(ending.text)
        same = (state.tool, state.digest) == (call.tool, digest)
        state.tool, state.digest, state.length = call.tool, digest, state.length + 1 if same else 1
        warn = self._settings.warn
        return None if warn is None or state.length < warn else f"{_result_message(state)}; try another way."


def _result_message(state: ResultStreak) -> str:
    return f"The last {state.length} calls of {state.tool!r} had the same result"


MAX_CALLS = 1024
"""How many calls a session remembers. An older call may be made again."""

Key = tuple[int, bytes]
"""An entry's number, and a digest of the call's tool and of the arguments that the entry compares."""


@dataclass(slots=True)
class CompletedCalls:
    """The ok calls of a session since the last effect."""

    calls: Recent[Key] = field(default_factory=lambda: Recent(MAX_CALLS))
    effects: int = 0
    """How many calls with effects have ended."""
    running: int = 0
    """How many calls with effects run now."""


class DuplicateKeys(NamedTuple):
    """The keys that a call shares with its duplicates, and how many calls with effects had ended when it entered."""

    keys: tuple[Key, ...]
    has_effects: bool = False
    effects: int = 0


class DuplicatesGuard(SessionGuard[CompletedCalls, DuplicateKeys]):
    """Refuses to repeat an ok call. Two identical calls at the same time both run, since neither has a result yet."""

    def __init__(self, entries: Sequence[SkipDuplicate], matcher: Callable[[Rule], Callable[[Call], bool]]) -> None:
        self._entries = tuple((matcher(entry.match), entry.args) for entry in entries)

    def new_state(self) -> CompletedCalls:
        """The state before any call."""
        return CompletedCalls()

    def collect_facts(self, call: Call) -> DuplicateKeys:
        """Make a key for each entry that matches. An absent argument counts as null, as in rules."""
        return DuplicateKeys(
            tuple(
                (number, digest_call(call.tool, call.action, _chosen_args(call, names)))
                for number, (matches, names) in enumerate(self._entries)
                if matches(call)
            )
        )

    def check(self, state: CompletedCalls, call: Call, facts: DuplicateKeys) -> Objection:
        """Deny a call that was ok before, if nothing can have changed since."""
        if state.running or not any(key in state.calls for key in facts.keys):
            return None
        message = f"{call.tool!r} was called like this before; you already have the result, further up."
        return Deny(Reason.REPEATED_CALL, message, "Use the earlier result.")

    def on_enter(self, state: CompletedCalls, facts: DuplicateKeys, *, has_effects: bool) -> DuplicateKeys:
        """Note how many calls with effects had ended, and count this one as running if it has effects."""
        state.running += has_effects
        return DuplicateKeys(facts.keys, has_effects, state.effects)

    def on_end(self, state: CompletedCalls, call: Call, facts: DuplicateKeys, ending: Ending) -> None:
        """Remember an ok call, unless a call with effects ended while it ran."""
        undisturbed = state.effects == facts.effects
        state.running -= facts.has_effects
        if facts.has_effects and ending.outcome != "denied":
            state.effects += 1
            state.calls.clear()
        if ending.outcome == "ok" and undisturbed:
            for key in facts.keys:
                state.calls.add(key, call.call_id)

    def forget(self, state: CompletedCalls, call_ids: Collection[str]) -> None:
        """Allow these calls again, or all calls if *call_ids* is empty."""
        if call_ids:
            state.calls.drop(call_ids)
        else:
            state.calls.clear()


def _chosen_args(call: Call, names: tuple[str, ...] | None) -> dict[str, object]:
    return dict(call.args) if names is None else {name: call.args.get(name) for name in names}
