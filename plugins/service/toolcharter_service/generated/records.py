"""What the service keeps of a tool that was proposed, until a person has reviewed it and after."""

from typing import ClassVar, Literal, NamedTuple

from toolcharter import RecordKind, StoreRecord, StoreTransaction
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
    person: str = ""
    """Who acts by the credentials of `proposed_by`."""
    token_id: str
    call_id: str
    """The call in which it ran."""
    proposed_at: str
    status: ProposalStatus = "pending"
    reviewed_by: str | None = None
    reviewed_at: str | None = None
    note: str | None = None


class NotProposed(NamedTuple):
    """Why no tool was proposed, as a sentence."""

    why: str


def kept_within(store: StoreTransaction, proposal: ToolProposal, most: int) -> ToolProposal | NotProposed:
    """Keep *proposal* for a review, unless it is there, or has been reviewed, or *most* others wait already."""
    known = store.get(ToolProposal, proposal.id)
    if known is not None and known.record.status == "pending":
        return known.record
    if known is not None:
        return NotProposed(f"a person has reviewed it already: {known.record.status}")
    if len(store.page(ToolProposal, where={"status": "pending"}, limit=most).records) >= most:
        return NotProposed(f"{most} proposals wait for a review already")
    store.put(proposal, expected=0)
    return proposal
