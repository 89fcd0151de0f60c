"""`depends_on`: calls that need an earlier one in their session, else `precondition_failed`."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from toolcharter.guards.memory.guard import Ending, MemoryGuard, Objection
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import DependsOn
from toolcharter.spec.call import Call, Deny
from toolcharter.spec.reasons import Reason

Matches = Callable[[Call], bool]


class Place(NamedTuple):
    """Where a call stands: the numbers of the entries it falls under, and of those it fulfils."""

    needs: tuple[int, ...]
    fulfils: tuple[int, ...]


class OrderGuard(MemoryGuard[set[int], Place]):
    """Remembers which needs of the profile an ok call of the session has met; once is enough."""

    def __init__(self, entries: Sequence[DependsOn], matcher: Callable[[Rule], Matches]) -> None:
        self._entries = tuple(entries)
        self._needing = tuple(matcher(entry.match) for entry in entries)
        self._meeting = tuple(matcher(entry.needs) for entry in entries)

    def fresh(self) -> set[int]:
        """Nothing is met yet."""
        return set()

    def look(self, call: Call) -> Place:
        """Both sides of every entry."""
        return Place(_numbers(self._needing, call), _numbers(self._meeting, call))

    def check(self, state: set[int], call: Call, facts: Place) -> Objection:
        """Deny for the first need, in file order, that nothing has met."""
        for number in facts.needs:
            if number not in state:
                entry = self._entries[number]
                ours = f"{call.tool!r} needs an earlier call that matches {entry.needs.text!r} and ends well."
                return Deny(Reason.PRECONDITION_FAILED, entry.message or ours)
        return None

    def leave(self, state: set[int], call: Call, facts: Place, ending: Ending) -> None:  # noqa: ARG002 - what every guard gets
        """An ok call meets what it fulfils."""
        if ending.outcome == "ok":
            state.update(facts.fulfils)


def _numbers(predicates: Sequence[Matches], call: Call) -> tuple[int, ...]:
    return tuple(number for number, matches in enumerate(predicates) if matches(call))
