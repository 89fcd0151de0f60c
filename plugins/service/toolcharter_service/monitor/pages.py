"""The content of each page: requested from the API, and converted for its template."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from toolcharter_service.auth import Principal, Role
from toolcharter_service.monitor.api import Answer, Api

AGENT_MADE = "agent"


class Page(NamedTuple):
    """A page of the monitor."""

    name: str
    """The name in its path and its template."""
    title: str
    roles: tuple[Role, ...]
    """The roles that may see it; one of them is enough."""


PAGES = (
    Page("tools", "Tools", (Role.VIEWER, Role.CALLER)),
    Page("calls", "Calls", (Role.VIEWER,)),
    Page("approvals", "Approvals", (Role.VIEWER,)),
    Page("grants", "Grants", (Role.VIEWER,)),
    Page("tokens", "Tokens", (Role.ADMIN,)),
    Page("workers", "Workers", (Role.VIEWER,)),
)
BY_NAME: Mapping[str, Page] = {page.name: page for page in PAGES}


def visible_pages(principal: Principal) -> list[Page]:
    """Return the pages that *principal* may see."""
    return [page for page in PAGES if any(principal.has(role) for role in page.roles)]


async def page_values(page: str, api: Api, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the values for the template of *page*."""
    return await _CONTENT[page](api, query)


async def _tools(api: Api, query: Mapping[str, str]) -> dict[str, Any]:
    listed = await api("GET", "/api/tools")
    metrics = listed.data.get("metrics", {}) if listed.ok else {}
    tools = sorted(rows(listed, "tools"), key=lambda tool: str(tool.get("id")))
    only_generated = query.get("generated") == "1"
    if only_generated:
        tools = [tool for tool in tools if tool.get("created_by") == AGENT_MADE]
    for tool in tools:
        tool["counts"] = metrics.get(tool.get("id"), {})
    return {"problem": listed.problem, "tools": tools, "only_generated": only_generated}


async def _calls(api: Api, query: Mapping[str, str]) -> dict[str, Any]:
    agent = query.get("agent", "")
    answer = await api("GET", "/api/tools/calls")
    calls = [
        {**call, "shown": pretty(call.get("parameters")), "effect": call.get("error") or pretty(call.get("response"))}
        for call in rows(answer, "calls")
        if not agent or call.get("agent_id") == agent
    ]
    return {"problem": answer.problem, "calls": calls, "agent": agent}


async def _approvals(api: Api, _: Mapping[str, str]) -> dict[str, Any]:
    waiting, ended = await asyncio.gather(
        api("GET", "/v1/approvals?status=pending"), api("GET", "/v1/approvals?limit=50")
    )
    asked = [{**one, "shown": pretty(one["args"])} for one in rows(waiting, "approvals")]
    past = [one for one in rows(ended, "approvals") if one["status"] != "pending"]
    return {"problem": waiting.problem, "waiting": asked, "ended": past}


async def _grants(api: Api, _: Mapping[str, str]) -> dict[str, Any]:
    servers, requests = await asyncio.gather(
        api("GET", "/v1/mcp/servers"), api("GET", "/v1/mcp/requests?status=pending")
    )
    listed = rows(servers, "servers")
    grants = await asyncio.gather(*(api("GET", "/v1/mcp/servers/{}/grants", segments=(one["name"],)) for one in listed))
    for server, granted in zip(listed, grants, strict=True):
        server["grants"] = rows(granted, "grants")
    return {"problem": servers.problem or requests.problem, "servers": listed, "requests": rows(requests, "requests")}


async def _tokens(api: Api, _: Mapping[str, str]) -> dict[str, Any]:
    answer = await api("GET", "/v1/tokens")
    return {"problem": answer.problem, "tokens": rows(answer, "tokens"), "roles": [str(role) for role in Role]}


async def _workers(api: Api, _: Mapping[str, str]) -> dict[str, Any]:
    ready, workers = await asyncio.gather(api("GET", "/readyz"), api("GET", "/v1/workers"))
    away = ready.data.get("away", {}) if isinstance(ready.data, Mapping) else {}
    seen = [{**one, "ago": max(0, round(time.time() - one["seen"]))} for one in rows(workers, "workers")]
    return {"problem": workers.problem, "away": away, "workers": seen}


_CONTENT = {
    "tools": _tools,
    "calls": _calls,
    "approvals": _approvals,
    "grants": _grants,
    "tokens": _tokens,
    "workers": _workers,
}


def rows(answer: Answer, name: str) -> list[dict[str, Any]]:
    """Return the list *name* of a response; an empty list if it is an error."""
    found = answer.data.get(name) if answer.ok and isinstance(answer.data, Mapping) else answer.data
    if not answer.ok or not isinstance(found, Sequence) or isinstance(found, str):
        return []
    return [dict(row) for row in found if isinstance(row, Mapping)]


def pretty(value: Any) -> str:
    """Format *value* as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
