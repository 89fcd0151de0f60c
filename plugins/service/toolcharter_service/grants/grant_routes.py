"""The routes of grants."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from toolcharter import (
    MCP_RECORDS,
    McpAgentGrant,
    McpServerRecord,
    McpUserGrant,
    Store,
    StoreTransaction,
)
from toolcharter_service.auth import Principal
from toolcharter_service.grants.records import Scope, Subject
from toolcharter_service.grants.shared import (
    MAX_LISTED,
    Administrator,
    Gone,
    ServerParam,
    Viewer,
    emit_admin_event,
    require_known,
    require_reach,
    unknown_problem,
)
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.service import Service, now


class NewGrant(BaseModel):
    """The tools of a server that an agent or a user may use."""

    model_config = ConfigDict(extra="forbid", strict=True)

    tool_allow: list[str] | None = Field(default=None, max_length=MAX_LISTED)
    """The allowed tools, by their own or their full names. If absent, all tools are allowed; `[]` allows none."""
    tool_deny: list[str] = Field(default_factory=list, max_length=MAX_LISTED)
    """The denied tools. They are denied even if `tool_allow` has them."""
    enabled: bool = True
    config_overrides: dict[Literal["timeout_s"], float] = Field(default_factory=dict)
    """For an agent: a shorter time limit of a call, in seconds."""


class ShownGrant(BaseModel):
    """A grant."""

    server: str
    scope: Scope
    subject: str
    """The agent or the user."""
    tool_allow: list[str] | None
    tool_deny: list[str]
    enabled: bool
    config_overrides: dict[str, JsonValue]
    granted_by: str
    granted_at: str


class Grants(BaseModel):
    """Grants, by server, scope and subject."""

    grants: list[ShownGrant]


class GrantRoutes:
    """The functions of the routes `/v1/mcp/servers/{server}/grants`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def add_to(self, router: APIRouter) -> None:
        """Add the routes."""
        router.add_api_route(
            "/servers/{server}/grants", self.list_grants, methods=["GET"], responses=error_responses(404)
        )
        router.add_api_route(
            "/servers/{server}/grants/{scope}/{subject}",
            self.put_grant,
            methods=["PUT"],
            responses=error_responses(404, 409, 415, 422),
        )
        router.add_api_route(
            "/servers/{server}/grants/{scope}/{subject}",
            self.delete_grant,
            methods=["DELETE"],
            responses=error_responses(404),
        )

    async def list_grants(self, server: ServerParam, principal: Viewer) -> Grants:
        """List the grants of a server."""
        store = self._store(principal).asynchronous()
        if await store.get(McpServerRecord, server) is None:
            raise unknown_problem("server", server)
        agents = await store.page(McpAgentGrant, where={"server": server}, limit=MAX_LISTED)
        users = await store.page(McpUserGrant, where={"server": server}, limit=MAX_LISTED)
        shown = [_shown_grant(one.record) for one in agents.records]
        return Grants(grants=[*shown, *(_shown_grant(one.record) for one in users.records)])

    async def put_grant(
        self,
        server: ServerParam,
        scope: Scope,
        subject: Annotated[Subject, Path()],
        body: NewGrant,
        principal: Administrator,
    ) -> ShownGrant:
        """Give a grant to an agent or a user, or change it."""
        require_reach(principal, scope, subject)
        if scope == "user" and body.config_overrides:
            raise HttpProblem(422, "config_overrides are for agents.", "invalid_request")
        store = self._store(principal).asynchronous()
        try:
            grant = build_grant(server, scope, subject, body, principal)
        except ValidationError as error:
            raise HttpProblem(
                422, f"The grant cannot be kept: {error.errors()[0]['msg']}.", "invalid_request"
            ) from error
        await require_known(store, server, {*(body.tool_allow or ()), *body.tool_deny})

        def put(transaction: StoreTransaction) -> None:
            # If the server was deleted meanwhile, this grant would open a later server of the same name.
            if transaction.get(McpServerRecord, server) is None:
                raise unknown_problem("server", server)
            transaction.put(grant)

        await store.transact(put)
        emit_admin_event(self._service, principal, "mcp_grant_put", f"{server}/{scope}/{subject}")
        return _shown_grant(grant)

    async def delete_grant(
        self, server: ServerParam, scope: Scope, subject: Annotated[Subject, Path()], principal: Administrator
    ) -> Gone:
        """Revoke a grant. Within a second, calls are refused."""
        require_reach(principal, scope, subject)
        model: type[McpAgentGrant | McpUserGrant] = McpAgentGrant if scope == "agent" else McpUserGrant
        if not await self._store(principal).asynchronous().delete(model, server, subject):
            raise unknown_problem("grant", f"{server}/{scope}/{subject}")
        emit_admin_event(self._service, principal, "mcp_grant_deleted", f"{server}/{scope}/{subject}")
        return Gone(deleted=f"{server}/{scope}/{subject}")

    def _store(self, principal: Principal) -> Store:
        return self._service.store(principal.tenant, MCP_RECORDS)


def build_grant(
    server: str, scope: Scope, subject: str, body: NewGrant, principal: Principal
) -> McpAgentGrant | McpUserGrant:
    """Build the record of a grant that *principal* gives now."""
    common: dict[str, Any] = {
        "server": server,
        "tool_allow": None if body.tool_allow is None else tuple(body.tool_allow),
        "tool_deny": tuple(body.tool_deny),
        "enabled": body.enabled,
        "granted_by": principal.name,
        "granted_at": now(),
    }
    if scope == "agent":
        return McpAgentGrant(agent=subject, config_overrides=body.config_overrides, **common)
    return McpUserGrant(user=subject, **common)


def _shown_grant(grant: McpAgentGrant | McpUserGrant) -> ShownGrant:
    is_agent = isinstance(grant, McpAgentGrant)
    values = grant.model_dump(mode="json", exclude={"agent", "user"})
    subject = grant.agent if isinstance(grant, McpAgentGrant) else grant.user
    scope: Scope = "agent" if is_agent else "user"
    return ShownGrant.model_validate({"config_overrides": {}, **values, "scope": scope, "subject": subject})
