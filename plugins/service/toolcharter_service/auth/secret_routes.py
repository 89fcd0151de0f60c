"""Routes for the secrets of a tenant, which `secret:NAME` refers to. They can be put and deleted, but never read."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from toolcharter import CORE_RECORDS, AsyncStore, SecretRecord
from toolcharter_service.auth.admin_routes import (
    Admin,
    After,
    Limit,
    emit_admin_event,
    from_store,
    raise_unknown,
    read_page,
    require_within,
)
from toolcharter_service.auth.principal import Principal
from toolcharter_service.http.problems import error_responses
from toolcharter_service.service import Service

SecretName = Annotated[str, Path(pattern="^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")]


class NewSecret(BaseModel):
    """A secret's value."""

    model_config = ConfigDict(extra="forbid")

    value: Annotated[str, Field(min_length=1, max_length=65_536)]


class SecretInfo(BaseModel):
    """A secret's description, without its value."""

    name: str
    changed_at: str
    """When it was put, in UTC."""


class Secrets(BaseModel):
    """A page of secrets."""

    secrets: list[SecretInfo]
    after: str


def routes(service: Service) -> APIRouter:
    """Return the routes. All agents' profiles may use a secret, so they refuse an admin who is bound to some agents."""
    router = APIRouter(tags=["administration"], responses=error_responses(404, 413, 415))

    def secrets_of(admin: Principal) -> AsyncStore:
        require_within(admin, None, None)
        return service.store(admin.tenant, CORE_RECORDS).asynchronous()

    @router.get("/v1/secrets")
    async def secrets(admin: Admin, after: After = "", limit: Limit = 100) -> Secrets:
        """List the names of the tenant's secrets."""
        records, follows = await read_page(secrets_of(admin), SecretRecord, {}, after, limit)
        return Secrets(secrets=[SecretInfo(name=one.name, changed_at=one.changed_at) for one in records], after=follows)

    @router.put("/v1/secrets/{name}", status_code=204)
    async def put_secret(admin: Admin, name: SecretName, body: NewSecret) -> None:
        """Store a secret. An existing secret of this name is replaced."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        await from_store(secrets_of(admin).put(SecretRecord(name=name, value=body.value, changed_at=now)))
        emit_admin_event(service, admin, "secret_put", name)

    @router.delete("/v1/secrets/{name}", status_code=204)
    async def delete_secret(admin: Admin, name: SecretName) -> None:
        """Delete a secret."""
        if not await from_store(secrets_of(admin).delete(SecretRecord, name)):
            raise_unknown("secret")
        emit_admin_event(service, admin, "secret_deleted", name)

    return router
