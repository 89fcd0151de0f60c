"""What the routes of servers, grants and requests share."""

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

MOST = 1_000
"""Servers, or grants of one server, that one answer lists."""
Named = Annotated[ServerName, Path()]
Administrator = Annotated[Principal, require(Role.ADMIN)]
Operator = Annotated[Principal, require(Role.OPERATOR)]
Viewer = Annotated[Principal, require(Role.VIEWER)]
Anyone = Annotated[Principal, require(Role.CALLER, Role.VIEWER)]


class Gone(BaseModel):
    """What was deleted."""

    deleted: str


def tell(service: Service, principal: Principal, action: str, target: str) -> None:
    """Write the event of an act of administration."""
    service.emit("service.admin", action=action, tenant=principal.tenant, target=target, by=principal.key)


def unknown(what: str, name: str) -> HttpProblem:
    """The answer to who names what is not there."""
    return HttpProblem(404, f"There is no {what} {name[:200]!r}.", f"unknown_{what}")


def require_reach(principal: Principal, scope: Scope, subject: str) -> None:
    """Refuse who is bound to agents, and says what another one or a person may use.

    Raises:
        HttpProblem: 403.
    """
    require_within(principal, [subject] if scope == "agent" else None, None)


async def require_known(store: AsyncStore, server: str, names: set[str]) -> None:
    """Refuse names that no tool of the server bears: a grant that names none would say what it does not do.

    Raises:
        HttpProblem: 404, 409, 422.
    """
    if await store.get(McpServerRecord, server) is None:
        raise unknown("server", server)
    if not names:
        return
    seen = await store.get(McpToolsRecord, server)
    if seen is None:
        what = "The server has not been reached yet, so that nobody knows its tools; grant it when it lists them."
        raise HttpProblem(409, what, "tools_unknown")
    missing = sorted(names - {*seen.record.names, *seen.record.full_names})
    if missing:
        raise HttpProblem(422, f"The server has no tool {', '.join(map(repr, missing[:5]))}.", "unknown_tool")
