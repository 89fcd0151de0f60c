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
"""Signatures with a public key: with none, or with a shared secret, whoever knows the keys' URL could sign."""
MAX_SKEW_S = 60


class Claim(ToolPolicy):
    """Where a token says something: a claim's name, or its path with dots (`realm_access.roles`)."""

    claim: Annotated[str, Field(min_length=1)]
    """The claim's name, or its path with dots."""


class RoleClaim(ToolPolicy):
    """Where a token names roles, and which of ours each of its words gives."""

    claim: Annotated[str, Field(min_length=1)]
    """The claim's name, or its path with dots."""
    map: Mapping[str, tuple[Role, ...]] | None = None
    """By word of the claim; a word that is not here gives nothing. By default the words are our roles."""


class ClaimMapping(ToolPolicy):
    """What a token's claims make of its subject."""

    tenant: str | Claim
    """A tenant's name, or the claim that names one."""
    name: Annotated[str, Field(min_length=1)] = "sub"
    """The claim that names the subject in events and records. It has to be one that subjects cannot choose."""
    user: str | None = None
    """The claim that names the person whose grants hold; nobody by default. Who signs in is one by `name`."""
    roles: tuple[Role, ...] | RoleClaim = RoleClaim(claim="roles")
    agents: tuple[str, ...] | Claim | None = None
    """For whom the subject may speak: names, or the claim with a list of them, without which there are none.
    By default any agent of the tenant."""


class JwtIssuer(ToolPolicy):
    """Who signs tokens that the service believes."""

    issuer: Annotated[str, Field(min_length=1)]
    """As the claim `iss` has it, letter by letter."""
    audience: Annotated[str, Field(min_length=1)]
    """What `aud` has to hold."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256", "ES256")
    """The only ones that are accepted."""
    jwks: Annotated[str, Field(min_length=1)]
    """The URL or the file of the issuer's keys."""
    claims: ClaimMapping
    skew_s: Annotated[int, Field(ge=0, le=MAX_SKEW_S)] = MAX_SKEW_S
    """How far the issuer's clock may be from ours, in seconds."""
    network: NetworkPolicy = NetworkPolicy()
    """What may be reached for the keys."""


class Oidc(ToolPolicy):
    """An OpenID provider where people sign in."""

    issuer: Annotated[str, Field(min_length=1)]
    """Its URL; its metadata lie below, at `.well-known/openid-configuration`."""
    client_id: Annotated[str, Field(min_length=1)]
    """As which the provider knows this service."""
    client_secret: str | None = None
    """`secret:NAME`, a secret of the service as a whole, or `env:NAME`; nothing for a public client."""
    redirect_uri: str
    """This service's `/login/oidc/callback` as browsers reach it, letter by letter as the provider knows it."""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    """What is asked of the provider; `openid` is among it."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256", "ES256")
    """The only ones that are accepted."""
    claims: ClaimMapping
    skew_s: Annotated[int, Field(ge=0, le=MAX_SKEW_S)] = MAX_SKEW_S
    """How far the provider's clock may be from ours, in seconds."""
    network: NetworkPolicy = NetworkPolicy()
    """What may be reached of the provider."""


class SessionConfig(ToolPolicy):
    """How long people stay signed in."""

    hours: Annotated[float, Field(gt=0, le=720)] = 8.0
    """From signing in to signing in again."""
    idle_minutes: Annotated[float, Field(gt=0, le=43200)] = 60.0
    """After the last request."""


class AuthConfig(ToolPolicy):
    """How the service knows who asks."""

    passwords: bool = False
    """Whether people sign in with passwords."""
    jwt: tuple[JwtIssuer, ...] = ()
    oidc: Oidc | None = None
    sessions: SessionConfig = SessionConfig()
    stale_s: Annotated[float, Field(ge=0, le=86400)] = 900.0
    """How long credentials that a process has verified hold while the store cannot be asked whether they were
    revoked, in seconds; new ones are refused meanwhile."""


class AuthFault(NamedTuple):
    """What is wrong with a value, below `auth`."""

    path: tuple[str | int, ...]
    what: str
    fix: str


def faults_of(auth: AuthConfig, tenants: Collection[str]) -> Iterator[AuthFault]:
    """What of *auth* cannot work."""
    for number, one in enumerate(auth.jwt):
        place: tuple[str | int, ...] = ("jwt", number)
        yield from _tenant_faults((*place, "claims"), one.claims, tenants)
        if _is_url(one.jwks):
            yield from _insecure((*place, "jwks"), one.jwks, one.network)
        elif not Path(one.jwks).is_file():
            yield AuthFault((*place, "jwks"), f"there is no file {one.jwks!r}.", "Write https://..., or name a file.")
        if one.issuer in {other.issuer for other in auth.jwt[:number]}:
            yield AuthFault((*place, "issuer"), "another entry has this issuer.", "Write one entry for each issuer.")
    if auth.oidc is not None:
        yield from _oidc_faults(auth.oidc, tenants)


def _oidc_faults(oidc: Oidc, tenants: Collection[str]) -> Iterator[AuthFault]:
    yield from _tenant_faults(("oidc", "claims"), oidc.claims, tenants)
    yield from _insecure(("oidc", "issuer"), oidc.issuer, oidc.network)
    if urlsplit(oidc.redirect_uri).path != CALLBACK or not _is_url(oidc.redirect_uri):
        what = f"{oidc.redirect_uri!r} does not lead to this service's {CALLBACK}."
        yield AuthFault(("oidc", "redirect_uri"), what, f"Write https://HOST{CALLBACK}.")
    secret = oidc.client_secret
    if secret is not None and not (is_secret_reference(secret) or secret.startswith("env:")):
        what = "a client's secret stands in the file."
        yield AuthFault(("oidc", "client_secret"), what, "Write secret:NAME or env:NAME.")
    elif secret is not None and secret.startswith("env:") and not os.environ.get(secret.removeprefix("env:")):
        yield AuthFault(("oidc", "client_secret"), f"the environment has no {secret[4:]!r}.", "Set it.")
    if "openid" not in oidc.scopes:
        yield AuthFault(("oidc", "scopes"), "without 'openid' the provider says nothing of who it is.", "Add it.")


CALLBACK = "/login/oidc/callback"


def _tenant_faults(path: tuple[str | int, ...], claims: ClaimMapping, tenants: Collection[str]) -> Iterator[AuthFault]:
    if isinstance(claims.tenant, str) and claims.tenant not in tenants:
        what = f"there is no tenant {claims.tenant!r}."
        yield AuthFault((*path, "tenant"), what, f"Tenants: {', '.join(map(repr, tenants))}.")


def _insecure(path: tuple[str | int, ...], url: str, network: NetworkPolicy) -> Iterator[AuthFault]:
    """Whoever stands between could sign as the issuer; on this machine nobody does."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in network.allowed_private):
        what = f"{url!r} is not encrypted."
        yield AuthFault(path, what, "Write https://; http:// serves for a host that network.allowed_private names.")


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def absolute(auth: AuthConfig, folder: Path) -> AuthConfig:
    """*auth* with files of keys relative to *folder*."""
    issuers = tuple(
        one if _is_url(one.jwks) else one.model_copy(update={"jwks": os.path.normpath(folder / one.jwks)})
        for one in auth.jwt
    )
    return auth.model_copy(update={"jwt": issuers})
