"""`AuthConfig`: the key `auth` of the service's configuration."""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field

from toolcharter import NetworkPolicy, ToolPolicy, is_secret_reference
from toolcharter_service.auth.principal import Role

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
"""Only signatures with a public key. With `none` or a shared secret, anyone who can read the keys could sign."""
MAX_SKEW_S = 60


class Claim(ToolPolicy):
    """A claim of a token: its name, or its path with dots (`realm_access.roles`)."""

    claim: Annotated[str, Field(min_length=1)]
    """The claim's name, or its path with dots."""


class RoleClaim(ToolPolicy):
    """The claim that names roles, and the service's roles for each of its words."""

    claim: Annotated[str, Field(min_length=1)]
    """The claim's name, or its path with dots."""
    map: Mapping[str, tuple[Role, ...]] | None = None
    """The roles for each word of the claim. Other words give no role. By default the words are the service's roles."""


class ClaimMapping(ToolPolicy):
    """How a token's claims are mapped to a principal."""

    tenant: str | Claim
    """A tenant's name, or the claim that names one."""
    name: Annotated[str, Field(min_length=1)] = "sub"
    """The claim that names the subject in events and records. Subjects must not be able to choose its value."""
    user: str | None = None
    """The claim that names the person whose grants apply; by default no person. After a login it is always `name`."""
    roles: tuple[Role, ...] | RoleClaim = RoleClaim(claim="roles")
    agents: tuple[str, ...] | Claim | None = None
    """The agents that the subject may speak for: names, or the claim with a list of names; no agents if a token lacks
    the claim. By default any agent of the tenant."""


class JwtIssuer(ToolPolicy):
    """An issuer whose tokens the service accepts."""

    issuer: Annotated[str, Field(min_length=1)]
    """The exact value of the claim `iss`."""
    audience: Annotated[str, Field(min_length=1)]
    """A value that the claim `aud` must contain."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256", "ES256")
    """The accepted signature algorithms."""
    jwks: Annotated[str, Field(min_length=1)]
    """The URL or the file of the issuer's keys."""
    claims: ClaimMapping
    skew_s: Annotated[int, Field(ge=0, le=MAX_SKEW_S)] = MAX_SKEW_S
    """How much the issuer's clock may differ from the service's, in seconds."""
    network: NetworkPolicy = NetworkPolicy()
    """The network policy for fetching the keys."""


class Oidc(ToolPolicy):
    """An OpenID provider where people sign in."""

    issuer: Annotated[str, Field(min_length=1)]
    """The provider's URL. Its metadata are at `.well-known/openid-configuration` below it."""
    client_id: Annotated[str, Field(min_length=1)]
    """The id of this service at the provider."""
    client_secret: str | None = None
    """`secret:NAME`, a secret of the service as a whole, or `env:NAME`; omitted for a public client."""
    redirect_uri: str
    """The URL of this service's `/login/oidc/callback` for browsers, exactly as registered at the provider."""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    """The requested scopes, which must include `openid`."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256", "ES256")
    """The accepted signature algorithms."""
    claims: ClaimMapping
    skew_s: Annotated[int, Field(ge=0, le=MAX_SKEW_S)] = MAX_SKEW_S
    """How much the provider's clock may differ from the service's, in seconds."""
    network: NetworkPolicy = NetworkPolicy()
    """The network policy for requests to the provider."""


class SessionConfig(ToolPolicy):
    """How long people stay signed in."""

    hours: Annotated[float, Field(gt=0, le=720)] = 8.0
    """How long a session lasts, in hours."""
    idle_minutes: Annotated[float, Field(gt=0, le=43200)] = 60.0
    """How long a session lasts after its last request, in minutes."""


class AuthConfig(ToolPolicy):
    """How the service authenticates requests."""

    passwords: bool = False
    """Whether people sign in with passwords."""
    jwt: tuple[JwtIssuer, ...] = ()
    oidc: Oidc | None = None
    sessions: SessionConfig = SessionConfig()
    stale_s: Annotated[float, Field(ge=0, le=86400)] = 900.0
    """How long credentials that a process has verified stay valid while the store is unreachable and cannot report
    that they were revoked, in seconds. New credentials are refused meanwhile."""


class AuthFault(NamedTuple):
    """A fault of a value below `auth`."""

    path: tuple[str | int, ...]
    what: str
    fix: str


def find_auth_faults(auth: AuthConfig, tenants: Collection[str]) -> Iterator[AuthFault]:
    """Yield the faults of *auth*."""
    for number, one in enumerate(auth.jwt):
        place: tuple[str | int, ...] = ("jwt", number)
        yield from _tenant_faults((*place, "claims"), one.claims, tenants)
        if _is_url(one.jwks):
            yield from _unencrypted_faults((*place, "jwks"), one.jwks, one.network)
        elif not Path(one.jwks).is_file():
            yield AuthFault((*place, "jwks"), f"there is no file {one.jwks!r}.", "Write https://..., or name a file.")
        if one.issuer in {other.issuer for other in auth.jwt[:number]}:
            yield AuthFault((*place, "issuer"), "another entry has this issuer.", "Write one entry for each issuer.")
    if auth.oidc is not None:
        yield from _oidc_faults(auth.oidc, tenants)


def _oidc_faults(oidc: Oidc, tenants: Collection[str]) -> Iterator[AuthFault]:
    yield from _tenant_faults(("oidc", "claims"), oidc.claims, tenants)
    yield from _unencrypted_faults(("oidc", "issuer"), oidc.issuer, oidc.network)
    if urlsplit(oidc.redirect_uri).path != CALLBACK or not _is_url(oidc.redirect_uri):
        what = f"{oidc.redirect_uri!r} does not lead to this service's {CALLBACK}."
        yield AuthFault(("oidc", "redirect_uri"), what, f"Write https://HOST{CALLBACK}.")
    secret = oidc.client_secret
    if secret is not None and not (is_secret_reference(secret) or secret.startswith("env:")):
        what = "the file contains the client's secret."
        yield AuthFault(("oidc", "client_secret"), what, "Write secret:NAME or env:NAME.")
    elif secret is not None and secret.startswith("env:") and not os.environ.get(secret.removeprefix("env:")):
        yield AuthFault(("oidc", "client_secret"), f"the environment has no {secret[4:]!r}.", "Set it.")
    if "openid" not in oidc.scopes:
        yield AuthFault(("oidc", "scopes"), "without 'openid' the provider does not identify the person.", "Add it.")


CALLBACK = "/login/oidc/callback"


def _tenant_faults(path: tuple[str | int, ...], claims: ClaimMapping, tenants: Collection[str]) -> Iterator[AuthFault]:
    if isinstance(claims.tenant, str) and claims.tenant not in tenants:
        what = f"there is no tenant {claims.tenant!r}."
        yield AuthFault((*path, "tenant"), what, f"Tenants: {', '.join(map(repr, tenants))}.")


def _unencrypted_faults(path: tuple[str | int, ...], url: str, network: NetworkPolicy) -> Iterator[AuthFault]:
    """Yield a fault for a URL without https, except for allowed private hosts: an attacker could replace the keys."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in network.allowed_private):
        what = f"{url!r} is not encrypted."
        yield AuthFault(path, what, "Write https://; http:// is only allowed for a host in network.allowed_private.")


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def resolve_key_files(auth: AuthConfig, folder: Path) -> AuthConfig:
    """Return *auth* with the paths of key files resolved against *folder*."""
    issuers = tuple(
        one if _is_url(one.jwks) else one.model_copy(update={"jwks": os.path.normpath(folder / one.jwks)})
        for one in auth.jwt
    )
    return auth.model_copy(update={"jwt": issuers})
