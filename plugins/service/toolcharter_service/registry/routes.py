"""The routes of HDN's tool server: list, register, discover, invoke, delete."""

import asyncio
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from pydantic import BaseModel
from starlette.responses import Response

from toolcharter import Reason
from toolcharter_service.auth import CallerScope, Principal, Role
from toolcharter_service.auth.dependency import require
from toolcharter_service.auth.speaking_for import speaking_for
from toolcharter_service.calls.callers import caller_of
from toolcharter_service.calls.running import Calls
from toolcharter_service.generated.rule import is_generated
from toolcharter_service.http.encoding import json_response
from toolcharter_service.http.headers import KEYED_HEADERS
from toolcharter_service.http.keyed import caller_key, respond_once
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.registry.catalog import delete, delete_unreadable, find, read_catalog, register
from toolcharter_service.registry.extension import installed_name
from toolcharter_service.registry.invoke import STATUSES, to_answer
from toolcharter_service.registry.records import ToolRecord
from toolcharter_service.registry.reload import RegistryReloader, now
from toolcharter_service.registry.rules import STATUS, Actor, RegistryReason, RegistryRefusal, parse_record
from toolcharter_service.registry.source_tools import SOURCE_TOOLS
from toolcharter_service.registry.tools import require_buildable
from toolcharter_service.service import Service

Reader = Annotated[Principal, require(Role.CALLER, Role.VIEWER, scope=CallerScope.READ_REGISTRY)]
Writer = Annotated[Principal, require(Role.CALLER, Role.OPERATOR)]
Operator = Annotated[Principal, require(Role.OPERATOR)]
Invoker = Annotated[Principal, require(Role.CALLER, scope=CallerScope.INVOKE_TOOL)]
ToolId = Annotated[str, Path(pattern=r"^[^\x00-\x1f\x7f]{1,256}$")]


class Tools(BaseModel):
    """The records of the registry, by id."""

    tools: list[ToolRecord]


class Registered(BaseModel):
    """The record that was written."""

    success: bool
    tool: ToolRecord


class Discovered(BaseModel):
    """The records of a discovery."""

    success: bool
    discovered: list[ToolRecord]


class Deleted(BaseModel):
    """The id of the deleted tool."""

    success: bool
    deleted: str


def refusal_problem(refused: RegistryRefusal) -> HttpProblem:
    """Convert a refusal of the registry to a problem."""
    return HttpProblem(STATUS[refused.reason], refused.message, refused.reason)


class ToolRoutes:
    """The functions of the routes."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._reloader = RegistryReloader.of(service)

    def actor(self, request: Request, principal: Principal) -> Actor:
        """Return who acts: an operator of all agents if the request names no agent, else the agent."""
        if principal.has(Role.OPERATOR) and principal.agents is None and "x-agent-id" not in request.headers:
            return Actor(principal.name)
        agents = self._service.config.tenants[principal.tenant].agents
        return Actor(principal.name, speaking_for(request, principal, agents).agent or "*")

    async def listed(self, request: Request, principal: Reader) -> Tools:
        """List the tools of the registry. An agent only sees the tools that it may be allowed to call."""
        found = await asyncio.to_thread(read_catalog, self._service.store(principal.tenant))
        if principal.has(Role.VIEWER):
            return Tools(tools=list(found.tools))
        caller = caller_of(self._service, principal, request)
        view = self._service.view(caller, tenant=principal.tenant, agent=caller.agent)
        return Tools(tools=[one for one in found.tools if installed_name(one.id) in view])

    async def register(
        self, request: Request, principal: Writer, body: Annotated[dict[str, Any], Body()]
    ) -> Registered:
        """Register a tool, or change one's own tool."""
        actor, tenant = self.actor(request, principal), principal.tenant
        try:
            record = require_buildable(parse_record(body, actor=actor, now=now()))
            _refuse_generated(record)
            change = await asyncio.to_thread(register, self._service.store(tenant), record, actor, now())
        except RegistryRefusal as refused:
            raise refusal_problem(refused) from None
        action = "tool.created" if change.is_new else "tool.changed"
        self._reloader.emit_record_event(tenant, change.record, action, principal.name)
        await self._reloader.reload_everywhere(tenant)
        return Registered(success=True, tool=change.record)

    async def discover(self, principal: Operator) -> Discovered:
        """Restore the minimum of tools, and those that this machine can run."""
        found = await asyncio.to_thread(self._reloader.discover, principal.tenant)
        await self._reloader.reload_everywhere(principal.tenant)
        return Discovered(success=True, discovered=list(found))

    async def delete(self, request: Request, principal: Writer, tool_id: ToolId) -> Deleted:
        """Delete a record that an agent has made. Only an admin of all agents may delete an unreadable record."""
        actor, tenant = self.actor(request, principal), principal.tenant
        # The owner of an unreadable record is unknown, and deleting it may reopen an installed tool.
        may_force = actor.agent is None and principal.has(Role.ADMIN) and principal.agents is None
        if may_force and await asyncio.to_thread(delete_unreadable, self._service.store(tenant), tool_id):
            facts = {"tool_id": tool_id, "by": principal.name, "unreadable": True}
            self._service.emit("service.admin", action="tool.deleted", tenant=tenant, **facts)
            await self._reloader.reload_everywhere(tenant)
            return Deleted(success=True, deleted=tool_id)
        try:
            record = await asyncio.to_thread(delete, self._service.store(tenant), tool_id, actor, now())
        except RegistryRefusal as refused:
            raise refusal_problem(refused) from None
        self._reloader.emit_record_event(tenant, record, "tool.deleted", principal.name)
        await self._reloader.reload_everywhere(tenant)
        return Deleted(success=True, deleted=tool_id)

    async def invoke(
        self,
        request: Request,
        principal: Invoker,
        tool_id: ToolId,
        body: Annotated[dict[str, Any] | None, Body()] = None,
    ) -> Response:
        """Call a tool with the arguments in the body. The response is the tool's JSON."""
        try:
            known = await asyncio.to_thread(find, self._service.store(principal.tenant), tool_id)
        except RegistryRefusal as refused:
            raise refusal_problem(refused) from None
        if known is None:
            raise refusal_problem(RegistryRefusal(RegistryReason.UNKNOWN_TOOL, f"There is no tool {tool_id[:64]!r}."))
        args, name = dict(body or {}), tool_id
        if known.record.exec is None:
            source = SOURCE_TOOLS.get(tool_id)
            args, name = args if source is None else source.convert_arguments(args), installed_name(tool_id)
        caller, is_described = caller_of(self._service, principal, request), known.record.exec is None

        async def make(call_id: str) -> Response:
            calls = self._service.part(Calls)
            result = await calls.make(principal, caller, name, args, call_id=call_id, headers=request.headers)
            if result.reason == Reason.UNKNOWN_TOOL and is_described:
                what = f"No tool of this agent's profile does what {tool_id!r} describes."
                raise HttpProblem(
                    STATUS[RegistryReason.NOT_IMPLEMENTED], what, RegistryReason.NOT_IMPLEMENTED, result.call_id
                )
            return json_response(to_answer(tool_id, dict(body or {}), result))

        request_parts = ("registry", caller_key(caller), tool_id, dict(body or {}))
        return await respond_once(self._service, request, principal, request_parts, make)


def _refuse_generated(record: ToolRecord) -> None:
    """Refuse a generated tool: a client that computes the hash could otherwise register code that was never reviewed.

    Raises:
        RegistryRefusal: `invalid_record`.
    """
    if is_generated(record):
        what = "A generated tool comes from `register`, or from the review of a proposal."
        raise RegistryRefusal(RegistryReason.INVALID_RECORD, what)


def routes(service: Service) -> APIRouter:
    """Return the routes."""
    handlers = ToolRoutes(service)
    router = APIRouter(prefix="/api/v1/tools", tags=["registry"])
    add = partial(router.add_api_route, response_model_exclude_none=True)
    add("", handlers.listed, methods=["GET"], responses=error_responses(404))
    add("", handlers.register, methods=["POST"], responses=error_responses(404, 409))
    add("/discover", handlers.discover, methods=["POST"], responses=error_responses())
    keyed = {"parameters": KEYED_HEADERS}
    add(
        "/{tool_id}/invoke",
        handlers.invoke,
        methods=["POST"],
        responses=error_responses(*STATUSES),
        openapi_extra=keyed,
    )
    add("/{tool_id}", handlers.delete, methods=["DELETE"], responses=error_responses(404))
    return router
