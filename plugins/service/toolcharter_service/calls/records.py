"""What outlives a process: calls that have a key, and calls that run by themselves."""

from typing import ClassVar, Literal

from toolcharter import RecordKind, StoreRecord

State = Literal["queued", "running", "waiting", "done", "cancelled", "lost"]
ENDED: frozenset[State] = frozenset({"done", "cancelled", "lost"})


class KeyedCall(StoreRecord):
    """That a key was used, and what was answered."""

    store_kind: ClassVar[RecordKind] = RecordKind("keyed_call", key=("owner", "key"), indexed=("expires",))

    owner: str
    """The principal whose key it is: another one's is another key."""
    key: str
    fingerprint: str
    """SHA-256 of all of the request that counts."""
    worker: str
    """Which process runs it."""
    call_id: str
    status: int = 0
    """Of the answer; 0 as long as there is none."""
    answer: str = ""
    """The body of the answer."""
    expires: int
    """Seconds since the epoch."""


class StoredCall(StoreRecord):
    """A call that runs by itself, on whichever worker takes it."""

    store_kind: ClassVar[RecordKind] = RecordKind("stored_call", key=("id",), indexed=("state", "expires"))

    id: str
    owner: str
    """The principal that may look at it and cancel it."""
    name: str
    """What events and approvals call the principal."""
    token_id: str
    person: str = ""
    """Who acts by the principal's credentials."""
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
    """The approval that it waits for, or waited for last."""
    cancels: bool = False
    """Whether somebody wants it cancelled, where another worker runs it."""
    answer: str = ""
    """The result as JSON."""
    created_at: str
    finished_at: str | None = None
    expires: int
    """Seconds since the epoch."""
