"""`GET /api/tools`, `/api/tools/usage` and `/api/tools/calls`, which read the store; and the service's `Usage`."""

import asyncio
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from toolcharter import state_path
from toolcharter_service.auth import CallerScope, Principal, Role
from toolcharter_service.auth.dependency import require
from toolcharter_service.config import url_of
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.registry.records import StoredTool
from toolcharter_service.service import Service, UnknownAgent
from toolcharter_service.watch.records import RECENT, RECENT_MAX, USAGE_MAX, Describe, ToolMetrics, usage_list
from toolcharter_service.watch.usage import Usage

_PAGE = 1000
Watcher = Annotated[Principal, require(Role.CALLER, Role.VIEWER, scope=CallerScope.READ_REGISTRY)]


class StoredTools(BaseModel):
    """The registry's records as they are stored, and the counters of each tool."""

    tools: list[dict[str, Any]]
    """The records, sorted by id."""
    metrics: dict[str, dict[str, Any]]
    """The counters by tool, also for tools without a record: `total_calls`, `success_calls`, `avg_duration_ms`, ..."""


class RecentCalls(BaseModel):
    """The latest calls of the tenant with arguments and results, without secrets; the latest first."""

    calls: list[dict[str, Any]]


class UsageHistory(BaseModel):
    """The latest calls of an agent, the latest first."""

    agent_id: str
    usage: list[dict[str, Any]]


def record_usage(service: Service, folder: Path | None = None) -> Usage:
    """Record the usage of all calls.

    Args:
        service: A service that has not started yet.
        folder: The folder of the spools and day files; by default in the user's state folder.
    """
    # The name depends on the store: waiting records are only delivered to their own store, also by another process.
    name = hashlib.sha256(url_of(service.config.store).encode()).hexdigest()[:16]
    folder = folder or (state_path("usage", os.environ) or Path("usage").absolute()) / name
    usage = Usage(folder, service.store, lambda tenant: _describe(service, tenant))
    service.tenant_sinks.append(usage.sink)

    async def health() -> str | None:
        return usage.health()

    async def close() -> None:
        await asyncio.to_thread(usage.close)

    service.health_checks["usage"] = health
    service.on_stop.append(close)
    return usage


def routes(service: Service) -> APIRouter:
    """Return the routes, which HDN's monitor uses."""
    router = APIRouter(prefix="/api/tools", tags=["watch"])

    @router.get("", responses=error_responses(503))
    async def stored_tools(principal: Watcher) -> StoredTools:
        store = service.store(principal.tenant).asynchronous()
        tools: list[dict[str, Any]] = []
        after, more = "", True
        while more:
            page = await store.page(StoredTool, after=after, limit=_PAGE, skip_unreadable=True)
            tools += [stored.record.model_dump(mode="json") for stored in page.records]
            after, more = page.after, bool(page.after)
        metrics: dict[str, dict[str, Any]] = {}
        after, more = "", True
        while more:
            counted = await store.page(ToolMetrics, after=after, limit=_PAGE)
            metrics |= {stored.record.tool_id: stored.record.model_dump() for stored in counted.records}
            after, more = counted.after, bool(counted.after)
        return StoredTools(tools=tools, metrics=metrics)

    @router.get("/usage", responses=error_responses(403, 503))
    async def usage(
        principal: Watcher,
        agent_id: Annotated[str, Query(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")] = "global",
        limit: Annotated[int, Query(ge=1, le=USAGE_MAX)] = 100,
    ) -> UsageHistory:
        if principal.agents is not None and agent_id not in principal.agents:
            raise HttpProblem(403, f"The token may not read the usage of {agent_id!r}.", "forbidden")
        items = await service.store(principal.tenant).asynchronous().items(usage_list(agent_id), limit=limit)
        return UsageHistory(agent_id=agent_id, usage=[item for item in items if isinstance(item, dict)])

    @router.get("/calls", responses=error_responses(503))
    async def recent_calls(principal: Annotated[Principal, require(Role.VIEWER)]) -> RecentCalls:
        items = await service.store(principal.tenant).asynchronous().items(RECENT, limit=RECENT_MAX)
        agents = principal.agents
        calls = [item for item in items if isinstance(item, dict)]
        return RecentCalls(calls=[one for one in calls if agents is None or one.get("agent_id") in agents])

    return router


def _describe(service: Service, tenant: str) -> Describe:
    def describe(agent: str | None, tool: str) -> tuple[tuple[str, ...], str]:
        try:
            known: Mapping[str, Any] = service.toolbox(tenant, agent).current
        except UnknownAgent:
            return (), ""
        found = known.get(tool)
        return ((), "") if found is None else (tuple(sorted(found.capabilities or ())), str(found.safety))

    return describe
