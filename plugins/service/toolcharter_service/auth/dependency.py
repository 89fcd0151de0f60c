"""What routes depend on: `authenticate` says who asks, `require` refuses whom the route is not for."""

from typing import Any, Protocol

from fastapi import Depends, Request

from toolcharter_service.auth.principal import CallerScope, Principal, Role
from toolcharter_service.http.problems import HttpProblem


class Authenticator(Protocol):
    """`app.state.auth`."""

    async def principal(self, request: Request, /) -> Principal:
        """Who sends *request*.

        Raises:
            HttpProblem: 401 if that is not known.
        """
        ...


async def authenticate(request: Request) -> Principal:
    """Who sends *request*, once for each request.

    Raises:
        HttpProblem: 401 if that is not known, 400 if its headers cannot be read, 429, 503.
    """
    state: dict[str, Any] = request.scope.setdefault("state", {})  # what `request.state` shows
    known: Principal | None = state.get("principal")
    if known is None:
        auth: Authenticator = request.app.state.auth
        known = state["principal"] = await auth.principal(request)
    return known


class RequireRole:
    """The dependency that `require` gives; a route's roles are read from it."""

    def __init__(self, roles: frozenset[Role], scope: CallerScope | None) -> None:
        self.roles = roles
        self.scope = scope

    async def __call__(self, request: Request) -> Principal:
        """The principal, if it has one of the roles and the scope.

        Raises:
            HttpProblem: As `authenticate`; 403 `role_missing` or `scope_missing`.
        """
        principal = await authenticate(request)
        if not any(principal.has(role) for role in self.roles):
            named = " or ".join(sorted(self.roles))
            raise HttpProblem(403, f"This needs the role {named}.", "role_missing")
        if principal.scopes is not None and self.scope not in principal.scopes:
            needed = "all scopes" if self.scope is None else f"the scope {self.scope}"
            raise HttpProblem(403, f"This needs {needed}.", "scope_missing")
        return principal


def require(*roles: Role, scope: CallerScope | None = None) -> Any:
    """A dependency that gives the `Principal`, if it has one of *roles*; for `dependencies=` and for `Annotated`.

    Args:
        roles: One of them is enough.
        scope: Which scope, as `X-Caller-Scopes` names it, lets the route be used by who has narrowed itself to some;
            None for a route that only a principal with all scopes may use.
    """
    return Depends(RequireRole(frozenset(roles), scope))
