"""The life of a subagent: its states, its limits and their order. Pure.

Source: GoClaw, "Tools System", section 6: Spawning, Running, Rejected, Completed, Failed, Cancelled, Archived; depth 1,
8 at once, 5 of one parent, 20 iterations, archived after 60 minutes. There finished ones count until they are archived;
here they do not.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from toolcharter import RecordKind, StoreRecord


class State(StrEnum):
    """Where a subagent is in its life."""

    SPAWNING = "spawning"
    RUNNING = "running"
    REJECTED = "rejected"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ARCHIVED = "archived"


ENDED = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.REJECTED})
MOVES: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.SPAWNING: frozenset({State.RUNNING, State.REJECTED}),
        State.RUNNING: frozenset({State.COMPLETED, State.FAILED, State.CANCELLED}),
        **dict.fromkeys(ENDED, frozenset({State.ARCHIVED})),
        State.ARCHIVED: frozenset[State](),
    }
)
"""What may follow a state. The first end stays: who comes later changes nothing."""


class SpawnReason(StrEnum):
    """Why no subagent is started, or how one has failed."""

    DEPTH_LIMIT = "depth_limit"
    CONCURRENT_LIMIT = "concurrent_limit"
    CHILDREN_LIMIT = "children_limit"
    MODEL_NOT_ALLOWED = "model_not_allowed"
    TASK_TOO_LONG = "task_too_long"
    STARTS_AN_AGENT = "starts_an_agent"
    MAX_ITERATIONS = "max_iterations"


class Limits(NamedTuple):
    """How many subagents there may be."""

    max_depth: int = 1
    max_concurrent: int = 8
    max_children: int = 5


def refusal(limits: Limits, depth: int, running: int, children: int) -> tuple[SpawnReason, str] | None:
    """Why one more subagent is rejected, with a sentence; None if it is not. Depth comes first, then all, then the parent's.

    Args:
        limits: What the profile says.
        depth: How deep the parent is.
        running: How many run for all parents of the tenant, over all workers.
        children: How many of them are the parent's.
    """
    if depth >= limits.max_depth:
        return SpawnReason.DEPTH_LIMIT, f"Subagents may be {limits.max_depth} deep, and this agent is at {depth}."
    if running >= limits.max_concurrent:
        return SpawnReason.CONCURRENT_LIMIT, f"{running} of {limits.max_concurrent} subagents are running."
    if children >= limits.max_children:
        return SpawnReason.CHILDREN_LIMIT, f"{children} of {limits.max_children} subagents of this agent are running."
    return None


class Subagent(StoreRecord):
    """A subagent. Times are seconds since 1970."""

    store_kind: ClassVar = RecordKind(
        "subagent", ("id",), indexed=("parent", "is_active", "is_told", "state", "sequence")
    )

    id: str
    parent: str
    """The key of its parent's session."""
    agent: str
    """The agent that started it."""
    user: str
    session: str
    """The key of its own session."""
    label: str
    task: str
    target: str = ""
    """The agent that the task was delegated to."""
    model: str = ""
    state: State
    is_active: bool
    """Whether it counts against the limits."""
    depth: int
    result: str = ""
    reason: str | None = None
    iterations: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    created: float
    sequence: int
    """`created` in microseconds: the order of lists."""
    ended: float = 0.0
    alive_until: float = 0.0
    """Until when its worker is believed to be there."""
    is_told: bool = False
    """Whether its end needs no word to its parent, or has had it."""

    def moved(self, state: State, now: float, **changes: Any) -> "Subagent":
        """The same in another state.

        Raises:
            ValueError: None of its present state leads there.
        """
        if state not in MOVES[self.state]:
            raise ValueError(f"a subagent that is {self.state} does not become {state}")
        is_active = state in {State.SPAWNING, State.RUNNING}
        ended = self.ended if is_active or self.ended else now
        return self.model_copy(update={"state": state, "is_active": is_active, "ended": ended, **changes})

    def told(self) -> "Subagent":
        """The same once its parent knows of its end."""
        return self.model_copy(update={"is_told": True})

    def runtime_s(self, now: float) -> float:
        """How long it has run, in seconds."""
        return max(0.0, (self.ended or now) - self.created)


class Archive(NamedTuple):
    """When ended subagents are put away."""

    after_s: float = 3600.0
    forget_after_s: float = 86_400.0


def overdue(one: Subagent, now: float, archive: Archive) -> State | None:
    """What an old record has to become: FAILED if its worker is gone, ARCHIVED if it ended long ago."""
    if one.is_active:
        return State.FAILED if one.alive_until < now else None
    return State.ARCHIVED if one.state in ENDED and one.ended + archive.after_s <= now else None
