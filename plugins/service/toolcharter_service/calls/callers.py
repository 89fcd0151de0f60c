"""Who calls: what a request's headers say, as far as the token allows."""

from fastapi import Request

from toolcharter import Caller
from toolcharter_service.auth import Principal
from toolcharter_service.auth.speaking_for import speaking_for
from toolcharter_service.service import Service


def caller_of(
    service: Service, principal: Principal, request: Request, *, agent: str | None = None, session: str | None = None
) -> Caller:
    """The caller that a request speaks for.

    Args:
        service: Whose agents.
        principal: Who sends the request.
        request: Its headers name agent and project.
        agent: What the body names instead.
        session: What the body names. It belongs to the principal: nobody joins a session of another one.

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
