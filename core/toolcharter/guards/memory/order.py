"""`depends_on`: calls that need an earlier one in their session, else `precondition_failed`."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from toolcharter.api.call import Call, Deny
from toolcharter.api.reasons import Reason
from toolcharter.guards.memory.digests import of_args
from toolcharter.guards.memory.guard import Ending, MemoryGuard, Objection
from toolcharter.guards.memory.recent import Recent
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import DependsOn

Matches = Callable[[Call], bool]


MAX_NEEDS = 1024
"""How many needs a session remembers as met; an older one must be met again."""

Need = tuple[int, bytes]
"""An entry's number, and the arguments that both calls must share."""


class Place(NamedTuple):
    """Where a call stands: what it needs, and what it meets."""

    needs: tuple[Need, ...]
    meets: tuple[Need, ...]


class OrderGuard(MemoryGuard[Recent[Need], Place]):
    """Remembers which needs of the profile an ok call of the session has met; once is enough."""

    def __init__(self, entries: Sequence[DependsOn], matcher: Callable[[Rule], Matches]) -> None:
        self._entries = tuple(entries)
        self._needing = tuple(matcher(entry.match) for entry in entries)
        self._meeting = tuple(matcher(entry.needs) for entry in entries)

    def fresh(self) -> Recent[Need]:
        """Nothing is met yet."""
        return Recent(MAX_NEEDS)

    def look(self, call: Call) -> Place:
        """Both sides of every entry."""
        return Place(self._of(self._needing, call), self._of(self._meeting, call))

    def _of(self, predicates: Sequence[Matches], call: Call) -> tuple[Need, ...]:
        return tuple(
            (number, of_args(call.args, self._entries[number].args))
            for number, matches in enumerate(predicates)
            if matches(call)
        )

    def check(self, state: Recent[Need], call: Call, facts: Place) -> Objection:
        """Deny for the first need, in file order, that nothing has met."""
        for need in facts.needs:
            if need not in state:
                entry = self._entries[need[0]]
                same = f" with the same {', '.join(map(repr, entry.args))}" if entry.args else ""
                ours = f"{call.tool!r} needs an earlier call that matches {entry.needs.text!r}{same} and ends well."
                return Deny(Reason.PRECONDITION_FAILED, entry.message or ours)
        return None

    def leave(self, state: Recent[Need], call: Call, facts: Place, ending: Ending) -> None:  # noqa: ARG002 - what every guard gets
        """An ok call meets what it fulfils."""
        if ending.outcome == "ok":
            for need in facts.meets:
                state.add(need)
