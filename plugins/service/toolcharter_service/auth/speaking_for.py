"""The agent and project that a request speaks for: those that it names, if its principal may speak for them."""

import re
from collections.abc import Collection
from typing import NamedTuple

from fastapi import Request

from toolcharter_service.auth.principal import Principal
from toolcharter_service.http.headers import values_of
from toolcharter_service.http.problems import HttpProblem

AGENT_HEADER = b"x-agent-id"
PROJECT_HEADER = b"x-project-id"
ANY_AGENT = "*"
"""The key of `agents` in the configuration that means every agent."""
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MAX_PROJECT = 200


class SpeakingFor(NamedTuple):
    """The agent and project that a call is made for."""

    agent: str | None
    """None if the tenant accepts any agent and the request names none."""
    project: str | None


def speaking_for(
    request: Request, principal: Principal, agents: Collection[str], named: str | None = None
) -> SpeakingFor:
    """Return the agent and project of *request*, from its headers `X-Agent-ID` and `X-Project-ID`.

    Args:
        request: The request.
        principal: Its sender.
        agents: The agents of its tenant in the configuration.
        named: The agent that the body names.

    Raises:
        HttpProblem: 400 `invalid_request`; 403 `agent_not_allowed`, `project_not_allowed`; 404 `unknown_agent`.
    """
    agent, project = _header(request, AGENT_HEADER), _header(request, PROJECT_HEADER)
    if named is not None and agent is not None and named != agent:
        raise HttpProblem(400, "Header and body name different agents.", "invalid_request")
    return SpeakingFor(agent_of(principal, named or agent, agents), project_of(principal, project))


def agent_of(principal: Principal, named: str | None, agents: Collection[str]) -> str | None:
    """Return the agent that *principal* speaks for if it names *named*.

    Raises:
        HttpProblem: As `speaking_for`.
    """
    if named is None:
        own = principal.agents if principal.agents is not None else frozenset(agents) - {ANY_AGENT}
        if len(own) == 1:
            [named] = own
        elif principal.agents is None and ANY_AGENT in agents:
            return None
        else:
            raise HttpProblem(400, "Name the agent in X-Agent-ID.", "agent_required")
    if principal.agents is not None and named not in principal.agents:
        raise HttpProblem(403, "This token may not speak for this agent.", "agent_not_allowed")
    if not _AGENT.fullmatch(named) or not (named in agents or ANY_AGENT in agents):
        raise HttpProblem(404, "There is no such agent.", "unknown_agent")
    return named


def project_of(principal: Principal, named: str | None) -> str | None:
    """Return the project that *principal* speaks for if it names *named*.

    Raises:
        HttpProblem: As `speaking_for`.
    """
    if named is None:
        if principal.projects is None or len(principal.projects) != 1:
            return None
        [named] = principal.projects
    if principal.projects is not None and named not in principal.projects:
        raise HttpProblem(403, "This token may not speak for this project.", "project_not_allowed")
    return named


def _header(request: Request, name: bytes) -> str | None:
    values = values_of(request, name)
    if not values or values == [""]:
        return None
    if len(values) > 1 or len(values[0]) > MAX_PROJECT or not values[0].isascii() or not values[0].isprintable():
        raise HttpProblem(400, f"The header {name.decode()} is not a valid name.", "invalid_request")
    return values[0]
