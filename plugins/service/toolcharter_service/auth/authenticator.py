"""`ServiceAuth`: authenticates requests by token, JSON Web Token or session."""

import asyncio
import os
import time
from contextlib import suppress

import click
from fastapi import Request

from toolcharter import (
    CORE_RECORDS,
    AsyncStore,
    BusUnavailable,
    ConfigurationError,
    SecretRecord,
    StoreConflict,
    StoreUnavailable,
    UnreadableRecord,
    secret_name,
)
from toolcharter_service.auth import sessions as session_module
from toolcharter_service.auth import tokens as token_module
from toolcharter_service.auth.attempts import Attempts
from toolcharter_service.auth.jwt import JwtIssuers
from toolcharter_service.auth.passwords import Passwords
from toolcharter_service.auth.principal import Principal, Role, dev_principal
from toolcharter_service.auth.records import SessionRecord, TokenRecord, UserRecord
from toolcharter_service.auth.sessions import CSRF_FIELD, CSRF_HEADER, SAFE_METHODS, NewSession, Sessions
from toolcharter_service.auth.verified import ReadCredential, VerifiedCredential, VerifiedCredentials
from toolcharter_service.http.problems import HttpProblem
from toolcharter_service.service import Service

SCOPES_HEADER = b"x-caller-scopes"
_RENEW_PAUSE_S = 30.0
PURGE_PAUSE_S = 3_600.0
TOPIC = "credentials"
"""The bus topic that announces revoked or changed credentials."""
EXPIRED_KEPT_S = 30 * token_module.DAY_S
MAX_BEARER = 16_384
"""The most characters of a bearer token."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class ServiceAuth:
    """The authenticator of a service, at `app.state.auth`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.tenants = service.config.tenants
        self.store = service.store("").asynchronous()
        self._dev = dev_principal(next(iter(self.tenants))) if service.dev else None
        config = service.config.auth
        self.verified = VerifiedCredentials(self.store, config.stale_s)
        self.sessions = Sessions(self.store, config.sessions)
        self.attempts = Attempts(self.store)
        self.passwords = Passwords()
        self.jwt = JwtIssuers(config.jwt, self.tenants)
        service.is_token_valid = self.is_token_valid
        service.is_credential_valid = self.is_credential_valid
        if not service.dev:
            service.on_starting.append(lambda: print_first_steps(service))
        service.run_in_background("credentials", self._watch_changes)
        service.run_in_background("credentials that have expired", self._purge_expired)

    async def principal(self, request: Request, /) -> Principal:
        """Authenticate *request*.

        Raises:
            HttpProblem: 400, 401, 403 `csrf`, 503.
        """
        given: list[str] = []
        named: list[str] = []
        for name, value in request.scope[
            "headers"
        ]:  # one pass that decodes only two headers, since every request comes through here
            if name == b"authorization":
                given.append(value.decode("latin-1"))
            elif name == SCOPES_HEADER:
                named.append(value.decode("latin-1"))
        if len(given) > 1:
            raise HttpProblem(400, "The header Authorization occurs more than once.", "duplicate_header")
        if given:
            found = await self._bearer_principal(given[0])
        elif cookie := session_module.cookie_of(request.cookies):
            found = await self._session_principal(request, cookie)
        elif self._dev is not None:
            found = self._dev
        else:
            raise unauthenticated("This needs a token.")
        if found.tenant not in self.tenants:
            raise unauthenticated(_REJECTED)
        if named:
            words = {word for text in named for word in text.replace(",", " ").split()}
            found = found.narrowed(frozenset(words))
        return found

    async def _watch_changes(self) -> None:
        """Drop cached credentials that other processes changed: at once if the bus says so, else within a second."""
        loop = asyncio.get_running_loop()

        def on_message(_tenant: str, _payload: bytes) -> None:
            loop.call_soon_threadsafe(self.verified.poll_now)

        subscription = None
        if self._service.bus is not None:
            with suppress(BusUnavailable):  # the store is polled anyway
                subscription = await asyncio.to_thread(self._service.bus.subscribe, TOPIC, on_message)
        try:
            await self.verified.poll_changes()
        finally:
            if subscription is not None:
                subscription.close()

    async def _purge_expired(self) -> None:
        """Delete expired credentials every `PURGE_PAUSE_S`. Several processes may do so at once."""
        while True:
            with suppress(StoreUnavailable, StoreConflict):
                await delete_expired(self.store)
            await asyncio.sleep(PURGE_PAUSE_S)

    async def is_token_valid(self, tenant: str, token_id: str) -> bool:
        """Whether a token exists in the store now and has not expired.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        found = await self.store.page(TokenRecord, where={"tenant": tenant, "id": token_id}, limit=1)
        return any(one.record.expires > time.time() for one in found.records)

    async def is_credential_valid(self, tenant: str, means: str, token_id: str) -> bool:
        """Whether a token or session is still valid in the store. A JSON Web Token is valid until it expires.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        if means == "session":
            page = await self.store.page(SessionRecord, where={"tenant": tenant, "id": token_id}, limit=1)
            found = await self.sessions.read(page.records[0].record.digest) if page.records else None
            return found is not None and found.principal.has(Role.CALLER)
        return means != "token" or await self.is_token_valid(tenant, token_id)

    async def begin_session(self, principal: Principal, *, means: str, former: str, epoch: int = 0) -> NewSession:
        """Begin a session, as `Sessions.begin` does, and drop the former session from this process's cache.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        began = await self.sessions.begin(principal, means=means, epoch=epoch, former=former)
        if former:
            await self.announce_change(token_module.digest_of(former))
        return began

    async def sign_out(self, cookie: str) -> None:
        """End the session of *cookie*.

        Raises:
            StoreUnavailable: The store does not answer, so the session has not ended.
        """
        await self.sessions.end(cookie)
        await self.announce_change(token_module.digest_of(cookie))

    async def announce_change(self, *digests: str) -> None:
        """Drop changed credentials from the cache, announce it on the bus, and check at once for other changes.

        Other processes notice within a second.
        """
        for digest in digests:
            self.verified.forget(digest)
        if self._service.bus is not None:
            self._service.bus.publish("", TOPIC)
        with suppress(StoreUnavailable):
            await self.verified.catch_up()

    async def _bearer_principal(self, header: str) -> Principal:
        scheme, _, text = header.partition(" ")
        text = text.strip(" ")
        if scheme.lower() != "bearer" or not text or len(text) > MAX_BEARER:
            raise unauthenticated("The header Authorization has to be: Bearer TOKEN.")
        if text.startswith(token_module.PREFIX):
            known = self.verified.find(token_module.digest_of(text))
            if known is None and token_module.is_token(text):
                known = await self._find_credential(text, self._read_token)
            if known is None or known.expires <= time.time():
                raise unauthenticated(_REJECTED)
            return known.principal
        return await self.jwt.principal(text)

    async def _find_credential(self, text: str, read: ReadCredential) -> VerifiedCredential | None:
        """Return the verified credentials of a token or cookie; None if it is unknown or has expired.

        Raises:
            HttpProblem: 503, the store does not answer.
        """
        digest = token_module.digest_of(text)
        found = self.verified.find(digest)
        if found is None:
            try:
                found = await self.verified.load(digest, read)
            except StoreUnavailable as error:
                raise store_unavailable() from error
        return found if found is not None and found.expires > time.time() else None

    async def _read_token(self, digest: str) -> VerifiedCredential | None:
        found = await self.store.get(TokenRecord, digest)
        if found is None:
            return None
        return VerifiedCredential(token_module.principal_of(found.record), found.record.expires)

    async def _session_principal(self, request: Request, cookie: str) -> Principal:
        found = await self._find_credential(cookie, self.sessions.read)
        if found is None:
            raise unauthenticated("The session has ended.")
        if request.method not in SAFE_METHODS:
            await _require_csrf_token(request, cookie)
        digest, now = token_module.digest_of(cookie), time.time()
        if found.renew_at <= now:
            self.verified.postpone(digest, now + _RENEW_PAUSE_S)
            with suppress(StoreUnavailable, StoreConflict):
                await self.sessions.record_use(digest)
        return found.principal


def print_first_steps(service: Service) -> None:
    """Print on standard error how to create the first token, if there are no credentials at all."""
    config, store = service.config.auth, service.store("")
    if config.jwt or config.oidc is not None:
        return
    with suppress(StoreUnavailable):
        if not store.count(TokenRecord) and not store.count(UserRecord):
            file = service.file.fault((), "").place.rsplit(":", 2)[0] or "FILE"
            tenant = next(iter(service.config.tenants))
            made = f"toolcharter service token create admin --role admin --tenant {tenant} --config {file}"
            click.echo(f"There is no token yet, so no client has access. Create one with:\n  {made}", err=True)


async def delete_expired(store: AsyncStore) -> int:
    """Delete sessions that have expired, and tokens that expired `EXPIRED_KEPT_S` ago.

    Until then lists show them as expired.

    Raises:
        StoreUnavailable: The store does not answer.
    """
    deleted = 0
    kinds: tuple[tuple[type[SessionRecord | TokenRecord], float], ...] = (
        (SessionRecord, 0),
        (TokenRecord, EXPIRED_KEPT_S),
    )
    for model, kept_s in kinds:
        until, after = time.time() - kept_s, ""
        while True:
            page = await store.page(model, order="expires", after=after, limit=100)
            ended = [one.record for one in page.records if one.record.expires < until]
            for record in ended:
                deleted += await store.delete(model, record.digest)
            after = page.after  # Unreadable records stay, and do not hold up the others.
            if len(ended) < len(page.records) or not after:
                break
    return deleted


def store_unavailable() -> HttpProblem:
    """Return the response for a store that does not answer."""
    return HttpProblem(503, "The store cannot be reached.", "store_unavailable", headers={"Retry-After": "5"})


_REJECTED = "This token is not known, has expired or was revoked."


async def secret_value(service: Service, reference: str) -> str:
    """Resolve `secret:NAME`, a secret of the service as a whole, or `env:NAME`, a variable of its environment.

    Raises:
        StoreUnavailable: There is no such secret or variable, or the store does not answer.
    """
    kind, _, name = reference.partition(":")
    if kind == "env":
        found = os.environ.get(name)
    else:
        kept = await service.store("", CORE_RECORDS).asynchronous().get(SecretRecord, name)
        found = kept.record.value if kept is not None else None
    if not found:
        raise StoreUnavailable(f"There is no {reference!r}.", hint=f"Store it: toolcharter store secret put {name}")
    return found


def require_secret(service: Service, reference: str, *path: str | int) -> None:
    """Check that `secret:NAME` at *path* of the configuration can be read, unless the store does not answer.

    Raises:
        ConfigurationError: There is no such secret, or it cannot be decrypted.
    """
    name, store = secret_name(reference), service.store("", CORE_RECORDS)
    with suppress(StoreUnavailable):
        store.last_change()  # The store answers, so a failure below is the secret's fault.
        try:
            kept, what = store.get(SecretRecord, name), f"there is no secret {name!r}."
        except (StoreUnavailable, UnreadableRecord) as error:
            kept, what = None, f"the secret {name!r} cannot be read: {error}"
        if kept is None:
            raise ConfigurationError([service.file.fault(path, what, f"Store it: toolcharter store secret put {name}")])


def unauthenticated(message: str) -> HttpProblem:
    """Return the response to an unauthenticated request."""
    return HttpProblem(401, message, "unauthenticated", headers={"WWW-Authenticate": 'Bearer realm="toolcharter"'})


async def _require_csrf_token(request: Request, cookie: str) -> None:
    """Refuse a request without the session's CSRF token in its header or form.

    `OriginGuard` has already checked the request's origin, as far as the browser sends it.
    """
    given = request.headers.get(CSRF_HEADER)
    if given is None and request.headers.get("content-type", "").lower().startswith(_FORMS):
        field = (await request.form()).get(CSRF_FIELD)
        given = field if isinstance(field, str) else None
    if given is None or not session_module.is_csrf_token(cookie, given):
        message = f"Requests with a session's cookie need its token in {CSRF_HEADER}."
        raise HttpProblem(403, message, "csrf")
