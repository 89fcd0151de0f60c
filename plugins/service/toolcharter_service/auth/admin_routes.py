"""Routes for administrators: tokens, users and sessions of their own tenant. Those of other tenants cannot be seen.

An administrator who is bound to some agents can neither grant access to other agents nor change anyone who has it.
"""

from collections.abc import Awaitable, Iterable, Mapping
from typing import Annotated, Any, NoReturn, TypeVar

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from toolcharter import (
    AsyncStore,
    StoreConflict,
    StoreRecord,
    StoreTransaction,
    StoreUnavailable,
    ToolError,
    UnreadableRecord,
)
from toolcharter_service.auth import tokens as token_module
from toolcharter_service.auth.authenticator import ServiceAuth, store_unavailable
from toolcharter_service.auth.dependency import require
from toolcharter_service.auth.principal import CallerScope, Principal, PrincipalName, Role, Word
from toolcharter_service.auth.records import SessionRecord, TokenRecord, UserRecord
from toolcharter_service.auth.tokens import NewToken
from toolcharter_service.auth.users import NewPassword, NewUser, new_user_record
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.service import Service

MAX_LINEAGE = 100
"""The most names and ids in the lineage of a principal that makes credentials: three for each maker before it."""
T = TypeVar("T")
RecordT = TypeVar("RecordT", bound=StoreRecord)
ModelT = TypeVar("ModelT", bound=BaseModel)
Where = Mapping[str, str]
Admin = Annotated[Principal, require(Role.ADMIN)]
Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
UserName = Annotated[PrincipalName, Path()]
After = Annotated[str, Query(max_length=2_048)]
Limit = Annotated[int, Query(ge=1, le=1_000)]


class Token(BaseModel):
    """A token's description, without its secret text."""

    id: str
    name: str
    user: str | None
    roles: list[Role]
    agents: list[str] | None
    projects: list[str] | None
    scopes: list[CallerScope] | None
    created: int
    created_by: str
    expires: int
    """In seconds since 1970, like `created`."""


class NewlyMadeToken(Token):
    """A token that was just created."""

    token: str
    """The secret text that a bearer sends. It is not stored, and not shown again."""


class Tokens(BaseModel):
    """A page of tokens."""

    tokens: list[Token]
    after: str
    """The cursor of the next page; empty at the end."""


class User(BaseModel):
    """A person who signs in with a password."""

    name: str
    roles: list[Role]
    agents: list[str] | None
    projects: list[str] | None
    enabled: bool
    created: int
    created_by: str


class Users(BaseModel):
    """A page of users."""

    users: list[User]
    after: str


class UserChange(BaseModel):
    """The changes of a user. Fields that are not named stay unchanged."""

    model_config = ConfigDict(extra="forbid")

    password: NewPassword = Field(default_factory=str)
    """A new password. It ends all sessions of the user."""
    roles: Annotated[tuple[Role, ...], Field(min_length=1)] = Field(default_factory=tuple)
    agents: tuple[Word, ...] | None = None
    projects: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] | None = None
    enabled: bool = Field(default_factory=bool)


class SessionInfo(BaseModel):
    """A person's session."""

    id: str
    user: str
    means: str
    created: int
    seen: int
    expires: int


class SessionList(BaseModel):
    """A page of sessions."""

    sessions: list[SessionInfo]
    after: str


def routes(service: Service) -> APIRouter:
    """Return the routes for administrators."""
    router = APIRouter(tags=["administration"], responses=error_responses(404, 409, 413, 415))
    _add_token_routes(router, service)
    _add_user_routes(router, service)
    _add_session_routes(router, service)
    return router


def _add_token_routes(router: APIRouter, service: Service) -> None:
    @router.get("/v1/tokens")
    async def tokens(request: Request, admin: Admin, after: After = "", limit: Limit = 100) -> Tokens:
        """List the tenant's tokens."""
        records, follows = await read_page(_auth(request).store, TokenRecord, {"tenant": admin.tenant}, after, limit)
        return Tokens(tokens=[_to_model(Token, one) for one in records], after=follows)

    @router.post("/v1/tokens", status_code=201)
    async def create_token(request: Request, admin: Admin, body: NewToken) -> NewlyMadeToken:
        """Create a token. The response is the only place that shows it."""
        require_within(admin, body.agents, body.projects)
        created = token_module.create_token(admin.tenant, body, admin.key, _lineage_of(admin), admin.person)
        await from_store(_auth(request).store.put(created.record, expected=0))
        more = {"name": body.name, "user": body.user, "roles": body.roles, "agents": body.agents}
        emit_admin_event(service, admin, "token_created", created.record.id, **more)
        return NewlyMadeToken(token=created.text, **_to_model(Token, created.record).model_dump())

    @router.delete("/v1/tokens/{token_id}", status_code=204)
    async def revoke_token(request: Request, admin: Admin, token_id: Id) -> None:
        """Revoke a token. Within a second every process refuses it."""
        auth = _auth(request)

        def work(transaction: StoreTransaction) -> token_module.RevokedToken | None:
            revoked = token_module.revoke_token(transaction, admin.tenant, token_id)
            if revoked is not None:
                require_within(admin, revoked.agents, revoked.projects)
            return revoked

        revoked = await from_store(auth.store.transact(work))
        if revoked is None:
            raise_unknown("token")
        await auth.announce_change(revoked.digest)
        emit_admin_event(service, admin, "token_revoked", token_id, name=revoked.name)


def _add_user_routes(router: APIRouter, service: Service) -> None:
    @router.get("/v1/users")
    async def users(request: Request, admin: Admin, after: After = "", limit: Limit = 100) -> Users:
        """List the tenant's users."""
        records, follows = await read_page(_auth(request).store, UserRecord, {"tenant": admin.tenant}, after, limit)
        return Users(users=[_to_model(User, one) for one in records], after=follows)

    @router.post("/v1/users", status_code=201)
    async def create_user(request: Request, admin: Admin, body: NewUser) -> User:
        """Let a person sign in with a password."""
        require_within(admin, body.agents, body.projects)
        auth = _auth(request)
        record = new_user_record(
            admin.tenant, body, await auth.passwords.ahash(body.password), admin.key, _lineage_of(admin)
        )
        try:
            await from_store(auth.store.put(record, expected=0))
        except StoreConflict as error:
            raise HttpProblem(409, "There is a user of this name.", "exists") from error
        emit_admin_event(service, admin, "user_created", body.name, roles=body.roles, agents=body.agents)
        return _to_model(User, record)

    @router.patch("/v1/users/{name}")
    async def change_user(request: Request, admin: Admin, name: UserName, body: UserChange) -> User:
        """Change a user's roles, agents, projects or password, or enable or disable the user."""
        auth = _auth(request)
        given: dict[str, Any] = {field: getattr(body, field) for field in body.model_fields_set}
        if "password" in given:
            given["password"] = await auth.passwords.ahash(given["password"])
        changed = await from_store(
            auth.store.transact(lambda transaction: _change_user(transaction, admin, name, given))
        )
        await auth.announce_change()
        emit_admin_event(service, admin, "user_changed", name, fields=sorted(given), roles=changed.roles)
        return _to_model(User, changed)

    @router.delete("/v1/users/{name}", status_code=204)
    async def delete_user(request: Request, admin: Admin, name: UserName) -> None:
        """Delete a user. The user's sessions end."""
        auth = _auth(request)

        await from_store(auth.store.transact(lambda transaction: _delete_user(transaction, admin, name)))
        await auth.announce_change()
        emit_admin_event(service, admin, "user_deleted", name)


def _delete_user(transaction: StoreTransaction, admin: Principal, name: str) -> None:
    """Delete a user's record.

    Raises:
        HttpProblem: 403, 404.
    """
    try:
        found = transaction.get(UserRecord, admin.tenant, name)
    except UnreadableRecord:
        require_within(admin, None, None)  # The user's agents and projects are unknown.
    else:
        if found is None:
            raise_unknown("user")
        require_within(admin, found.record.agents, found.record.projects)
    transaction.delete(UserRecord, admin.tenant, name)


def _change_user(transaction: StoreTransaction, admin: Principal, name: str, given: Mapping[str, Any]) -> UserRecord:
    """Write the fields *given* into a user's record.

    Raises:
        HttpProblem: 403, 404.
    """
    found = transaction.get(UserRecord, admin.tenant, name)
    if found is None:
        raise_unknown("user")
    epoch = found.record.epoch + ("password" in given)
    makers = {*found.record.made_by, *(_lineage_of(admin) if "password" in given else ())}
    changed = found.record.model_copy(update={**given, "epoch": epoch, "made_by": tuple(sorted(makers))})
    for record in (found.record, changed):
        require_within(admin, record.agents, record.projects)
    transaction.put(changed, expected=found.version)
    return changed


def _lineage_of(admin: Principal) -> frozenset[str]:
    """Return the lineage for a credential that *admin* makes: all of these may not approve each other's calls.

    Raises:
        HttpProblem: 403, the chain of credentials that made credentials is too long.
    """
    if len(admin.lineage) > MAX_LINEAGE:
        raise HttpProblem(403, "Too many credentials have made one another: use an earlier one.", "made_too_deep")
    return admin.lineage


def _add_session_routes(router: APIRouter, service: Service) -> None:
    @router.get("/v1/sessions")
    async def sessions(request: Request, admin: Admin, after: After = "", limit: Limit = 100) -> SessionList:
        """List the sessions of the tenant's users."""
        records, follows = await read_page(_auth(request).store, SessionRecord, {"tenant": admin.tenant}, after, limit)
        return SessionList(sessions=[_to_model(SessionInfo, one) for one in records], after=follows)

    @router.delete("/v1/sessions/{session_id}", status_code=204)
    async def end_session(request: Request, admin: Admin, session_id: Id) -> None:
        """End a session. Within a second every process refuses its cookie."""
        auth = _auth(request)

        def work(transaction: StoreTransaction) -> tuple[str, str]:
            where = {"tenant": admin.tenant, "id": session_id}
            page = transaction.page(SessionRecord, where=where, limit=1, skip_unreadable=True)
            found = [(one.record.digest, one.record.user) for one in page.records]
            found += [(digest, "") for (digest,) in page.unreadable_keys]
            if not found:
                raise_unknown("session")
            _require_session_within(transaction, admin, page.records[0].record if page.records else None)
            transaction.delete(SessionRecord, found[0][0])
            return found[0]

        digest, user = await from_store(auth.store.transact(work))
        await auth.announce_change(digest)
        emit_admin_event(service, admin, "session_ended", session_id, user=user)


def _require_session_within(transaction: StoreTransaction, admin: Principal, session: SessionRecord | None) -> None:
    """Refuse to end the session of a user who has agents or projects that *admin* does not have.

    Args:
        transaction: Reads the user.
        admin: The administrator.
        session: None if the record cannot be read.

    Raises:
        HttpProblem: 403.
    """
    if admin.agents is None and admin.projects is None:
        return
    agents, projects = None if session is None else session.agents, None
    if session is not None and session.means == "password":
        user = transaction.get(UserRecord, session.tenant, session.user)
        agents, projects = (None, None) if user is None else (user.record.agents, user.record.projects)
    require_within(admin, agents, projects)


def require_within(admin: Principal, agents: Iterable[str] | None, projects: Iterable[str] | None) -> None:
    """Refuse to grant, revoke or change access to agents or projects that *admin* does not have.

    Raises:
        HttpProblem: 403 `agent_not_allowed`, `project_not_allowed`.
    """
    bounds = (("agent", admin.agents, agents), ("project", admin.projects, projects))
    for what, own, wanted in bounds:
        if own is not None and (wanted is None or not own.issuperset(wanted)):
            raise HttpProblem(403, f"This goes beyond the {what}s that you may speak for.", f"{what}_not_allowed")


async def read_page(
    store: AsyncStore, model: type[RecordT], where: Where, after: str, limit: int, *, latest: str = ""
) -> tuple[list[RecordT], str]:
    """Return a page of records and the cursor of the next page; sorted by the field *latest*, if named, highest first.

    Raises:
        HttpProblem: 400, *after* is no cursor from a page; 503.
    """
    try:
        page = await store.page(model, where=where, order=latest, descending=bool(latest), after=after, limit=limit)
    except StoreUnavailable as error:
        raise store_unavailable() from error
    except (ToolError, ValueError) as error:
        raise HttpProblem(400, "`after` must be the cursor of the previous page.", "invalid_request") from error
    return [one.record for one in page.records], page.after


async def from_store(work: Awaitable[T]) -> T:
    """Await *work* on the store and return its result.

    Raises:
        HttpProblem: 503, the store does not answer.
    """
    try:
        return await work
    except StoreUnavailable as error:
        raise store_unavailable() from error


def _to_model(model: type[ModelT], record: StoreRecord) -> ModelT:
    """Copy the fields of *record* that *model* has."""
    return model.model_validate(record.model_dump(include=set(model.model_fields)))


def emit_admin_event(service: Service, admin: Principal, action: str, target: str, **more: Any) -> None:
    """Emit an event for an administrative action."""
    service.emit("service.admin", action=action, tenant=admin.tenant, by=admin.key, target=target, **more)


def raise_unknown(what: str) -> NoReturn:
    """Raise 404, also for a record of another tenant, which this tenant may not know of."""
    raise HttpProblem(404, f"There is no such {what}.", f"unknown_{what}")


def _auth(request: Request) -> ServiceAuth:
    auth: ServiceAuth = request.app.state.auth
    return auth
