"""Sessions of people: a random cookie of which a SHA-256 is kept, and the token that shows a request to come from our pages.

A session begins with a new cookie whatever the browser has sent, and the one that it had ends: nobody can give another a
session to sign in to. The CSRF token is made out of the cookie: a page of another origin can neither read nor guess it, and
one from another session does not fit.
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
from toolcharter_service.auth.verified import Verified

SESSION_COOKIE = "__Host-toolcharter"
"""Source: RFC 6265bis, section 4.1.3.2: browsers take it over TLS alone, or from loopback, and for no other host or path."""
CSRF_COOKIE = "__Host-toolcharter-csrf"
CSRF_HEADER = "X-CSRF-Token"
CSRF_FIELD = "csrf_token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_COOKIE_LENGTH = 43


class Began(NamedTuple):
    """A session that has just begun."""

    cookie: str
    record: SessionRecord


def csrf_token(cookie: str) -> str:
    """What requests that change something bring along, besides the cookie *cookie*."""
    return urlsafe_b64encode(hmac.digest(cookie.encode(), b"csrf", "sha256")).decode().rstrip("=")


def is_csrf_token(cookie: str, given: str) -> bool:
    """Whether *given* is that of *cookie*, in the same time whatever it is."""
    return hmac.compare_digest(csrf_token(cookie).encode(), given.encode("utf-8", "replace"))


class Sessions:
    """The sessions of the service as a whole."""

    def __init__(self, store: AsyncStore, config: SessionConfig) -> None:
        self._store = store
        self._config = config

    async def begin(self, principal: Principal, *, means: str, epoch: int = 0, former: str = "") -> Began:
        """Begin a session, and end that of the cookie *former*.

        Args:
            principal: Who has signed in.
            means: `password` or `oidc`.
            epoch: The user's.
            former: The cookie that the browser has sent.
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
        return Began(cookie, record)

    async def end(self, cookie: str) -> bool:
        """End the session of *cookie*; whether there was one."""
        return len(cookie) == _COOKIE_LENGTH and await self._store.delete(SessionRecord, digest_of(cookie))

    async def read(self, digest: str) -> Verified | None:
        """Who stands behind the session of a cookie with this digest, if it holds."""
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
        return Verified(principal, expires, (record.tenant, record.user), renew)

    async def was_seen(self, digest: str) -> None:
        """Write down that a session is in use; one that has ended meanwhile stays ended."""
        found = await self._store.get(SessionRecord, digest)
        if found is not None:
            seen = found.record.model_copy(update={"seen": int(time.time())})
            await self._store.put(seen, expected=found.version)


def cookie_of(cookies: dict[str, str]) -> str:
    """The session's cookie, if the browser has sent one of the right form."""
    cookie = cookies.get(SESSION_COOKIE, "")
    return cookie if len(cookie) == _COOKIE_LENGTH and cookie.isascii() else ""


def set_cookies(response: Response, began: Began) -> None:
    """Give the browser the session and its CSRF token, which scripts of our pages may read."""
    age = began.record.expires - began.record.created
    response.set_cookie(SESSION_COOKIE, began.cookie, age, path="/", secure=True, httponly=True, samesite="lax")
    response.set_cookie(
        CSRF_COOKIE, csrf_token(began.cookie), age, path="/", secure=True, httponly=False, samesite="strict"
    )


def drop_cookies(response: Response) -> None:
    """Take both from the browser."""
    for name in (SESSION_COOKIE, CSRF_COOKIE):
        response.delete_cookie(name, path="/", secure=True, httponly=name == SESSION_COOKIE, samesite="lax")
