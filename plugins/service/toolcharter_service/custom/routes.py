"""The routes of custom tools: `/v1/tools/custom`."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolcharter import SpecError, StoreConflict, StoreTransaction, code_arguments
from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.admin_routes import require_within
from toolcharter_service.auth.dependency import require
from toolcharter_service.custom.catalog import all_tools
from toolcharter_service.custom.records import GLOBAL, CustomTool
from toolcharter_service.custom.template import TemplateFault
from toolcharter_service.custom.tools import spec_of
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.registry.names import find_installed
from toolcharter_service.registry.policy import RegistryPolicy
from toolcharter_service.registry.records import StoredTool
from toolcharter_service.registry.reload import TOPICS, RegistryReloader
from toolcharter_service.registry.rules import STATUS, RegistryReason, RegistryRefusal
from toolcharter_service.service import Service

Viewer = Annotated[Principal, require(Role.VIEWER)]
Operator = Annotated[Principal, require(Role.OPERATOR)]
CustomId = Annotated[str, Path(pattern=r"^([A-Za-z0-9_-]{1,64}\.)?[A-Za-z0-9_-]{1,64}$")]
"""A tool's name; for a tool of one agent, with the agent's name and a dot before it."""


class CustomBody(BaseModel):
    """A custom tool as a client writes it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    command: str
    timeout_seconds: Annotated[float, Field(allow_inf_nan=False)] = 60.0
    working_dir: str | None = None
    env: dict[str, str] | None = None
    """If it is absent in a change, the variables stay unchanged."""
    enabled: bool = True
    agent_id: str | None = None
    """The agent that has the tool; by default all agents."""


class ShownTool(BaseModel):
    """A custom tool as the service shows it: only the names of its variables, not their values."""

    id: str
    name: str
    description: str
    parameters: dict[str, Any]
    command: str
    timeout_seconds: float
    working_dir: str
    env: list[str]
    enabled: bool
    agent_id: str | None


class CustomTools(BaseModel):
    """The custom tools of a tenant, those of all agents first."""

    tools: list[ShownTool]


class Gone(BaseModel):
    """The id of the deleted tool."""

    deleted: str


def to_shown_tool(tool: CustomTool) -> ShownTool:
    """Convert *tool* for a response, without secrets."""
    agent = None if tool.scope == GLOBAL else tool.scope
    plain = tool.model_dump(mode="json", exclude={"scope", "env"})
    return ShownTool(
        id=tool.name if agent is None else f"{agent}.{tool.name}", agent_id=agent, env=sorted(tool.env), **plain
    )


def parse_body(body: CustomBody, env: Mapping[str, str]) -> CustomTool:
    """Validate *body* and build its record.

    Args:
        body: The body of the request.
        env: The variables to keep if *body* names none.

    Raises:
        RegistryRefusal: `invalid_record`, `placeholder_in_quotes`, `bad_placeholder`, `code_is_placeholder`,
            `name_conflict`.
    """
    if taken := find_installed(body.name):
        raise RegistryRefusal(
            RegistryReason.NAME_CONFLICT, f"{body.name!r} is the name of the installed tool {taken!r}."
        )
    given = body.model_dump(exclude={"agent_id", "env", "working_dir"})
    try:
        tool = CustomTool(
            scope=body.agent_id or GLOBAL,
            env=env if body.env is None else body.env,
            working_dir=body.working_dir or "",
            **given,
        )
        spec = spec_of(tool, RegistryPolicy())
    except ValidationError as error:
        raise _to_refusal(error) from None
    except SpecError as error:
        raise RegistryRefusal(RegistryReason.INVALID_RECORD, f"name: {error}.") from None
    if spec.invocation is not None and (found := code_arguments(spec.invocation, spec.parameters or {})):
        what = f"command: a shell or an interpreter would get {found[0]!r} as code, or a program would start it."
        raise RegistryRefusal(RegistryReason.CODE_IS_PLACEHOLDER, what)
    return tool


def _to_refusal(error: ValidationError) -> RegistryRefusal:
    faults = error.errors(include_url=False)
    causes = (one.get("ctx", {}).get("error") for one in faults)
    inner = [cause for cause in causes if isinstance(cause, TemplateFault)]
    said = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'tool'}: {one['msg']}" for one in faults)
    reason = RegistryReason(inner[0].reason) if inner else RegistryReason.INVALID_RECORD
    return RegistryRefusal(reason, f"{said}.")


class CustomRoutes:
    """The functions of the routes."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def listed(
        self, principal: Viewer, agent_id: Annotated[str | None, Query(max_length=64)] = None
    ) -> CustomTools:
        """List the custom tools of the tenant, or of one agent."""
        found = await asyncio.to_thread(lambda: list(all_tools(self._service.store(principal.tenant))))
        return CustomTools(tools=[to_shown_tool(one) for one in found if agent_id in {None, one.scope}])

    async def one(self, principal: Viewer, tool_id: CustomId) -> ShownTool:
        """Show one custom tool."""
        found = await asyncio.to_thread(self._service.store(principal.tenant).get, CustomTool, *_split_id(tool_id))
        if found is None:
            raise _unknown_tool(tool_id)
        return to_shown_tool(found.record)

    async def create(self, principal: Operator, body: CustomBody) -> ShownTool:
        """Create a custom tool."""
        _require_reach(principal, body.agent_id or GLOBAL)
        self._require_agent(principal, body.agent_id)

        def work(each: StoreTransaction) -> CustomTool:
            tool = parse_body(body, {})
            _require_free_name(each, tool)
            each.put(tool, expected=0)
            return tool

        return await self._write(principal, work, "custom_tool.created")

    async def change(self, principal: Operator, tool_id: CustomId, body: CustomBody) -> ShownTool:
        """Change a custom tool. Its name and agent cannot be changed."""
        _require_reach(principal, _split_id(tool_id)[0])

        def work(each: StoreTransaction) -> CustomTool:
            known = each.get(CustomTool, *_split_id(tool_id))
            if known is None:
                raise _unknown_tool(tool_id)
            tool = parse_body(body, known.record.env)
            if (tool.scope, tool.name) != _split_id(tool_id):
                what = "name, agent_id: they identify the tool and cannot be changed."
                raise HttpProblem(400, what, RegistryReason.INVALID_RECORD)
            each.put(tool, expected=known.version)
            return tool

        return await self._write(principal, work, "custom_tool.changed")

    async def delete(self, principal: Operator, tool_id: CustomId) -> Gone:
        """Delete a custom tool."""
        scope, name = _split_id(tool_id)
        _require_reach(principal, scope)
        if not await asyncio.to_thread(self._service.store(principal.tenant).delete, CustomTool, scope, name):
            raise _unknown_tool(tool_id)
        await self._announce_change(principal, scope, name, "custom_tool.deleted")
        return Gone(deleted=tool_id)

    async def _write(self, principal: Principal, work: Any, action: str) -> ShownTool:
        try:
            tool: CustomTool = await asyncio.to_thread(self._service.store(principal.tenant).transact, work)
        except RegistryRefusal as refused:
            raise HttpProblem(STATUS[refused.reason], refused.message, refused.reason) from None
        except StoreConflict:
            raise HttpProblem(409, "Another request has changed it meanwhile.", "store_conflict") from None
        await self._announce_change(principal, tool.scope, tool.name, action)
        return to_shown_tool(tool)

    async def _announce_change(self, principal: Principal, scope: str, name: str, action: str) -> None:
        agent = None if scope == GLOBAL else scope
        facts = {"tool_id": name, "agent": agent}
        self._service.emit("service.admin", action=action, tenant=principal.tenant, by=principal.name, **facts)
        await RegistryReloader.of(self._service).reload_everywhere(principal.tenant, agent, topic=TOPICS[1])

    def _require_agent(self, principal: Principal, agent: str | None) -> None:
        if agent is None:
            return
        try:
            self._service.agent(principal.tenant, agent)
        except LookupError:
            raise HttpProblem(404, "There is no such agent.", "unknown_agent") from None


def _require_reach(principal: Principal, scope: str) -> None:
    """Refuse a principal that is bound to agents and changes a tool of another agent, or of all agents.

    Raises:
        HttpProblem: 403.
    """
    require_within(principal, None if scope == GLOBAL else [scope], None)


def _require_free_name(each: StoreTransaction, tool: CustomTool) -> None:
    """Refuse a name that another tool of the same toolbox has. Upper and lower case are the same.

    Raises:
        RegistryRefusal: `name_conflict`.
    """
    name = tool.name.lower()
    for other in all_tools(each):
        meets = other.scope == tool.scope or GLOBAL in {other.scope, tool.scope}
        if meets and other.name.lower() == name:
            whose = "of all agents" if other.scope == GLOBAL else f"of the agent {other.scope!r}"
            raise RegistryRefusal(
                RegistryReason.NAME_CONFLICT, f"There is a custom tool {other.name!r} {whose} already."
            )
    if each.get(StoredTool, tool.name) is not None:
        raise RegistryRefusal(RegistryReason.NAME_CONFLICT, f"There is a registered tool {tool.name!r} already.")


def _split_id(tool_id: str) -> tuple[str, str]:
    scope, _, name = tool_id.rpartition(".")
    return scope or GLOBAL, name


def _unknown_tool(tool_id: str) -> HttpProblem:
    return HttpProblem(404, f"There is no custom tool {tool_id!r}.", RegistryReason.UNKNOWN_TOOL)


def routes(service: Service) -> APIRouter:
    """Return the routes of custom tools."""
    handlers = CustomRoutes(service)
    router = APIRouter(prefix="/v1/tools/custom", tags=["custom tools"])
    add = router.add_api_route
    add("", handlers.listed, methods=["GET"], responses=error_responses())
    add("", handlers.create, methods=["POST"], status_code=201, responses=error_responses(404, 409))
    add("/{tool_id}", handlers.one, methods=["GET"], responses=error_responses(404))
    add("/{tool_id}", handlers.change, methods=["PUT"], responses=error_responses(404, 409))
    add("/{tool_id}", handlers.delete, methods=["DELETE"], responses=error_responses(404))
    return router
