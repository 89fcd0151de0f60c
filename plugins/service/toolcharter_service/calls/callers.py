"""The caller of a request: from its headers, as far as its credentials allow."""

from fastapi import Request

from toolcharter import Caller
from toolcharter_service.auth import Principal
from toolcharter_service.auth.speaking_for import speaking_for
from toolcharter_service.service import Service


def caller_of(
    service: Service, principal: Principal, request: Request, *, agent: str | None = None, session: str | None = None
) -> Caller:
    """Return the caller that a request speaks for.

    Args:
        service: The service with the agents.
        principal: The sender of the request.
        request: Its headers name agent and project.
        agent: The agent that the body names instead.
        session: The session that the body names. It belongs to the principal: no other principal can join it.

    Raises:
        HttpProblem: 400, 403, 404.
    """
    speaking = speaking_for(request, principal, service.agents(principal.tenant), agent)
    return Caller(
        agent=speaking.agent,
        session=None if session is None else f"{principal.owner}/{session}",
        user=principal.user,
        project=speaking.project,
        tenant=principal.tenant,
    )
