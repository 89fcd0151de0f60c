"""People and agents who ask a service under test: who they are stands in a header."""

from collections.abc import Iterable

from fastapi import Request

from toolcharter_service.auth import Principal, Role
from toolcharter_service.http.problems import HttpProblem


class HeaderAuthenticator:
    """Believes the header `X-Test-Is`: `tenant/name/role,role/agent,agent`, the last part for a token bound to agents."""

    async def principal(self, request: Request, /) -> Principal:
        said = request.headers.get("x-test-is")
        if said is None:
            raise HttpProblem(401, "Say who you are.", "unauthenticated")
        tenant, name, roles, *agents = said.split("/")
        bound = frozenset(agents[0].split(",")) if agents else None
        return Principal(
            tenant,
            name,
            frozenset(map(Role, roles.split(","))),
            agents=bound,
            token_id=f"id-{name}",
            user=None if bound else name,
        )


def identity_headers(
    name: str, roles: str, *, tenant: str = "acme", agents: Iterable[str] | None = None
) -> dict[str, str]:
    """The headers of *name*."""
    bound = "" if agents is None else "/" + ",".join(agents)
    return {"X-Test-Is": f"{tenant}/{name}/{roles}{bound}"}
