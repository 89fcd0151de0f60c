"""The routes of requests for access."""

import secrets
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from toolcharter import (
    MCP_RECORDS,
    McpAgentGrant,
    McpServerRecord,
    McpUserGrant,
    Store,
    StoreConflict,
    StoreTransaction,
)
from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.admin_routes import read_page
from toolcharter_service.grants.grant_routes import NewGrant, build_grant
from toolcharter_service.grants.records import AccessRequest, Scope, ServerName, Subject, ToolNames
from toolcharter_service.grants.shared import (
    Administrator,
    Anyone,
    emit_admin_event,
    require_known,
    require_reach,
    unknown_problem,
)
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.service import Service, now

RequestId = Annotated[str, Path(pattern=r"^[!-~]{1,128}$")]


class NewRequest(BaseModel):
    """A new request to use a server."""

    model_config = ConfigDict(extra="forbid", strict=True)

    server: ServerName
    scope: Scope
    subject: Subject | None = None
    """For the scope `agent`, the agent; by default the only agent that the token speaks for. For `user`, oneself."""
    tool_allow: ToolNames | None = Field(default=None, strict=False)
    reason: str = Field(default="", max_length=2_000)


class ShownRequest(BaseModel):
    """A request for access."""

    id: str
    server: str
    scope: Scope
    subject: str
    tool_allow: list[str] | None
    reason: str
    status: Literal["pending", "approved", "rejected"]
    requested_by: str
    requested_at: str
    reviewed_by: str | None
    reviewed_at: str | None
    note: str


class Requests(BaseModel):
    """Requests for access, the latest first."""

    requests: list[ShownRequest]
    after: str


class Review(BaseModel):
    """The decision of an administrator."""

    model_config = ConfigDict(extra="forbid", strict=True)

    approved: bool
    note: str = Field(default="", max_length=2_000)


class RequestRoutes:
    """The functions of the routes `/v1/mcp/requests`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def add_to(self, router: APIRouter) -> None:
        """Add the routes."""
        router.add_api_route("/requests", self.list_requests, methods=["GET"], responses=error_responses())
        router.add_api_route(
            "/requests",
            self.create_request,
            methods=["POST"],
            status_code=201,
            responses=error_responses(404, 415, 422),
        )
        router.add_api_route(
            "/requests/{request}/review",
            self.review_request,
            methods=["POST"],
            responses=error_responses(404, 409, 415, 422),
        )

    async def list_requests(
        self,
        principal: Anyone,
        status: Annotated[Literal["pending", "approved", "rejected"] | None, Query()] = None,
        after: Annotated[str, Query(max_length=2_000)] = "",
    ) -> Requests:
        """List requests for access: all requests for a viewer, one's own requests for others."""
        where: dict[str, str] = {} if status is None else {"status": status}
        if not principal.has(Role.VIEWER):
            where["requested_by"] = principal.name
        store = self._store(principal).asynchronous()
        records, follows = await read_page(store, AccessRequest, where, after, 100, latest="requested_at")
        return Requests(requests=[_shown_request(one) for one in records if _may_see(principal, one)], after=follows)

    async def create_request(self, body: NewRequest, principal: Anyone) -> ShownRequest:
        """Request access to a server, for an agent that the token speaks for, or for oneself."""
        store = self._store(principal).asynchronous()
        record = AccessRequest(
            id=secrets.token_urlsafe(12),
            server=body.server,
            scope=body.scope,
            subject=_resolve_subject(body, principal),
            tool_allow=body.tool_allow,
            reason=body.reason,
            requested_by=principal.name,
            user=principal.user or "",
            requested_at=now(),
        )
        await require_known(store, body.server, set(body.tool_allow or ()))
        await store.put(record, expected=0)
        emit_admin_event(self._service, principal, "mcp_request_created", record.id)
        return _shown_request(record)

    async def review_request(self, request: RequestId, body: Review, principal: Administrator) -> ShownRequest:
        """Approve a request, which creates the grant in the same transaction, or reject it. One's own is refused."""

        def reviewed(transaction: StoreTransaction) -> AccessRequest:
            found = transaction.get(AccessRequest, request)
            if found is None:
                raise unknown_problem("request", request)
            record = found.record
            require_reach(principal, record.scope, record.subject)
            # The maker of the requesting token may review: an admin could grant access without a request anyway.
            asked = {record.requested_by, record.user, record.subject if record.scope == "user" else ""}
            if principal.lineage & asked:
                message = "You cannot review your own request, nor with credentials that its author has made."
                raise HttpProblem(403, message, "own_request")
            if record.status != "pending":
                raise HttpProblem(409, f"{record.reviewed_by} has reviewed it already.", "reviewed")
            if body.approved:
                if transaction.get(McpServerRecord, record.server) is None:
                    raise unknown_problem("server", record.server)
                allow = None if record.tool_allow is None else list(record.tool_allow)
                wanted = NewGrant(tool_allow=allow)
                before = _find_grant(transaction, record)
                if before is not None:  # Denied tools stay denied, and a shorter time limit stays.
                    overrides = before.config_overrides if isinstance(before, McpAgentGrant) else {}
                    wanted = NewGrant(
                        tool_allow=allow, tool_deny=list(before.tool_deny), config_overrides=dict(overrides)
                    )
                transaction.put(build_grant(record.server, record.scope, record.subject, wanted, principal))
            status: Literal["approved", "rejected"] = "approved" if body.approved else "rejected"
            after = record.model_copy(
                update={"status": status, "reviewed_by": principal.name, "reviewed_at": now(), "note": body.note}
            )
            transaction.put(after, expected=found.version)
            return after

        try:
            record = await self._store(principal).asynchronous().transact(reviewed)
        except StoreConflict:
            raise HttpProblem(409, "Another reviewer has just reviewed it.", "reviewed") from None
        emit_admin_event(self._service, principal, f"mcp_request_{record.status}", request)
        return _shown_request(record)

    def _store(self, principal: Principal) -> Store:
        return self._service.store(principal.tenant, MCP_RECORDS)


def _may_see(principal: Principal, record: AccessRequest) -> bool:
    """Whether *principal* may see the request: one that is bound to agents sees only requests for them.

    A request of another user with a token of the same name is not one's own.
    """
    if not principal.has(Role.VIEWER) and record.user != (principal.user or ""):
        return False
    is_own = record.scope == "user" and record.user == principal.user
    return principal.agents is None or is_own or (record.scope == "agent" and record.subject in principal.agents)


def _find_grant(transaction: StoreTransaction, record: AccessRequest) -> McpAgentGrant | McpUserGrant | None:
    if record.scope == "agent":
        of_agent = transaction.get(McpAgentGrant, record.server, record.subject)
        return None if of_agent is None else of_agent.record
    of_user = transaction.get(McpUserGrant, record.server, record.subject)
    return None if of_user is None else of_user.record


def _resolve_subject(body: NewRequest, principal: Principal) -> str:
    """Return the subject of a request: an agent that the principal speaks for, or the principal's user.

    Raises:
        HttpProblem: 403 or 422.
    """
    if body.scope == "user":
        if principal.user is None:
            raise HttpProblem(
                403, "This needs a person who is signed in, or a token that was made for a user.", "no_user"
            )
        if body.subject not in {None, principal.user}:
            raise HttpProblem(403, "A user can only request access for itself.", "other_user")
        return principal.user
    own = principal.agents
    subject = body.subject or (next(iter(own)) if own is not None and len(own) == 1 else None)
    if subject is None:
        raise HttpProblem(422, "Name the agent as `subject`.", "invalid_request")
    if own is not None and subject not in own:
        raise HttpProblem(403, "The token does not speak for this agent.", "other_agent")
    return subject


def _shown_request(record: AccessRequest) -> ShownRequest:
    return ShownRequest.model_validate(
        {**record.model_dump(mode="json"), "tool_allow": None if record.tool_allow is None else list(record.tool_allow)}
    )
