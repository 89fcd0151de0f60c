"""The life cycle of a subagent: its states, their order, and its limits. Pure.

Source: GoClaw, "Tools System", section 6: Spawning, Running, Rejected, Completed, Failed, Cancelled, Archived; depth 1,
8 at once, 5 of one parent, 20 iterations, archived after 60 minutes. In GoClaw, finished subagents count against the
limits until they are archived; here they do not.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from toolcharter import RecordKind, StoreRecord


class State(StrEnum):
    """A state in the life cycle of a subagent."""

    SPAWNING = "spawning"
    RUNNING = "running"
    REJECTED = "rejected"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ARCHIVED = "archived"


ENDED = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.REJECTED})
TRANSITIONS: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.SPAWNING: frozenset({State.RUNNING, State.REJECTED}),
        State.RUNNING: frozenset({State.COMPLETED, State.FAILED, State.CANCELLED}),
        **dict.fromkeys(ENDED, frozenset({State.ARCHIVED})),
        State.ARCHIVED: frozenset[State](),
    }
)
"""The states that may follow each state. The first end is final: a later one changes nothing."""


class SpawnReason(StrEnum):
    """Why no subagent is started, or why a subagent has failed."""

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


def rejection(limits: Limits, depth: int, running: int, children: int) -> tuple[SpawnReason, str] | None:
    """Return the reason and the message for rejecting one more subagent; None if the limits allow it.

    The limits are checked in this order: the depth, all subagents, the parent's subagents.

    Args:
        limits: The profile's limits.
        depth: The depth of the parent.
        running: How many subagents run for all parents of the tenant, on all workers.
        children: How many of them are the parent's.
    """
    if depth >= limits.max_depth:
        return SpawnReason.DEPTH_LIMIT, f"Subagents may be {limits.max_depth} deep; this agent is at depth {depth}."
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
    """The key of the parent's session."""
    agent: str
    """The agent that started it."""
    user: str
    session: str
    """The key of the subagent's own session."""
    label: str
    task: str
    target: str = ""
    """The agent that the task was delegated to."""
    model: str = ""
    state: State
    is_active: bool
    """Whether the subagent counts against the limits."""
    depth: int
    result: str = ""
    reason: str | None = None
    iterations: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    created: float
    sequence: int
    """`created` in microseconds, by which lists are ordered."""
    ended: float = 0.0
    alive_until: float = 0.0
    """When the last heartbeat expires; after this time its worker counts as lost."""
    is_told: bool = False
    """Whether its parent has been notified of its end, or needs no notification."""

    def with_state(self, state: State, now: float, **changes: Any) -> "Subagent":
        """Return this subagent in another state, with *changes*.

        Raises:
            ValueError: That state may not follow the current one.
        """
        if state not in TRANSITIONS[self.state]:
            raise ValueError(f"a subagent that is {self.state} does not become {state}")
        is_active = state in {State.SPAWNING, State.RUNNING}
        ended = self.ended if is_active or self.ended else now
        return self.model_copy(update={"state": state, "is_active": is_active, "ended": ended, **changes})

    def marked_notified(self) -> "Subagent":
        """Return this subagent, marked as notified to its parent."""
        return self.model_copy(update={"is_told": True})

    def runtime_s(self, now: float) -> float:
        """Return for how long the subagent has run, in seconds."""
        return max(0.0, (self.ended or now) - self.created)


class Archive(NamedTuple):
    """After how many seconds ended subagents are archived, and then deleted."""

    after_s: float = 3600.0
    forget_after_s: float = 86_400.0


def due_state(one: Subagent, now: float, archive: Archive) -> State | None:
    """Return the state that an old record must change to; None if it is not due.

    FAILED if its worker is lost, ARCHIVED if it ended long ago.
    """
    if one.is_active:
        return State.FAILED if one.alive_until < now else None
    return State.ARCHIVED if one.state in ENDED and one.ended + archive.after_s <= now else None
