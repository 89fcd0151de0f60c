"""Signs people in at an OpenID provider: the authorization code flow with PKCE, state and nonce.

All three values are derived from one random cookie that only the browser has. The state proves that the response
belongs to the login that this browser began. The provider signs the nonce. A stolen code is useless without PKCE's
verifier. So the service stores nothing about logins that people begin and never finish.

Source: OpenID Connect Core 1.0, section 3.1; RFC 7636 (PKCE); RFC 9207 (`iss`); RFC 9700, section 2.1.
"""

import hmac
import secrets
import time
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote_plus, urlencode, urlsplit

import orjson

from toolcharter import Denied, HttpLimits, ToolError
from toolcharter.hosts import open_http
from toolcharter_service.auth.claims import ClaimFault, principal_of
from toolcharter_service.auth.config import Oidc
from toolcharter_service.auth.jwt import InvalidToken, check_times, has_audience, verify
from toolcharter_service.auth.keys import IssuerKeys, KeysUnavailable
from toolcharter_service.auth.origins import local_path
from toolcharter_service.auth.principal import Principal

LOGIN_COOKIE = "__Host-toolcharter-login"
LOGIN_S = 600
"""How long a person may take at the provider, in seconds."""
METADATA_S = 3_600.0
_SECRET_LENGTH = 43
_COOKIE_PARTS = 3
_LIMITS = HttpLimits(timeout_s=10.0, max_bytes=262_144, max_redirects=0)
_OK = 200


class LoginFailed(Exception):
    """The person is not signed in. *reason* is a stable word, never text from the provider or the browser."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ProviderUnavailable(Exception):
    """The provider is unreachable, or its response is invalid."""


class LoginRedirect(NamedTuple):
    """The URL to send a browser to, and the cookie that it has to bring back."""

    url: str
    cookie: str


class _PendingLogin(NamedTuple):
    """A login that one browser has begun."""

    secret: str
    begun: str
    """In seconds since 1970."""
    next: str
    """The local path to redirect to afterwards."""

    def derive(self, what: str) -> str:
        """Derive the value for one purpose. It reveals neither the secret nor the other values."""
        text = f"{what}\0{self.begun}\0{self.next}"
        return _base64(hmac.digest(self.secret.encode(), text.encode(), "sha256"))

    def cookie(self) -> str:
        return ".".join((self.secret, self.begun, _base64(self.next.encode())))


class _Metadata(NamedTuple):
    authorization: str
    token: str
    keys: IssuerKeys
    uses_basic_auth: bool
    """Whether the client's secret is sent in the header Authorization."""
    sends_issuer: bool
    """Whether the provider's response has to have the parameter `iss`."""


class OidcLogin:
    """Signs people in at one provider.

    Args:
        config: The provider's configuration.
        tenants: The existing tenants.
        secret: Resolves the configuration's reference to the client's secret.
    """

    def __init__(self, config: Oidc, tenants: Collection[str], secret: Callable[[str], Awaitable[str]]) -> None:
        self._config = config
        self._tenants = tenants
        self._secret = secret
        self._metadata_cache: tuple[_Metadata, float] | None = None

    async def begin(self, next_path: str | None) -> LoginRedirect:
        """Return the URL of the provider to send a browser to, and its cookie.

        Raises:
            ProviderUnavailable: The provider's metadata cannot be fetched.
        """
        provider = await self._read_metadata()
        pending = _PendingLogin(secrets.token_urlsafe(32), str(int(time.time())), local_path(next_path))
        query = {
            "response_type": "code",
            "client_id": self._config.client_id,
            "redirect_uri": self._config.redirect_uri,
            "scope": " ".join(self._config.scopes),
            "state": pending.derive("state"),
            "nonce": pending.derive("nonce"),
            "code_challenge": _base64(sha256(pending.derive("verifier").encode()).digest()),
            "code_challenge_method": "S256",
        }
        joint = "&" if urlsplit(provider.authorization).query else "?"
        return LoginRedirect(f"{provider.authorization}{joint}{urlencode(query)}", pending.cookie())

    async def finish(self, query: Mapping[str, list[str]], cookie: str) -> tuple[Principal, str]:
        """Return the principal of the person who has signed in, and the local path to redirect the browser to.

        Args:
            query: The parameters with which the provider has redirected the browser.
            cookie: The cookie from `begin`.

        Raises:
            LoginFailed: `login_expired`, `state_mismatch`, `login_refused`, `login_not_believed`, `no_access`.
            ProviderUnavailable: The provider is unreachable.
        """
        pending = _read_cookie(cookie)
        state, code = _single_value(query, "state"), _single_value(query, "code")
        if state is None or not hmac.compare_digest(state.encode(), pending.derive("state").encode()):
            raise LoginFailed("state_mismatch")
        provider = await self._read_metadata()
        issuer = _single_value(query, "iss")
        if issuer != self._config.issuer and (issuer is not None or provider.sends_issuer):
            raise LoginFailed("login_not_believed")  # a mix-up attack: another provider's response
        if code is None or "error" in query:
            raise LoginFailed("login_refused")
        token = await self._exchange_code(provider, code, pending.derive("verifier"))
        claims = await self._verify_id_token(provider, token, pending.derive("nonce"))
        try:
            found = principal_of(claims, self._config.claims, self._tenants, "session")
        except ClaimFault as error:
            raise LoginFailed("no_access") from error
        if not found.roles:
            raise LoginFailed("no_access")
        return replace(found, user=found.name), pending.next

    async def _exchange_code(self, provider: _Metadata, code: str, verifier: str) -> str:
        """Exchange an authorization code for the ID token."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._config.redirect_uri,
            "code_verifier": verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        client = self._config.client_id
        if self._config.client_secret is None:
            form["client_id"] = client
        else:
            secret = await self._secret(self._config.client_secret)
            if provider.uses_basic_auth:
                pair = f"{quote_plus(client)}:{quote_plus(secret)}"
                headers["Authorization"] = "Basic " + b64encode(pair.encode()).decode()
            else:
                form |= {"client_id": client, "client_secret": secret}
        status, answer = await self._request(provider.token, headers, urlencode(form).encode())
        token = answer.get("id_token")
        if status != _OK or not isinstance(token, str):
            raise LoginFailed("login_refused")
        return token

    async def _verify_id_token(self, provider: _Metadata, token: str, nonce: str) -> Mapping[str, Any]:
        """Check that an ID token is valid now, is for this client and has the login's nonce, and return its claims."""
        config = self._config
        try:
            claims = (await verify(token, provider.keys, config.algorithms)).claims
            check_times(claims, config.skew_s)
        except InvalidToken as error:
            raise LoginFailed("login_not_believed") from error
        except KeysUnavailable as error:
            raise ProviderUnavailable("its keys") from error
        party, said = claims.get("azp", config.client_id), claims.get("nonce")
        is_ours = claims.get("iss") == config.issuer and has_audience(claims, config.client_id)
        if not is_ours or party != config.client_id or not isinstance(said, str):
            raise LoginFailed("login_not_believed")
        if not hmac.compare_digest(said.encode(), nonce.encode()):
            raise LoginFailed("login_not_believed")
        return claims

    async def _read_metadata(self) -> _Metadata:
        if self._metadata_cache is not None and time.monotonic() - self._metadata_cache[1] <= METADATA_S:
            return self._metadata_cache[0]
        place = f"{self._config.issuer.removesuffix('/')}/.well-known/openid-configuration"
        status, said = await self._request(place, {"Accept": "application/json"})
        ends = [said.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
        if status != _OK or said.get("issuer") != self._config.issuer or not all(map(self._is_safe, ends)):
            raise ProviderUnavailable("its metadata")
        authorization, token, keys = map(str, ends)
        methods = said.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        found = _Metadata(
            authorization,
            token,
            IssuerKeys(keys, self._config.network),
            "client_secret_basic" in methods,
            said.get("authorization_response_iss_parameter_supported") is True,
        )
        self._metadata_cache = (found, time.monotonic())
        return found

    def _is_safe(self, url: object) -> bool:
        """Whether a URL from the provider's metadata is encrypted, or leads to an allowed private host."""
        parts = urlsplit(url if isinstance(url, str) else "")
        is_near = parts.scheme == "http" and parts.hostname in self._config.network.allowed_private
        return parts.scheme == "https" or is_near

    async def _request(self, url: str, headers: Mapping[str, str], content: bytes = b"") -> tuple[int, dict[str, Any]]:
        method = "POST" if content else "GET"
        try:
            answer = await open_http().afetch(
                url, self._config.network, method=method, headers=headers, content=content, limits=_LIMITS
            )
            said = orjson.loads(answer.body)
        except (Denied, ToolError, ValueError) as error:
            raise ProviderUnavailable(type(error).__name__) from error
        return answer.status, said if isinstance(said, dict) else {}


def _read_cookie(cookie: str) -> _PendingLogin:
    """Parse the login from a browser's cookie.

    Raises:
        LoginFailed: The cookie is invalid, or too old.
    """
    parts = cookie.split(".")
    if len(parts) != _COOKIE_PARTS or len(parts[0]) != _SECRET_LENGTH or not cookie.isascii():
        raise LoginFailed("login_expired")
    try:
        begun = int(parts[1])
        path = urlsafe_b64decode(parts[2] + "=" * (-len(parts[2]) % 4)).decode()
    except ValueError as error:
        raise LoginFailed("login_expired") from error
    if not 0 <= time.time() - begun + 1 <= LOGIN_S:
        raise LoginFailed("login_expired")
    return _PendingLogin(parts[0], parts[1], local_path(path))


def _single_value(query: Mapping[str, list[str]], name: str) -> str | None:
    """Return the value of a parameter that occurs exactly once, else None."""
    values = query.get(name, [])
    return values[0] if len(values) == 1 and values[0] else None


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
