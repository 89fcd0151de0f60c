"""The routes of generated tools: running code in the sandbox, which may propose a tool, and reviewing proposals.

Both are disabled unless the configuration enables `interpret`.
"""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from toolcharter import Caller, StoreConflict, StoreTransaction, ToolResult
from toolcharter_service.auth import CallerScope, Principal, Role
from toolcharter_service.auth.admin_routes import read_page
from toolcharter_service.auth.dependency import require
from toolcharter_service.calls.callers import caller_of
from toolcharter_service.calls.running import Calls
from toolcharter_service.generated.records import NotProposed, ProposalStatus, ToolProposal, store_within_limit
from toolcharter_service.generated.rule import build_record, rejection_reason
from toolcharter_service.http.encoding import json_response
from toolcharter_service.http.headers import KEYED_HEADERS
from toolcharter_service.http.keyed import caller_key, respond_once
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.registry.catalog import register_within
from toolcharter_service.registry.invoke import STATUSES, to_answer
from toolcharter_service.registry.records import ToolRecord
from toolcharter_service.registry.reload import RegistryReloader, now
from toolcharter_service.registry.routes import refusal_problem
from toolcharter_service.registry.rules import Actor, RegistryRefusal
from toolcharter_service.registry.tools import require_buildable
from toolcharter_service.service import Service

RUNS = "execute_code"
"""The tool that runs the code. The agent's profile decides whether it may run, and in which sandbox."""
ProposalId = Annotated[str, Path(pattern=r"^gen_[0-9a-f]{1,64}$")]
Invoker = Annotated[Principal, require(Role.CALLER, scope=CallerScope.INVOKE_TOOL)]


class InterpretBody(BaseModel):
    """Code to run once."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    language: Literal["python", "bash", "javascript"] = "python"
    code: Annotated[str, Field(min_length=1, max_length=100_000)]
    description: Annotated[str, Field(max_length=2_000)] = ""
    """The purpose of a tool made from the code."""
    timeout_ms: Annotated[int, Field(ge=1, le=3_600_000)] | None = None
    session_id: Annotated[str, Field(min_length=1, max_length=128)] | None = None


class Interpreted(BaseModel):
    """The result of the code, and whether a tool was proposed."""

    success: bool
    call_id: str
    result: Any
    tool_candidate: bool
    proposed_tool: str | None
    """The id of the pending proposal."""
    why_not: str | None
    """Why no tool was proposed."""


class Proposal(BaseModel):
    """A proposal as reviewers see it."""

    id: str
    tool: ToolRecord
    code: str
    agent: str
    proposed_by: str
    proposed_at: str
    call_id: str
    status: ProposalStatus
    reviewed_by: str | None
    reviewed_at: str | None
    note: str | None


class Proposals(BaseModel):
    """One page of proposals, the latest first."""

    proposals: tuple[Proposal, ...]
    after: str


class ReviewBody(BaseModel):
    """The decision of a reviewer. It is about the code that was read, since a proposal's id is a hash of the code."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    decision: Literal["approve", "reject"]
    note: Annotated[str, Field(max_length=2_000)] | None = None


class GeneratedRoutes:
    """The functions of the routes."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._reloader = RegistryReloader.of(service)

    async def execute(self, request: Request, principal: Invoker, body: InterpretBody) -> Response:
        """Run code in the sandbox of the agent's profile, as a call of `execute_code`."""
        if not self._service.config.interpret.enabled:
            raise HttpProblem(
                403, "The configuration does not have `interpret: {enabled: true}`.", "interpret_disabled"
            )
        caller = caller_of(self._service, principal, request, session=body.session_id)
        args: dict[str, Any] = {"language": body.language, "code": body.code}
        if body.timeout_ms is not None:
            args["timeout_ms"] = body.timeout_ms

        async def make(call_id: str) -> Response:
            calls = self._service.part(Calls)
            result = await calls.make(principal, caller, RUNS, args, call_id=call_id, headers=request.headers)
            shown = to_answer(RUNS, args, result)
            proposed = await asyncio.to_thread(self._propose, principal, caller, body, result)
            return json_response(_to_interpreted(result, shown, proposed).model_dump(mode="json"))

        request_parts = ("interpret", caller_key(caller), args, body.description)
        return await respond_once(self._service, request, principal, request_parts, make)

    def _propose(
        self, principal: Principal, caller: Caller, body: InterpretBody, result: ToolResult
    ) -> ToolProposal | NotProposed:
        """Propose a tool if the code qualifies. Return the pending proposal, or why there is none."""
        if not self._service.config.interpret.proposals:
            return NotProposed("the configuration does not have `interpret: {proposals: true}`")
        if result.outcome != "ok" or body.language != "python":
            return NotProposed("only Python that has run without an error can become a tool")
        if (why := rejection_reason(body.code)) is not None:
            return NotProposed(why)
        try:
            record = require_buildable(build_record(body.code, "", body.description, now()))
        except RegistryRefusal as refused:
            return NotProposed(refused.message)
        proposal = ToolProposal(
            id=record.id,
            record=record,
            code=body.code,
            agent=caller.agent or "*",
            proposed_by=principal.name,
            user=principal.user or "",
            person=principal.person,
            token_id=principal.token_id or "",
            call_id=result.call_id,
            proposed_at=now(),
        )
        return self._store_proposal(principal.tenant, proposal)

    def _store_proposal(self, tenant: str, proposal: ToolProposal) -> ToolProposal | NotProposed:
        most = self._service.config.interpret.max_pending
        try:
            return self._service.store(tenant).transact(lambda each: store_within_limit(each, proposal, most))
        except StoreConflict:
            return NotProposed("another request is proposing the same code")

    async def listed(
        self,
        principal: Annotated[Principal, require(Role.APPROVER)],
        status: Annotated[ProposalStatus | None, Query()] = None,
        after: Annotated[str, Query(max_length=2_000)] = "",
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> Proposals:
        """List proposals with their code, the latest first."""
        store = self._service.store(principal.tenant).asynchronous()
        where: dict[str, str] = {} if status is None else {"status": status}
        records, follows = await read_page(store, ToolProposal, where, after, limit, latest="proposed_at")
        return Proposals(
            proposals=tuple(_to_proposal(one) for one in records if _may_see(principal, one)), after=follows
        )

    async def review(
        self, proposal_id: ProposalId, body: ReviewBody, principal: Annotated[Principal, require(Role.APPROVER)]
    ) -> Proposal:
        """Approve a proposal, which creates the tool, or reject it: once, and not as its author."""
        try:
            found = await asyncio.to_thread(self._write_review, principal, proposal_id, body)
        except RegistryRefusal as refused:
            raise refusal_problem(refused) from None
        except StoreConflict:
            raise HttpProblem(409, "Another reviewer has just reviewed it.", "reviewed") from None
        action = "tool.created" if found.status == "approved" else "tool.rejected"
        self._reloader.emit_record_event(principal.tenant, found.record, action, principal.name)
        if found.status == "approved":
            await self._reloader.reload_everywhere(principal.tenant)
        return _to_proposal(found)

    def _write_review(self, principal: Principal, proposal_id: str, body: ReviewBody) -> ToolProposal:
        """Write the review and the tool in one transaction."""

        def work(each: StoreTransaction) -> ToolProposal:
            known = each.get(ToolProposal, proposal_id)
            if known is None or not _may_see(principal, known.record):
                raise HttpProblem(404, f"There is no proposal {proposal_id!r}.", "unknown_proposal")
            proposal = known.record
            _require_reviewable(proposal, principal)
            status: ProposalStatus = "rejected"
            if body.decision == "approve":
                status = "approved"
                register_within(each, require_buildable(proposal.record), Actor(principal.name, proposal.agent), now())
            update = {"status": status, "reviewed_by": principal.name, "reviewed_at": now(), "note": body.note}
            reviewed = proposal.model_copy(update=update)
            each.put(reviewed, expected=known.version)
            return reviewed

        return self._service.store(principal.tenant).transact(work)


def _to_interpreted(result: ToolResult, shown: Any, proposed: ToolProposal | NotProposed) -> Interpreted:
    return Interpreted(
        success=result.outcome == "ok",
        call_id=result.call_id,
        result=shown,
        tool_candidate=isinstance(proposed, ToolProposal),
        proposed_tool=proposed.id if isinstance(proposed, ToolProposal) else None,
        why_not=proposed.why if isinstance(proposed, NotProposed) else None,
    )


def _require_reviewable(proposal: ToolProposal, principal: Principal) -> None:
    """Refuse a review by the proposal's author, and a second review.

    Raises:
        HttpProblem: 403 or 409.
    """
    if principal.is_requester((proposal.proposed_by, proposal.user, proposal.token_id), proposal.person):
        message = "You cannot review your own proposal, nor with credentials that its author has made."
        raise HttpProblem(403, message, "own_proposal")
    if proposal.status != "pending":
        raise HttpProblem(409, f"{proposal.reviewed_by} has reviewed it already.", "reviewed")


def _may_see(principal: Principal, proposal: ToolProposal) -> bool:
    """Whether *principal* may see the proposal: one that is bound to agents sees only their proposals."""
    return principal.agents is None or proposal.agent in principal.agents


def _to_proposal(proposal: ToolProposal) -> Proposal:
    kept = proposal.model_dump(include=set(Proposal.model_fields))
    return Proposal.model_validate({**kept, "tool": proposal.record})


def routes(service: Service) -> APIRouter:
    """Return the routes of generated tools."""
    handlers = GeneratedRoutes(service)
    router = APIRouter(prefix="/api/v1", tags=["generated tools"])
    router.add_api_route(
        "/interpret/execute",
        handlers.execute,
        methods=["POST"],
        response_model=Interpreted,
        responses=error_responses(*STATUSES),
        openapi_extra={"parameters": KEYED_HEADERS},
    )
    router.add_api_route("/proposals", handlers.listed, methods=["GET"], responses=error_responses())
    router.add_api_route(
        "/proposals/{proposal_id}", handlers.review, methods=["POST"], responses=error_responses(404, 409)
    )
    return router
