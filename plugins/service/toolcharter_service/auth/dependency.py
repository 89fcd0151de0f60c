"""The dependencies of routes: `authenticate` returns the principal, `require` refuses a principal without the role."""

from typing import Any, Protocol

from fastapi import Depends, Request

from toolcharter_service.auth.principal import CallerScope, Principal, Role
from toolcharter_service.http.problems import HttpProblem


class Authenticator(Protocol):
    """The interface of `app.state.auth`."""

    async def principal(self, request: Request, /) -> Principal:
        """Authenticate *request*.

        Raises:
            HttpProblem: 401 if it cannot be authenticated.
        """
        ...


async def authenticate(request: Request) -> Principal:
    """Return the principal of *request*, which is authenticated once.

    Raises:
        HttpProblem: 401 if it cannot be authenticated, 400 if its headers are invalid, 429, 503.
    """
    state: dict[str, Any] = request.scope.setdefault("state", {})  # the dictionary behind `request.state`
    known: Principal | None = state.get("principal")
    if known is None:
        auth: Authenticator = request.app.state.auth
        known = state["principal"] = await auth.principal(request)
    return known


class RequireRole:
    """The dependency that `require` returns. Other code reads a route's roles from it."""

    def __init__(self, roles: frozenset[Role], scope: CallerScope | None) -> None:
        self.roles = roles
        self.scope = scope

    async def __call__(self, request: Request) -> Principal:
        """Return the principal if it has one of the roles, and the scope.

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
    """Return a dependency that yields the `Principal` if it has one of *roles*; for `dependencies=` and `Annotated`.

    Args:
        roles: One of them is enough.
        scope: The scope that a principal needs if it is narrowed to some scopes, for instance by `X-Caller-Scopes`.
            None: only a principal with all scopes may use the route.
    """
    return Depends(RequireRole(frozenset(roles), scope))
