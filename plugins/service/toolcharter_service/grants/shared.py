"""Shared by the routes of servers, grants and requests."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel

from toolcharter import AsyncStore, McpServerRecord, McpToolsRecord
from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.admin_routes import require_within
from toolcharter_service.auth.dependency import require
from toolcharter_service.grants.records import Scope, ServerName
from toolcharter_service.http.problems import HttpProblem
from toolcharter_service.service import Service

MAX_LISTED = 1_000
"""The most servers, or grants of one server, in one response."""
ServerParam = Annotated[ServerName, Path()]
Administrator = Annotated[Principal, require(Role.ADMIN)]
Operator = Annotated[Principal, require(Role.OPERATOR)]
Viewer = Annotated[Principal, require(Role.VIEWER)]
Anyone = Annotated[Principal, require(Role.CALLER, Role.VIEWER)]


class Gone(BaseModel):
    """The name of the deleted server or grant."""

    deleted: str


def emit_admin_event(service: Service, principal: Principal, action: str, target: str) -> None:
    """Emit an event for an administrative action."""
    service.emit("service.admin", action=action, tenant=principal.tenant, target=target, by=principal.key)


def unknown_problem(what: str, name: str) -> HttpProblem:
    """Return the response to a request for something that does not exist."""
    return HttpProblem(404, f"There is no {what} {name[:200]!r}.", f"unknown_{what}")


def require_reach(principal: Principal, scope: Scope, subject: str) -> None:
    """Refuse a principal that is bound to agents and decides for another agent or for a user.

    Raises:
        HttpProblem: 403.
    """
    require_within(principal, [subject] if scope == "agent" else None, None)


async def require_known(store: AsyncStore, server: str, names: set[str]) -> None:
    """Refuse names that no tool of the server has: such a grant would not do what it says.

    Raises:
        HttpProblem: 404, 409, 422.
    """
    if await store.get(McpServerRecord, server) is None:
        raise unknown_problem("server", server)
    if not names:
        return
    seen = await store.get(McpToolsRecord, server)
    if seen is None:
        what = "The server has not been reached yet, so its tools are unknown. Grant it once it has listed them."
        raise HttpProblem(409, what, "tools_unknown")
    missing = sorted(names - {*seen.record.names, *seen.record.full_names})
    if missing:
        raise HttpProblem(422, f"The server has no tool {', '.join(map(repr, missing[:5]))}.", "unknown_tool")
