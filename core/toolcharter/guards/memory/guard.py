"""What every guard with memory is: facts about a call, held against a state of its own per session."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from toolcharter.api.call import Call, Deny, Outcome

S = TypeVar("S")
F = TypeVar("F")

Objection: TypeAlias = Deny | str | None
"""A denial, a warning for the model, or nothing."""


class Ending(NamedTuple):
    """How a call ended that had entered its tool."""

    outcome: Outcome
    text: str
    """What the model is told, before notes."""
    has_effects: bool


class MemoryGuard(ABC, Generic[S, F]):
    """One guard, for all sessions; it holds settings, never memory.

    `look`, `look_in` and `look_back` may take their time and touch files: they run outside the lock. All others
    run inside it, do no I/O, and are given the session's state. `check` must not change it.
    """

    @abstractmethod
    def fresh(self) -> S:
        """The state of a session that has called nothing yet."""

    @abstractmethod
    def look(self, call: Call) -> F:
        """Find out all that the guard wants to know of *call*, without its session."""

    def look_in(self, call: Call, facts: F) -> F:  # noqa: ARG002 - for guards that need it
        """The facts at the last moment before the call enters its tool."""
        return facts

    def look_back(self, call: Call, facts: F, ending: Ending) -> F:  # noqa: ARG002 - as above
        """The facts once the call has ended."""
        return facts

    @abstractmethod
    def check(self, state: S, call: Call, facts: F) -> Objection:
        """What there is to say against the call, were it made now."""

    def count(self, state: S, facts: F) -> None:
        """A call was made, and enters its tool or is refused by one of these guards."""

    def enter(self, state: S, facts: F, *, has_effects: bool) -> F:  # noqa: ARG002 - as above
        """A call enters its tool; `leave` gets the facts that this returns."""
        return facts

    def forget(self, state: S, call_ids: Collection[str]) -> None:
        """The model no longer sees the results of these calls; of no call any more, if none is named."""

    def leave(self, state: S, call: Call, facts: F, ending: Ending) -> str | None:  # noqa: ARG002 - as above
        """A call that entered has ended; a text is a message for the model."""
        return None
