"""Routes for people: signing in with a password or at an OpenID provider, reading one's session, signing out."""

from functools import partial
from html import escape
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from toolcharter import StoreConflict, StoreUnavailable, is_secret_reference
from toolcharter_service.auth import sessions as session_module
from toolcharter_service.auth.authenticator import (
    ServiceAuth,
    require_secret,
    secret_value,
    store_unavailable,
    unauthenticated,
)
from toolcharter_service.auth.dependency import authenticate
from toolcharter_service.auth.oidc import LOGIN_COOKIE, LOGIN_S, LoginFailed, OidcLogin, ProviderUnavailable
from toolcharter_service.auth.origins import local_path
from toolcharter_service.auth.passwords import MAX_LENGTH
from toolcharter_service.auth.principal import Principal, Role
from toolcharter_service.auth.records import UserRecord
from toolcharter_service.auth.users import NewPassword
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.service import Service

Password = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]
Name = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,128}$")]


class Login(BaseModel):
    """The credentials of a person who signs in."""

    model_config = ConfigDict(extra="forbid")

    tenant: Name | None = None
    """May be omitted if the service has only one tenant."""
    user: Name
    password: Password


class PasswordChange(BaseModel):
    """A change of one's own password."""

    model_config = ConfigDict(extra="forbid")

    password: Password
    new_password: NewPassword


class Session(BaseModel):
    """The principal of the request, and its permissions."""

    tenant: str
    name: str
    user: str | None
    roles: list[Role]
    agents: list[str] | None
    """The agents that it may speak for; null for any agent of the tenant."""
    projects: list[str] | None
    scopes: list[str] | None
    means: str
    csrf_token: str | None
    """The value of `X-CSRF-Token` for requests with the session's cookie; null for a token."""


def routes(service: Service) -> APIRouter:
    """Return the routes for signing in and out."""
    router = APIRouter(tags=["people"], responses=error_responses(413, 415, 429))
    config = service.config.auth

    @router.get("/v1/session")
    async def session(request: Request, principal: Annotated[Principal, Depends(authenticate)]) -> Session:
        """Show the principal of the request."""
        cookie = session_module.cookie_of(request.cookies) if principal.means == "session" else ""
        return _describe_session(principal, session_module.csrf_token(cookie) if cookie else None)

    @router.delete("/v1/session", status_code=204)
    async def end_session(
        request: Request, response: Response, principal: Annotated[Principal, Depends(authenticate)]
    ) -> None:
        """Sign out."""
        await _sign_out(service, request, principal)
        session_module.delete_cookies(response)

    @router.post("/logout", status_code=303)
    async def logout(request: Request, principal: Annotated[Principal, Depends(authenticate)]) -> Response:
        """Sign out, for a page."""
        await _sign_out(service, request, principal)
        answer = RedirectResponse("/login", 303)
        session_module.delete_cookies(answer)
        return answer

    if config.passwords:
        _add_password_routes(router, service)
    if config.oidc is not None:
        secret = config.oidc.client_secret
        if secret is not None and is_secret_reference(secret):
            service.on_examining.append(partial(require_secret, service, secret, "auth", "oidc", "client_secret"))
        _add_oidc_routes(
            router, service, OidcLogin(config.oidc, service.config.tenants, partial(secret_value, service))
        )
    if config.passwords or config.oidc is not None:

        @router.get("/login", response_class=HTMLResponse)
        async def login_page(
            next_path: Annotated[str | None, Query(alias="next", max_length=2_000)] = None,
            failed: Annotated[str | None, Query(pattern="^[a-z_]{1,40}$")] = None,
        ) -> HTMLResponse:
            """Show the page where people sign in."""
            return HTMLResponse(_login_page(service, local_path(next_path), failed))

    return router


def _add_password_routes(router: APIRouter, service: Service) -> None:
    @router.post("/v1/login")
    async def login(request: Request, response: Response, body: Login) -> Session:
        """Sign in with a password; the answer sets the session's cookie."""
        began, principal = await _sign_in(service, request, body)
        session_module.set_cookies(response, began)
        return _describe_session(principal, session_module.csrf_token(began.cookie))

    @router.post("/login", status_code=303)
    async def login_form(
        request: Request,
        user: Annotated[Name, Form()],
        password: Annotated[Password, Form()],
        tenant: Annotated[Name | None, Form()] = None,
        next_path: Annotated[str | None, Form(alias="next", max_length=2_000)] = None,
    ) -> Response:
        """Sign in with a password, for a page."""
        path = local_path(next_path)
        try:
            began, _ = await _sign_in(service, request, Login(tenant=tenant, user=user, password=password))
        except HttpProblem as problem:
            return RedirectResponse(f"/login?failed={problem.reason}&next={quote(path, safe='')}", 303)
        answer = RedirectResponse(path, 303)
        session_module.set_cookies(answer, began)
        return answer

    @router.post("/v1/session/password", status_code=204)
    async def change_password(
        request: Request,
        response: Response,
        body: PasswordChange,
        principal: Annotated[Principal, Depends(authenticate)],
    ) -> None:
        """Change one's own password. Every session of the user ends, and a new session begins."""
        auth = _auth(request)
        if principal.means != "session" or principal.user is None:
            raise HttpProblem(403, "Only a person who is signed in can change the own password.", "sessions_only")
        known = await _check_password(auth, request, principal.tenant, principal.user, body.password)
        hashed = await auth.passwords.ahash(body.new_password)
        changed = known.model_copy(update={"password": hashed, "epoch": known.epoch + 1})
        try:
            await auth.store.put(changed)
            began = await auth.begin_session(
                principal,
                means="password",
                epoch=changed.epoch,
                former=session_module.cookie_of(request.cookies),
            )
        except StoreUnavailable as error:
            raise store_unavailable() from error
        service.emit(
            "service.admin", action="password_changed", tenant=known.tenant, target=known.name, by=principal.key
        )
        session_module.set_cookies(response, began)


def _add_oidc_routes(router: APIRouter, service: Service, provider: OidcLogin) -> None:
    @router.get("/login/oidc", status_code=303)
    async def begin(next_path: Annotated[str | None, Query(alias="next", max_length=2_000)] = None) -> Response:
        """Send the browser to the provider to sign in."""
        try:
            beginning = await provider.begin(next_path)
        except ProviderUnavailable:
            return RedirectResponse("/login?failed=provider_unavailable", 303)
        answer = RedirectResponse(beginning.url, 303)
        answer.set_cookie(LOGIN_COOKIE, beginning.cookie, LOGIN_S, path="/", secure=True, httponly=True, samesite="lax")
        return answer

    @router.get("/login/oidc/callback", status_code=303)
    async def callback(request: Request) -> Response:
        """Finish signing in when the browser returns from the provider."""
        query: dict[str, list[str]] = {}
        for name, value in request.query_params.multi_items():
            query.setdefault(name, []).append(value)
        answer: Response
        try:
            principal, path = await provider.finish(query, request.cookies.get(LOGIN_COOKIE, ""))
            former = session_module.cookie_of(request.cookies)
            began = await _auth(request).begin_session(principal, means="oidc", former=former)
        except (LoginFailed, ProviderUnavailable, StoreUnavailable) as error:
            reason = "provider_unavailable" if isinstance(error, ProviderUnavailable) else error.reason
            service.emit("service.login", outcome="failed", means="oidc", reason=reason)
            answer = RedirectResponse(f"/login?failed={reason}", 303)
        else:
            service.emit("service.login", outcome="ok", means="oidc", tenant=principal.tenant, user=principal.user)
            answer = RedirectResponse(path, 303)
            session_module.set_cookies(answer, began)
        answer.delete_cookie(LOGIN_COOKIE, path="/", secure=True, httponly=True, samesite="lax")
        return answer


async def _sign_in(service: Service, request: Request, login: Login) -> tuple[session_module.NewSession, Principal]:
    """Begin a session for a user with a password.

    Raises:
        HttpProblem: 401, 429, 503.
    """
    tenants = list(service.config.tenants)
    tenant = login.tenant if login.tenant is not None else tenants[0] if len(tenants) == 1 else ""
    auth = _auth(request)
    told = {"means": "password", "tenant": tenant, "user": login.user, "address": _client_address(request)}
    try:
        known = await _check_password(auth, request, tenant, login.user, login.password)
        principal = Principal(
            tenant,
            known.name,
            frozenset(known.roles),
            None if known.agents is None else frozenset(known.agents),
            projects=None if known.projects is None else frozenset(known.projects),
            means="session",
            user=known.name,
        )
        former = session_module.cookie_of(request.cookies)
        began = await auth.begin_session(principal, means="password", epoch=known.epoch, former=former)
    except StoreUnavailable as error:
        raise store_unavailable() from error
    except HttpProblem as problem:
        service.emit("service.login", outcome="failed", reason=problem.reason, **told)
        raise
    service.emit("service.login", outcome="ok", **told)
    return began, principal


async def _check_password(auth: ServiceAuth, request: Request, tenant: str, user: str, password: str) -> UserRecord:
    """Check a password and return the user's record. Unknown and disabled users take as long and get the same error.

    Raises:
        HttpProblem: 401, 429, 503.
    """
    try:
        await auth.attempts.acquire(tenant, user, _client_address(request))
        found = await auth.store.get(UserRecord, tenant, user) if tenant in auth.tenants else None
        may = found if found is not None and found.record.enabled else None
        if not await auth.passwords.verify(may and may.record.password, password) or may is None:
            raise unauthenticated("The user or the password is wrong.")
        await auth.attempts.forget_user(tenant, user)
        if auth.passwords.needs_rehash(may.record.password):
            renewed = may.record.model_copy(update={"password": await auth.passwords.ahash(password)})
            await auth.store.put(renewed, expected=may.version)
    except StoreConflict:  # another process has changed the user; the hash is renewed at the next sign-in
        return await _read_enabled_user(auth, tenant, user)
    except StoreUnavailable as error:
        raise store_unavailable() from error
    return may.record


async def _read_enabled_user(auth: ServiceAuth, tenant: str, user: str) -> UserRecord:
    found = await auth.store.get(UserRecord, tenant, user)
    if found is None or not found.record.enabled:
        raise unauthenticated("The user or the password is wrong.")
    return found.record


async def _sign_out(service: Service, request: Request, principal: Principal) -> None:
    """End the session of the request's cookie.

    Raises:
        HttpProblem: 403, the request has no session; 503, the store does not answer.
    """
    if principal.means != "session":
        raise HttpProblem(403, "Only a session can sign out.", "sessions_only")
    try:
        await _auth(request).sign_out(session_module.cookie_of(request.cookies))
    except StoreUnavailable as error:
        raise store_unavailable() from error
    service.emit("service.logout", tenant=principal.tenant, user=principal.user)


def _auth(request: Request) -> ServiceAuth:
    auth: ServiceAuth = request.app.state.auth
    return auth


def _client_address(request: Request) -> str:
    return request.client.host if request.client else ""


def _describe_session(principal: Principal, csrf_token: str | None) -> Session:
    def listed(names: frozenset[str] | None) -> list[str] | None:
        return None if names is None else sorted(names)

    return Session(
        tenant=principal.tenant,
        name=principal.name,
        user=principal.user,
        roles=sorted(principal.roles),
        agents=listed(principal.agents),
        projects=listed(principal.projects),
        scopes=listed(principal.scopes),
        means=principal.means,
        csrf_token=csrf_token,
    )


_FAILURES = {
    "unauthenticated": "The user or the password is wrong.",
    "too_many_attempts": "Too many attempts. Wait some minutes.",
    "too_busy": "Too many people are signing in. Try again.",
    "store_unavailable": "The store cannot be reached.",
    "provider_unavailable": "The provider cannot be reached.",
    "login_expired": "That took too long. Begin again.",
    "no_access": "You have no role here. Ask an administrator for one.",
}
_SIGN_IN_FORM = """<form method="post" action="/login">
<input type="hidden" name="next" value="{next}">
{tenant}<p><label for="user">User</label> <input id="user" name="user" autocomplete="username" required maxlength="128"></p>
<p><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024"></p>
<p><button type="submit">Sign in</button></p>
</form>"""
_TENANT = '<p><label for="tenant">Tenant</label> <input id="tenant" name="tenant" required maxlength="64"></p>\n'


def _login_page(service: Service, path: str, failed: str | None) -> str:
    """Render the page where people sign in. It needs no script."""
    config = service.config.auth
    parts = ["<h1>Sign in</h1>"]
    if failed is not None:
        parts.append(f'<p role="alert">{escape(_FAILURES.get(failed, "You are not signed in. Begin again."))}</p>')
    if config.passwords:
        tenant = _TENANT if len(service.config.tenants) > 1 else ""
        parts.append(_SIGN_IN_FORM.format(next=escape(path, quote=True), tenant=tenant))
    if config.oidc is not None:
        link = f"/login/oidc?next={quote(path, safe='')}"
        parts.append(f'<p><a href="{escape(link, quote=True)}">Sign in at {escape(config.oidc.issuer)}</a></p>')
    head = '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Sign in - toolcharter</title>'
    head += '<meta name="viewport" content="width=device-width"></head>'
    return f"{head}\n<body><main>\n{chr(10).join(parts)}\n</main></body>\n</html>\n"
