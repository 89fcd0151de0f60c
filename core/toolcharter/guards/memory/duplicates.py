"""`skip_duplicate`: a call whose result the session already has is `repeated_call`.

No result is kept or handed out. A duplicate is legitimate again as soon as another call that may have effects
has run, whatever came of it short of a denial, and while one runs: nobody is forced to live with a stale answer.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from toolcharter.api.call import Call, Deny
from toolcharter.api.reasons import Reason
from toolcharter.guards.memory.digests import of_call
from toolcharter.guards.memory.guard import Ending, MemoryGuard, Objection
from toolcharter.guards.memory.recent import Recent
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import SkipDuplicate

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
    """What a call would be the duplicate of, and what had happened when it entered."""

    keys: tuple[Key, ...]
    has_effects: bool = False
    effects: int = 0


class DuplicatesGuard(MemoryGuard[Done, Marks]):
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
