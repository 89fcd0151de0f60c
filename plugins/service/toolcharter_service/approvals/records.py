"""The record of a question to an approver."""

from typing import ClassVar, Literal

from pydantic import JsonValue

from toolcharter import RecordKind, StoreRecord

Status = Literal["pending", "allow_once", "allow_always", "deny", "expired", "cancelled"]


class ApprovalRecord(StoreRecord):
    """A call that waits, or waited, for an approver."""

    store_kind: ClassVar = RecordKind("approval", ("id",), indexed=("status", "agent", "requested_by", "asked_at"))

    id: str
    call_id: str
    stored_call: str = ""
    """The stored call that the question belongs to; empty for none. Such a question outlives the asking process."""
    worker: str
    """The process that asks."""
    tool: str
    action: str | None
    args: dict[str, JsonValue]
    """The arguments, with secrets redacted."""
    commands: tuple[str, ...]
    profile: str
    workspace: str
    agent: str
    user: str
    requested_by: str
    """The name of the principal that made the call. It may not answer its own question."""
    person: str = ""
    """The person acting through these credentials, whatever the principal's name is."""
    token_id: str
    digest: str
    """SHA-256 of tool, canonical arguments, workspace and profile. The answer is valid for exactly these."""
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
