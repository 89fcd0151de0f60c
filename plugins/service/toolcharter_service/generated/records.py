"""What the service keeps of a tool that was proposed, until a person has reviewed it and after."""

from typing import ClassVar, Literal

from toolcharter import RecordKind, StoreRecord
from toolcharter_service.registry.records import ToolRecord

ProposalStatus = Literal["pending", "approved", "rejected"]


class ToolProposal(StoreRecord):
    """A tool that would be made of code which ran once. It is none before it is approved."""

    store_kind: ClassVar = RecordKind("tool_proposal", ("id",), indexed=("status", "agent", "proposed_at"))

    id: str
    """That of the tool: a hash of what runs."""
    record: ToolRecord
    code: str
    agent: str
    """For whom it ran."""
    proposed_by: str
    user: str
    token_id: str
    call_id: str
    """The call in which it ran."""
    proposed_at: str
    status: ProposalStatus = "pending"
    reviewed_by: str | None = None
    reviewed_at: str | None = None
    note: str | None = None
