"""The routes of approvals: list questions, and answer each once, in time, and not as the person who asked."""

import time
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from toolcharter import StoreConflict, StoreTransaction
from toolcharter_service.approvals.record_approver import wake
from toolcharter_service.approvals.records import ApprovalRecord, Status
from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.admin_routes import read_page
from toolcharter_service.auth.dependency import require
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.service import Service, now

ApprovalId = Annotated[str, Path(pattern=r"^[!-~]{1,128}$")]


class Approval(BaseModel):
    """A question as approvers see it."""

    id: str
    call_id: str
    stored_call: str
    tool: str
    action: str | None
    args: dict[str, object]
    commands: tuple[str, ...]
    profile: str
    workspace: str
    agent: str
    user: str
    requested_by: str
    digest: str
    reason: str
    message: str | None
    always: bool
    why_not_always: str | None
    status: Status
    asked_at: str
    expires: float
    answered_by: str | None
    answered_at: str | None
    note: str | None


class Approvals(BaseModel):
    """One page of questions, the latest first."""

    approvals: tuple[Approval, ...]
    after: str


class ApprovalReply(BaseModel):
    """The answer of an approver."""

    model_config = ConfigDict(extra="forbid", strict=True)

    answer: Literal["allow_once", "allow_always", "deny"]
    digest: str = Field(min_length=1, max_length=128)
    """The digest of the question that the approver read. An answer to any other question is refused."""
    message: str | None = Field(default=None, max_length=2_000)
    """Shown to the agent with a denial."""


def routes(service: Service) -> APIRouter:
    """Return the routes below `/v1/approvals`."""
    router, part = APIRouter(prefix="/v1/approvals", tags=["approvals"]), _Routes(service)
    router.add_api_route("", part.list_approvals, methods=["GET"], responses=error_responses())
    router.add_api_route("/{approval}", part.read_approval, methods=["GET"], responses=error_responses(404))
    router.add_api_route(
        "/{approval}", part.answer_approval, methods=["POST"], responses=error_responses(404, 409, 415, 422)
    )
    return router


class _Routes:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_approvals(
        self,
        principal: Annotated[Principal, require(Role.VIEWER)],
        status: Annotated[Status | None, Query()] = None,
        after: Annotated[str, Query(max_length=2_000)] = "",
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> Approvals:
        """List pending and answered questions, the latest first."""
        store = self._service.store(principal.tenant).asynchronous()
        where: dict[str, str] = {} if status is None else {"status": status}
        records, follows = await read_page(store, ApprovalRecord, where, after, limit, latest="asked_at")
        seen = (record for record in records if _may_see(principal, record))
        return Approvals(approvals=tuple(map(_to_approval, seen)), after=follows)

    async def read_approval(
        self, approval: ApprovalId, principal: Annotated[Principal, require(Role.VIEWER)]
    ) -> Approval:
        """Show one question."""
        found = await self._service.store(principal.tenant).asynchronous().get(ApprovalRecord, approval)
        if found is None or not _may_see(principal, found.record):
            raise _unknown(approval)
        return _to_approval(found.record)

    async def answer_approval(
        self, approval: ApprovalId, reply: ApprovalReply, principal: Annotated[Principal, require(Role.APPROVER)]
    ) -> Approval:
        """Answer a question."""

        def answered(transaction: StoreTransaction) -> ApprovalRecord:
            found = transaction.get(ApprovalRecord, approval)
            if found is None or not _may_see(principal, found.record):
                raise _unknown(approval)
            _require_answerable(found.record, reply, principal)
            update = {
                "status": reply.answer,
                "answered_by": principal.name,
                "answered_at": now(),
                "note": reply.message,
            }
            record = found.record.model_copy(update=update)
            transaction.put(record, expected=found.version)
            return record

        try:
            record = await self._service.store(principal.tenant).asynchronous().transact(answered)
        except StoreConflict:
            raise HttpProblem(409, "Another approver has just answered.", "answered") from None
        wake(principal.tenant, approval)
        self._service.emit(
            "service.admin",
            action="approval_answered",
            tenant=principal.tenant,
            target=approval,
            by=principal.key,
            call_id=record.call_id,
            answer=reply.answer,
        )
        return _to_approval(record)


def _may_see(principal: Principal, record: ApprovalRecord) -> bool:
    """Whether *principal* may see the question: one that is bound to agents sees only their questions."""
    return principal.agents is None or record.agent in principal.agents


def _require_answerable(record: ApprovalRecord, reply: ApprovalReply, principal: Principal) -> None:
    """Refuse an answer that is a repetition, is late, is for another question, or comes from the caller itself.

    Raises:
        HttpProblem: 403 or 409.
    """
    if principal.is_requester((record.requested_by, record.user, record.token_id), record.person):
        message = (
            "You cannot answer for your own call: its credentials and yours belong to the same person, or its caller "
            "has made yours. A token that is for another person has to name that person as `user`."
        )
        raise HttpProblem(403, message, "own_call", record.call_id)
    if record.status in {"expired", "cancelled"} or (time.time() >= record.expires > 0 and not record.stored_call):
        raise HttpProblem(409, record.note or "The time for an answer is over.", "expired", record.call_id)
    if record.status != "pending":
        raise HttpProblem(409, f"{record.answered_by} has answered already.", "answered", record.call_id)
    if reply.digest != record.digest:
        raise HttpProblem(409, "The answer is for another question.", "digest_differs", record.call_id)
    if reply.answer == "allow_always" and not record.always:
        message = record.why_not_always or "This call cannot be allowed always."
        raise HttpProblem(409, message, "always_not_offered", record.call_id)


def _to_approval(record: ApprovalRecord) -> Approval:
    return Approval.model_validate(record.model_dump(include=set(Approval.model_fields)))


def _unknown(approval: str) -> HttpProblem:
    return HttpProblem(404, f"There is no approval {approval[:100]!r}.", "unknown_approval")
