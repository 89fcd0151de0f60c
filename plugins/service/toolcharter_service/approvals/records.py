"""What the service keeps of a question to a person."""

from typing import ClassVar, Literal

from pydantic import JsonValue

from toolcharter import RecordKind, StoreRecord

Status = Literal["pending", "allow_once", "allow_always", "deny", "expired", "cancelled"]


class ApprovalRecord(StoreRecord):
    """A call that waits for a person, or waited."""

    store_kind: ClassVar = RecordKind("approval", ("id",), indexed=("status", "agent", "requested_by", "asked_at"))

    id: str
    call_id: str
    stored_call: str = ""
    """The call that is stored, if the question belongs to one: then it outlives the process that asks."""
    worker: str
    """The process that asks."""
    tool: str
    action: str | None
    args: dict[str, JsonValue]
    """Scrubbed of secrets."""
    commands: tuple[str, ...]
    profile: str
    workspace: str
    agent: str
    user: str
    requested_by: str
    """Whose credentials made the call; nobody answers for itself."""
    person: str = ""
    """Who acts by these credentials, under whatever name."""
    token_id: str
    digest: str
    """SHA-256 of tool, canonical arguments, workspace and profile: the answer is to this and nothing else."""
    reason: str
    message: str | None
    always: bool
    why_not_always: str | None
    status: Status = "pending"
    asked_at: str
    expires: float
    """On `time.time`'s clock, in seconds."""
    answered_by: str | None = None
    answered_at: str | None = None
    note: str | None = None
