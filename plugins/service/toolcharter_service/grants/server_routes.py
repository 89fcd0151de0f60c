"""The routes of MCP servers."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter
from pydantic import BaseModel

from toolcharter import (
    MCP_RECORDS,
    AsyncStore,
    Denied,
    McpAgentGrant,
    McpServerRecord,
    McpToolsRecord,
    McpUserGrant,
    NetworkPolicy,
    Store,
    StoreConflict,
    StoreTransaction,
    ToolError,
)
from toolcharter.hosts import require_public
from toolcharter_service.auth import Principal
from toolcharter_service.auth.admin_routes import require_within
from toolcharter_service.grants.servers import NewServer
from toolcharter_service.grants.shared import (
    MAX_LISTED,
    Gone,
    Operator,
    ServerParam,
    Viewer,
    emit_admin_event,
    unknown_problem,
)
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.service import Service, now


class ShownServer(BaseModel):
    """A server as the service shows it: only the names of its variables and headers, not their values."""

    name: str
    transport: str
    command: str | None
    args: list[str]
    env: list[str]
    url: str | None
    headers: list[str]
    timeout_s: float
    enabled: bool
    created_by: str
    created_at: str
    tools: list[str]
    """The full names of its tools, when they were last listed."""


class Servers(BaseModel):
    """The servers of a tenant, by name."""

    servers: list[ShownServer]


class ServerRoutes:
    """The functions of the routes `/v1/mcp/servers`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def add_to(self, router: APIRouter) -> None:
        """Add the routes."""
        router.add_api_route("/servers", self.list_servers, methods=["GET"], responses=error_responses())
        router.add_api_route(
            "/servers/{server}", self.put_server, methods=["PUT"], responses=error_responses(409, 415, 422)
        )
        router.add_api_route("/servers/{server}", self.read_server, methods=["GET"], responses=error_responses(404))
        router.add_api_route(
            "/servers/{server}", self.delete_server, methods=["DELETE"], responses=error_responses(404, 409)
        )

    async def list_servers(self, principal: Viewer) -> Servers:
        """List the registered servers."""
        store = self._store(principal).asynchronous()
        page = await store.page(McpServerRecord, limit=MAX_LISTED)
        return Servers(
            servers=[_shown_server(one.record, await _tools(store, one.record.name)) for one in page.records]
        )

    async def put_server(self, server: ServerParam, body: NewServer, principal: Operator) -> ShownServer:
        """Register a server, or change it. No agent or user may use it before a grant opens it."""
        require_within(principal, None, None)
        if body.url is not None:
            await _require_public(body.url)
        store = self._store(principal).asynchronous()
        before = await store.get(McpServerRecord, server)
        wanted: dict[str, Any] = {**body.model_dump(), "args": tuple(body.args)}
        record = McpServerRecord(
            **wanted,
            name=server,
            created_by=principal.name if before is None else before.record.created_by,
            created_at=now() if before is None else before.record.created_at,
        )
        try:
            await store.put(record, expected=0 if before is None else before.version)
        except StoreConflict:
            raise HttpProblem(409, "Another request has just changed the server.", "changed_meanwhile") from None
        emit_admin_event(self._service, principal, "mcp_server_put", server)
        return _shown_server(record, await _tools(store, server))

    async def read_server(self, server: ServerParam, principal: Viewer) -> ShownServer:
        """Show one server."""
        store = self._store(principal).asynchronous()
        found = await store.get(McpServerRecord, server)
        if found is None:
            raise unknown_problem("server", server)
        return _shown_server(found.record, await _tools(store, server))

    async def delete_server(self, server: ServerParam, principal: Operator) -> Gone:
        """Delete a server with all its grants: a later server of the same name begins without grants."""
        require_within(principal, None, None)

        def deleted(transaction: StoreTransaction) -> bool:
            agents = transaction.page(McpAgentGrant, where={"server": server}, limit=MAX_LISTED, skip_unreadable=True)
            users = transaction.page(McpUserGrant, where={"server": server}, limit=MAX_LISTED, skip_unreadable=True)
            if agents.after or users.after:
                raise HttpProblem(409, "There are too many grants to delete at once; delete some first.", "too_many")
            for agent in [one.record.agent for one in agents.records] + _unreadable_subjects(
                server, agents.unreadable_keys
            ):
                transaction.delete(McpAgentGrant, server, agent)
            for user in [one.record.user for one in users.records] + _unreadable_subjects(
                server, users.unreadable_keys
            ):
                transaction.delete(McpUserGrant, server, user)
            transaction.delete(McpToolsRecord, server)
            return transaction.delete(McpServerRecord, server)

        if not await self._store(principal).asynchronous().transact(deleted):
            raise unknown_problem("server", server)
        emit_admin_event(self._service, principal, "mcp_server_deleted", server)
        return Gone(deleted=server)

    def _store(self, principal: Principal) -> Store:
        return self._service.store(principal.tenant, MCP_RECORDS)


def _unreadable_subjects(server: str, keys: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the subjects of *server*'s unreadable grants, by their keys: their index may name the wrong server."""
    return [subject for named, subject in keys if named == server]


async def _require_public(url: str) -> None:
    """Refuse a URL whose address is not public. The bridge checks again at each connection.

    Raises:
        HttpProblem: 422.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        policy = NetworkPolicy(allowed_domains=(parts.hostname or "",), ports=(port,))
    except ValueError:
        raise HttpProblem(422, "The url cannot be used: it names no host, or no port.", "invalid_url") from None
    try:
        await require_public(url, policy)
    except (Denied, ToolError) as error:
        raise HttpProblem(422, f"The url cannot be used: {error.message or error.reason}", error.reason) from None


async def _tools(store: AsyncStore, server: str) -> list[str]:
    seen = await store.get(McpToolsRecord, server)
    return [] if seen is None else list(seen.record.full_names)


def _shown_server(record: McpServerRecord, tools: list[str]) -> ShownServer:
    values: Mapping[str, Any] = record.model_dump(mode="json")
    return ShownServer.model_validate(
        {**values, "env": sorted(record.env), "headers": sorted(record.headers), "tools": tools}
    )
