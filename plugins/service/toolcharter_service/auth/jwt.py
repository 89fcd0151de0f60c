"""Verifies JSON Web Tokens of configured issuers: the signature, by listed algorithms only, then the limiting claims.

The header only selects one of the issuer's keys. URLs and keys in it are ignored, and critical extensions are refused.
A verified token is cached until it expires or the issuer's keys change.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry, deserialize_compact, extract_compact

from toolcharter_service.auth.claims import ClaimFault, principal_of
from toolcharter_service.auth.config import JwtIssuer
from toolcharter_service.auth.keys import IssuerKeys, KeysUnavailable
from toolcharter_service.auth.principal import Principal
from toolcharter_service.auth.tokens import digest_of
from toolcharter_service.http.problems import HttpProblem

MAX_VERIFIED = 10_000
_DOTS = 2
_TYPES = frozenset({"jwt", "at+jwt"})
"""The accepted values of `typ`. ID tokens and other statements are no access tokens. Source: RFC 9068, section 4."""


class InvalidToken(Exception):
    """A token that is refused. The message is for tests and operators; the bearer never sees it."""


class _Registry(JWSRegistry):
    """joserfc's registry, with a higher limit for headers, and without refusing unknown header fields."""

    max_header_length = 8_192

    def __init__(self, algorithms: Collection[str]) -> None:
        super().__init__(algorithms=algorithms, strict_check_header=False)


class VerifiedToken(NamedTuple):
    """A JSON Web Token with a valid signature."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]


async def verify(text: str, keys: IssuerKeys, algorithms: Sequence[str]) -> VerifiedToken:
    """Check the signature of *text*.

    Raises:
        InvalidToken: The signature or the token is invalid.
        KeysUnavailable: The issuer's keys cannot be fetched.
    """
    header = read_header(text)
    algorithm, kid = header.get("alg"), header.get("kid")
    if algorithm not in algorithms or "crit" in header or not isinstance(kid, str | None):
        raise InvalidToken(f"alg {algorithm!r}, crit {header.get('crit')!r}")
    key = await keys.find(kid, str(algorithm))
    if key is None:
        raise InvalidToken(f"no key {kid!r} for {algorithm}")
    try:
        payload = deserialize_compact(text, key, registry=_Registry(algorithms)).payload
        claims = orjson.loads(payload or b"")
    except (JoseError, ValueError, TypeError) as error:
        raise InvalidToken(type(error).__name__) from error
    if not isinstance(claims, dict):
        raise InvalidToken("no claims")
    return VerifiedToken(header, claims)


def read_header(text: str) -> dict[str, Any]:
    """Parse the header of a token, without checking its signature.

    Raises:
        InvalidToken: *text* is no token.
    """
    try:
        return dict(extract_compact(text.encode("ascii"), registry=_Registry(())).headers())
    except (JoseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidToken(type(error).__name__) from error


def check_times(claims: Mapping[str, Any], skew_s: float) -> float:
    """Check a token's times, and return when it expires, in seconds since 1970. Source: RFC 7519, section 4.1.

    Raises:
        InvalidToken: The token is not valid now, or does not say when it expires.
    """
    now = time.time()
    times = {name: claims[name] for name in ("exp", "nbf", "iat") if name in claims}
    if any(isinstance(at, bool) or not isinstance(at, int | float) for at in times.values()):
        raise InvalidToken("times that are no numbers")
    if "exp" not in times or times["exp"] + skew_s <= now:
        raise InvalidToken("exp")
    if max(times.get("nbf", 0), times.get("iat", 0)) - skew_s > now:
        raise InvalidToken("nbf or iat")
    return float(times["exp"]) + skew_s


def has_audience(claims: Mapping[str, Any], audience: str) -> bool:
    """Whether *audience* is an audience of the token."""
    said = claims.get("aud")
    return said == audience or (isinstance(said, list) and audience in said)


class _CachedToken(NamedTuple):
    principal: Principal
    expires: float
    issuer: str
    generation: int


class _Issuer(NamedTuple):
    config: JwtIssuer
    keys: IssuerKeys


class JwtIssuers:
    """The issuers of a configuration, and a cache of their verified tokens."""

    def __init__(self, issuers: Sequence[JwtIssuer], tenants: Collection[str]) -> None:
        self._issuers = {one.issuer: _Issuer(one, IssuerKeys(one.jwks, one.network)) for one in issuers}
        self._tenants = tenants
        self._cached: dict[str, _CachedToken] = {}

    async def principal(self, text: str) -> Principal:
        """Verify a token and return its principal.

        Raises:
            HttpProblem: 401; 503 `keys_unavailable`.
        """
        digest = digest_of(text)
        cached = self._cached.get(digest)
        if cached is not None:
            keys = self._issuers[cached.issuer].keys
            if cached.expires > time.time() and keys.is_fresh and cached.generation == keys.generation:
                return cached.principal
            del self._cached[digest]
        try:
            found = await self._verify_all(text)
        except KeysUnavailable as error:
            message = "The issuer's keys cannot be reached."
            raise HttpProblem(503, message, "keys_unavailable", headers={"Retry-After": "10"}) from error
        except (InvalidToken, ClaimFault) as error:
            message = "This token is not known, has expired or was revoked."
            headers = {"WWW-Authenticate": 'Bearer realm="toolcharter", error="invalid_token"'}
            raise HttpProblem(401, message, "unauthenticated", headers=headers) from error
        while len(self._cached) >= MAX_VERIFIED:
            del self._cached[next(iter(self._cached))]
        self._cached[digest] = found
        return found.principal

    async def _verify_all(self, text: str) -> _CachedToken:
        """Check a token's signature, type, issuer, audience, times and claims.

        Raises:
            InvalidToken: One of them is invalid.
            ClaimFault: The claims give no valid tenant or name.
            KeysUnavailable: The issuer's keys cannot be fetched.
        """
        issuer = self._issuers.get(_claimed_issuer(text))
        if issuer is None:
            raise InvalidToken("iss")
        config, keys = issuer
        signed = await verify(text, keys, config.algorithms)
        kind = signed.header.get("typ", "JWT")
        if not isinstance(kind, str) or kind.lower().removeprefix("application/") not in _TYPES:
            raise InvalidToken("typ")
        if signed.claims.get("iss") != config.issuer or not has_audience(signed.claims, config.audience):
            raise InvalidToken("iss or aud")
        expires = check_times(signed.claims, config.skew_s)
        principal = replace(principal_of(signed.claims, config.claims, self._tenants), issuer=config.issuer)
        return _CachedToken(principal, expires, config.issuer, keys.generation)


def _claimed_issuer(text: str) -> str:
    """Return the issuer that a token claims. The caller has to check its signature."""
    if text.count(".") != _DOTS:
        raise InvalidToken("no token")
    try:
        payload = extract_compact(text.encode("ascii"), registry=_Registry(())).payload
        claims = orjson.loads(payload or b"")
    except (JoseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidToken(type(error).__name__) from error
    said = claims.get("iss") if isinstance(claims, dict) else None
    return said if isinstance(said, str) else ""
