"""`principal_of`: maps the claims of a token to a principal, as the configuration says. Pure."""

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from toolcharter_service.auth.config import Claim, ClaimMapping, RoleClaim
from toolcharter_service.auth.principal import Means, Principal, PrincipalName, Role

_NAME: TypeAdapter[str] = TypeAdapter(PrincipalName)
MAX_NAMES = 1_000


class ClaimFault(ValueError):
    """A token whose claims give no valid tenant or name."""


def principal_of(
    claims: Mapping[str, Any], mapping: ClaimMapping, tenants: Collection[str], means: Means = "jwt"
) -> Principal:
    """Map a token's claims to a principal.

    Raises:
        ClaimFault: The claims give no valid name, or no existing tenant.
    """
    tenant = _find_claim(claims, mapping.tenant.claim) if isinstance(mapping.tenant, Claim) else mapping.tenant
    if not isinstance(tenant, str) or tenant not in tenants:
        raise ClaimFault("tenant")
    try:
        name = _NAME.validate_python(_find_claim(claims, mapping.name), strict=True)
    except ValidationError as error:
        raise ClaimFault("name") from error
    agents: frozenset[str] | None = None
    if isinstance(mapping.agents, Claim):
        agents = frozenset(_parse_names(_find_claim(claims, mapping.agents.claim)))
    elif mapping.agents is not None:
        agents = frozenset(mapping.agents)
    user = _find_claim(claims, mapping.user) if mapping.user is not None else None
    jti = claims.get("jti")
    token_id = jti[:64] if isinstance(jti, str) else ""
    roles = _map_roles(claims, mapping.roles)
    named = user if isinstance(user, str) else None
    return Principal(tenant, name, roles, agents, token_id=token_id, means=means, user=named)


def _map_roles(claims: Mapping[str, Any], roles: tuple[Role, ...] | RoleClaim) -> frozenset[Role]:
    if not isinstance(roles, RoleClaim):
        return frozenset(roles)
    words = _parse_names(_find_claim(claims, roles.claim))
    if roles.map is None:
        return frozenset(Role(word) for word in words if word in set(Role))
    return frozenset(role for word in words for role in roles.map.get(word, ()))


def _find_claim(claims: Mapping[str, Any], path: str) -> Any:
    """Look up a claim by its name or path; None if it is missing."""
    if path in claims:  # the dots in `https://example.org/roles` are no path
        return claims[path]
    found: Any = claims
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _parse_names(value: Any) -> list[str]:
    """Parse a claim of several names: a list, or text separated by blanks like `scope`. Anything else gives none."""
    if isinstance(value, str):
        return value.split()[:MAX_NAMES]
    return [word for word in value[:MAX_NAMES] if isinstance(word, str)] if isinstance(value, list) else []
