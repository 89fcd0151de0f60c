"""The record of a proposed tool, before and after its review."""

from typing import ClassVar, Literal, NamedTuple

from toolcharter import RecordKind, StoreRecord, StoreTransaction
from toolcharter_service.registry.records import ToolRecord

ProposalStatus = Literal["pending", "approved", "rejected"]


class ToolProposal(StoreRecord):
    """A proposed tool, from code that has run once. It becomes a tool only if a reviewer approves it."""

    store_kind: ClassVar = RecordKind("tool_proposal", ("id",), indexed=("status", "agent", "proposed_at"))

    id: str
    """The id of the future tool: a hash of the command that it runs."""
    record: ToolRecord
    code: str
    agent: str
    """The agent for which the code ran."""
    proposed_by: str
    user: str
    person: str = ""
    """The person acting through the credentials of `proposed_by`."""
    token_id: str
    call_id: str
    """The call in which the code ran."""
    proposed_at: str
    status: ProposalStatus = "pending"
    reviewed_by: str | None = None
    reviewed_at: str | None = None
    note: str | None = None


class NotProposed(NamedTuple):
    """The reason why no tool was proposed, as a sentence."""

    why: str


def store_within_limit(store: StoreTransaction, proposal: ToolProposal, limit: int) -> ToolProposal | NotProposed:
    """Store *proposal* for a review, unless it exists, has been reviewed, or *limit* proposals are pending already."""
    known = store.get(ToolProposal, proposal.id)
    if known is not None and known.record.status == "pending":
        return known.record
    if known is not None:
        return NotProposed(f"a person has reviewed it already: {known.record.status}")
    if len(store.page(ToolProposal, where={"status": "pending"}, limit=limit).records) >= limit:
        return NotProposed(f"{limit} proposals wait for a review already")
    store.put(proposal, expected=0)
    return proposal
