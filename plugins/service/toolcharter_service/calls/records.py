"""The records of calls that outlive a process: calls with an idempotency key, and stored calls."""

from typing import ClassVar, Literal

from toolcharter import RecordKind, StoreRecord

State = Literal["queued", "running", "waiting", "done", "cancelled", "lost"]
ENDED: frozenset[State] = frozenset({"done", "cancelled", "lost"})


class KeyedCall(StoreRecord):
    """A used idempotency key, and the response to its request."""

    store_kind: ClassVar[RecordKind] = RecordKind("keyed_call", key=("owner", "key"), indexed=("expires",))

    owner: str
    """The principal that owns the key: the same key of another principal is a different key."""
    key: str
    fingerprint: str
    """SHA-256 of the parts of the request that repeated requests must have in common."""
    worker: str
    """The process that runs the call."""
    call_id: str
    status: int = 0
    """The status of the response; 0 as long as there is none."""
    answer: str = ""
    """The body of the response."""
    expires: int
    """Seconds since the epoch."""


class StoredCall(StoreRecord):
    """A call that runs without a waiting client, on the worker that takes it first."""

    store_kind: ClassVar[RecordKind] = RecordKind("stored_call", key=("id",), indexed=("state", "expires"))

    id: str
    owner: str
    """The principal that may look at it and cancel it."""
    name: str
    """The principal's name in events and approvals."""
    token_id: str
    person: str = ""
    """The person acting through the principal's credentials."""
    tool: str
    args: str
    """JSON."""
    agent: str | None
    session: str | None
    user: str | None
    project: str | None
    traceparent: str | None
    state: State = "queued"
    worker: str = ""
    question: str = ""
    """The approval that it waits for, or last waited for."""
    cancels: bool = False
    """Whether a client has asked to cancel it. The worker that runs it has to notice."""
    answer: str = ""
    """The result as JSON."""
    created_at: str
    finished_at: str | None = None
    expires: int
    """Seconds since the epoch."""
