"""Sessions of people: a random cookie, stored as its SHA-256, and the CSRF token of requests from this service's pages.

A session always begins with a new cookie, and the browser's former session ends: an attacker cannot prepare a session
for another person to sign in to. The CSRF token is derived from the cookie: a page of another origin can neither read
nor guess it, and the token of another session does not match.
"""

import hmac
import secrets
import time
from base64 import urlsafe_b64encode
from typing import NamedTuple

from starlette.responses import Response

from toolcharter import AsyncStore
from toolcharter_service.auth.config import SessionConfig
from toolcharter_service.auth.principal import Principal
from toolcharter_service.auth.records import SessionRecord, UserRecord, makers_of
from toolcharter_service.auth.tokens import ID_LENGTH, as_set, digest_of
from toolcharter_service.auth.verified import VerifiedCredential

SESSION_COOKIE = "__Host-toolcharter"
"""Browsers accept this prefix only over TLS or from loopback, for one host and all paths. RFC 6265bis, 4.1.3.2."""
CSRF_COOKIE = "__Host-toolcharter-csrf"
CSRF_HEADER = "X-CSRF-Token"
CSRF_FIELD = "csrf_token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_COOKIE_LENGTH = 43


class NewSession(NamedTuple):
    """A session that has just begun."""

    cookie: str
    record: SessionRecord


def csrf_token(cookie: str) -> str:
    """Derive the CSRF token that requests with *cookie* need if they change anything."""
    return urlsafe_b64encode(hmac.digest(cookie.encode(), b"csrf", "sha256")).decode().rstrip("=")


def is_csrf_token(cookie: str, given: str) -> bool:
    """Whether *given* is the CSRF token of *cookie*; compared in constant time."""
    return hmac.compare_digest(csrf_token(cookie).encode(), given.encode("utf-8", "replace"))


class Sessions:
    """The sessions of the service as a whole."""

    def __init__(self, store: AsyncStore, config: SessionConfig) -> None:
        self._store = store
        self._config = config

    async def begin(self, principal: Principal, *, means: str, epoch: int = 0, former: str = "") -> NewSession:
        """Begin a session, and end the session of the cookie *former*.

        Args:
            principal: The person who has signed in.
            means: `password` or `oidc`.
            epoch: The user's epoch.
            former: The cookie that the browser sent; empty for none.
        """
        cookie, now = secrets.token_urlsafe(32), int(time.time())
        digest = digest_of(cookie)
        record = SessionRecord(
            digest=digest,
            id=digest[:ID_LENGTH],
            tenant=principal.tenant,
            user=principal.name,
            means="oidc" if means == "oidc" else "password",
            epoch=epoch,
            roles=tuple(sorted(principal.roles)),
            agents=None if principal.agents is None else tuple(sorted(principal.agents)),
            created=now,
            seen=now,
            expires=now + int(self._config.hours * 3600),
        )
        await self._store.put(record, expected=0)
        await self.end(former)
        return NewSession(cookie, record)

    async def end(self, cookie: str) -> bool:
        """End the session of *cookie*. Return whether it existed."""
        return len(cookie) == _COOKIE_LENGTH and await self._store.delete(SessionRecord, digest_of(cookie))

    async def read(self, digest: str) -> VerifiedCredential | None:
        """Return the credentials of the session whose cookie has this digest; None if it is unknown or has ended."""
        found = await self._store.get(SessionRecord, digest)
        if found is None:
            return None
        record, now = found.record, time.time()
        expires = min(record.expires, record.seen + self._config.idle_minutes * 60)
        if expires <= now:
            return None
        roles, agents, projects, makers = record.roles, record.agents, None, frozenset[str]()
        if record.means == "password":
            user = await self._store.get(UserRecord, record.tenant, record.user)
            if user is None or not user.record.enabled or user.record.epoch != record.epoch:
                return None
            roles, agents, projects = user.record.roles, user.record.agents, user.record.projects
            makers = makers_of(user.record)
        principal = Principal(
            record.tenant,
            record.user,
            frozenset(roles),
            as_set(agents),
            token_id=record.id,
            projects=as_set(projects),
            means="session",
            user=record.user,
            made_by=makers,
        )
        renew = record.seen + self._config.idle_minutes * 60 / 10
        return VerifiedCredential(principal, expires, (record.tenant, record.user), renew)

    async def record_use(self, digest: str) -> None:
        """Record that a session is in use. A session that has ended meanwhile stays ended."""
        found = await self._store.get(SessionRecord, digest)
        if found is not None:
            seen = found.record.model_copy(update={"seen": int(time.time())})
            await self._store.put(seen, expected=found.version)


def cookie_of(cookies: dict[str, str]) -> str:
    """Return the session's cookie; empty if the browser sent none, or an invalid one."""
    cookie = cookies.get(SESSION_COOKIE, "")
    return cookie if len(cookie) == _COOKIE_LENGTH and cookie.isascii() else ""


def set_cookies(response: Response, began: NewSession) -> None:
    """Set the session's cookie, and the cookie of its CSRF token, which scripts of this service's pages may read."""
    age = began.record.expires - began.record.created
    response.set_cookie(SESSION_COOKIE, began.cookie, age, path="/", secure=True, httponly=True, samesite="lax")
    response.set_cookie(
        CSRF_COOKIE, csrf_token(began.cookie), age, path="/", secure=True, httponly=False, samesite="strict"
    )


def delete_cookies(response: Response) -> None:
    """Delete both cookies."""
    for name in (SESSION_COOKIE, CSRF_COOKIE):
        response.delete_cookie(name, path="/", secure=True, httponly=name == SESSION_COOKIE, samesite="lax")
