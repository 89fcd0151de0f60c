"""Guards against calls that lead nowhere: identical calls in a row, the same result again, a result that is there.

`skip_duplicate` keeps and hands out no result. A duplicate is legitimate again as soon as another call that may
have effects has run, whatever its outcome short of a denial, and while one runs: no session has to live with a
stale answer.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from toolcharter.api.call import Call, Deny
from toolcharter.api.reasons import Reason
from toolcharter.guards.session.state import Ending, Objection, Recent, SessionGuard, of_call, of_text
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Repeats, SkipDuplicate


@dataclass(slots=True)
class Streak:
    """The last call of a session, and how often it was made in a row."""

    last: bytes = b""
    length: int = 0

    def next(self, call: bytes) -> int:
        """Which one in its row *call* would be, counted from 1."""
        return self.length + 1 if call == self.last else 1


class RepeatsGuard(SessionGuard[Streak, bytes]):
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


@dataclass(slots=True)
class Results:
    """The last result of a session, and how often it came in a row."""

    tool: str = ""
    digest: bytes = b""
    length: int = 0


class ResultsGuard(SessionGuard[Results, None]):
    """Counts identical results of one tool, one after the other in a session, in the order they end.

    The message comes with the `warn`th result; after the `deny`th the tool is refused until another tool has
    answered. An effect that says nothing (`mkdir`, `git add`) is no sign of a loop: it ends the row.
    """

    def __init__(self, settings: Repeats) -> None:
        self._settings = settings

    def fresh(self) -> Results:
        """No result yet."""
        return Results()

    def look(self, call: Call) -> None:
        """Nothing but the tool's name matters."""

    def check(self, state: Results, call: Call, facts: None) -> Objection:
        """Deny the tool whose last `deny` results were one and the same."""
        deny = self._settings.deny
        if deny is None or state.tool != call.tool or state.length < deny:
            return None
        return Deny(Reason.REPEATED_CALL, f"{_said(state)}.", "Use another tool first.")

    def leave(self, state: Results, call: Call, facts: None, ending: Ending) -> str | None:
        """Count the result; warn the model from `warn` on."""
        if ending.has_effects and ending.outcome == "ok" and not ending.text.strip():
            state.tool, state.digest, state.length = "", b"", 0
            return None
        digest = of_text(ending.text)
        same = (state.tool, state.digest) == (call.tool, digest)
        state.tool, state.digest, state.length = call.tool, digest, state.length + 1 if same else 1
        warn = self._settings.warn
        return None if warn is None or state.length < warn else f"{_said(state)}; try another way."


def _said(state: Results) -> str:
    return f"The last {state.length} calls of {state.tool!r} had the same result"


MAX_CALLS = 1024
"""How many calls a session remembers; an older one may be made again."""

Key = tuple[int, bytes]
"""An entry's number, and the call by what makes it the same."""


@dataclass(slots=True)
class Done:
    """The ok calls of a session since the last effect."""

    calls: Recent[Key] = field(default_factory=lambda: Recent(MAX_CALLS))
    effects: int = 0
    """How many calls with effects have ended."""
    running: int = 0
    """How many calls with effects run now."""


class Marks(NamedTuple):
    """The keys of a call that its duplicates have, too, and how many calls with effects had ended when it entered."""

    keys: tuple[Key, ...]
    has_effects: bool = False
    effects: int = 0


class DuplicatesGuard(SessionGuard[Done, Marks]):
    """Refuses to repeat an ok call. Two at the same time both run: neither has a result yet."""

    def __init__(self, entries: Sequence[SkipDuplicate], matcher: Callable[[Rule], Callable[[Call], bool]]) -> None:
        self._entries = tuple((matcher(entry.match), entry.args) for entry in entries)

    def fresh(self) -> Done:
        """Nothing was called."""
        return Done()

    def look(self, call: Call) -> Marks:
        """One key per entry that matches; an absent argument is null, as it is to rules."""
        return Marks(
            tuple(
                (number, of_call(call.tool, call.action, _chosen(call, names)))
                for number, (matches, names) in enumerate(self._entries)
                if matches(call)
            )
        )

    def check(self, state: Done, call: Call, facts: Marks) -> Objection:
        """Deny what was ok before, if nothing can have changed since."""
        if state.running or not any(key in state.calls for key in facts.keys):
            return None
        message = f"{call.tool!r} was called like this before; its result is already there, further up."
        return Deny(Reason.REPEATED_CALL, message, "Use the earlier result.")

    def enter(self, state: Done, facts: Marks, *, has_effects: bool) -> Marks:
        """Note how far the session had come."""
        state.running += has_effects
        return Marks(facts.keys, has_effects, state.effects)

    def leave(self, state: Done, call: Call, facts: Marks, ending: Ending) -> None:
        """Remember an ok call, unless an effect came between its beginning and its end."""
        undisturbed = state.effects == facts.effects
        state.running -= facts.has_effects
        if facts.has_effects and ending.outcome != "denied":
            state.effects += 1
            state.calls.clear()
        if ending.outcome == "ok" and undisturbed:
            for key in facts.keys:
                state.calls.add(key, call.call_id)

    def forget(self, state: Done, call_ids: Collection[str]) -> None:
        """Let these calls be made again, or all, if none is named."""
        if call_ids:
            state.calls.drop(call_ids)
        else:
            state.calls.clear()


def _chosen(call: Call, names: tuple[str, ...] | None) -> dict[str, object]:
    return dict(call.args) if names is None else {name: call.args.get(name) for name in names}
