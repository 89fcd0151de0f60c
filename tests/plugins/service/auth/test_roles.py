"""Which role holds which, and what a route says to whom it is not for."""

from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import Request
from tests.rows import each_row

from toolcharter_service.auth import CallerScope, Principal, Role, dev_principal
from toolcharter_service.auth.dependency import RequireRole
from toolcharter_service.http.problems import HttpProblem


class Known:
    """An authenticator that knows one principal, and how often it was asked."""

    def __init__(self, principal: Principal) -> None:
        self.asked = 0
        self._principal = principal

    async def principal(self, request: Request) -> Principal:
        self.asked += 1
        return self._principal


def request_to(auth: Known) -> Request:
    scope: dict[str, Any] = {"type": "http", "headers": [], "app": SimpleNamespace(state=SimpleNamespace(auth=auth))}
    return Request(scope)


@each_row(
    ("own", "held"),
    [
        (Role.VIEWER, {Role.VIEWER}),
        (Role.CALLER, {Role.CALLER}),
        (Role.APPROVER, {Role.APPROVER, Role.VIEWER}),
        (Role.OPERATOR, {Role.OPERATOR, Role.VIEWER}),
        (Role.ADMIN, set(Role)),
    ],
)
def test_a_role_holds_others(own: Role, held: set[Role]) -> None:
    """Who looks on cannot call, an agent does not see what others do, and an admin may do everything."""
    principal = Principal("acme", "ann", frozenset({own}))

    assert {role for role in Role if principal.has(role)} == held


async def test_a_route_gets_its_principal() -> None:
    """One of the roles is enough, and a request is looked at once."""
    principal = Principal("acme", "ann", frozenset({Role.CALLER}))
    auth = Known(principal)
    request = request_to(auth)
    dependency = RequireRole(frozenset({Role.VIEWER, Role.CALLER}), None)

    assert (await dependency(request), await dependency(request), auth.asked) == (principal, principal, 1)


@pytest.mark.parametrize(
    ("own", "scopes", "reason"),
    [
        (Role.VIEWER, None, "role_missing"),
        (Role.VIEWER, frozenset({"invoke_tool"}), "role_missing"),
        (Role.CALLER, frozenset({"read_registry"}), "scope_missing"),
        (Role.ADMIN, frozenset[str](), "scope_missing"),
    ],
)
async def test_a_route_refuses_whom_it_is_not_for(own: Role, scopes: frozenset[str] | None, reason: str) -> None:
    """Neither a role nor a scope stands for the other."""
    request = request_to(Known(Principal("acme", "ann", frozenset({own}), scopes=scopes)))

    with pytest.raises(HttpProblem) as raised:
        await RequireRole(frozenset({Role.CALLER}), CallerScope.INVOKE_TOOL)(request)

    assert (raised.value.status, raised.value.reason) == (403, reason)


async def test_who_has_narrowed_itself_uses_no_other_route() -> None:
    """A route without a scope is for principals with all of them."""
    narrow = Principal("acme", "ann", frozenset({Role.ADMIN})).narrowed(frozenset(CallerScope))

    with pytest.raises(HttpProblem) as raised:
        await RequireRole(frozenset({Role.ADMIN}), None)(request_to(Known(narrow)))

    assert str(raised.value) == "This needs all scopes."


def test_scopes_only_narrow() -> None:
    """What a token does not have, no header gives it."""
    once = Principal("acme", "ann", frozenset({Role.ADMIN})).narrowed(frozenset({"read_registry"}))

    assert once.narrowed(frozenset({"read_registry", "invoke_tool"})).scopes == frozenset({"read_registry"})
    assert dev_principal("acme").scopes is None
