"""Routes that list and delete unreadable records. Readable records cannot be deleted here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from toolcharter import MCP_RECORDS, Store, StoreRecord, StoreTransaction, ToolError, UnreadableRecord
from toolcharter_service.approvals import ApprovalRecord
from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.admin_routes import After, emit_admin_event, raise_unknown, require_within
from toolcharter_service.auth.dependency import require
from toolcharter_service.calls.records import KeyedCall, StoredCall
from toolcharter_service.custom.records import CustomTool
from toolcharter_service.generated.records import ToolProposal
from toolcharter_service.grants.records import AccessRequest
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.service import DISTRIBUTION, Service
from toolcharter_service.watch.records import ToolMetrics

KINDS: Mapping[str, tuple[str, type[StoreRecord]]] = MappingProxyType(
    {
        "approvals": (DISTRIBUTION, ApprovalRecord),
        "proposals": (DISTRIBUTION, ToolProposal),
        "requests": (MCP_RECORDS, AccessRequest),
        "calls": (DISTRIBUTION, StoredCall),
        "keys": (DISTRIBUTION, KeyedCall),
        "metrics": (DISTRIBUTION, ToolMetrics),
        "custom": (DISTRIBUTION, CustomTool),
    }
)
"""The distribution and model of each kind, by the name in the path. Records of other kinds have their own routes."""
PAGE = 1_000
Operator = Annotated[Principal, require(Role.OPERATOR)]
Kind = Annotated[str, Path(pattern=f"^({'|'.join(KINDS)})$")]
Key = Annotated[list[Annotated[str, Query(min_length=1, max_length=512)]], Query(min_length=1, max_length=2)]


class Unreadable(BaseModel):
    """A page of unreadable records."""

    keys: tuple[tuple[str, ...], ...]
    """The parts of each record's key, for the parameter `key` that deletes it."""
    after: str
    """The cursor of the next page; empty at the end. A page before the end may have no keys."""


class Removed(BaseModel):
    """The key of the deleted record."""

    deleted: tuple[str, ...]


def routes(service: Service) -> APIRouter:
    """Return the routes below `/v1/unreadable`."""
    router, part = APIRouter(prefix="/v1/unreadable/{kind}", tags=["administration"]), _Routes(service)
    router.add_api_route("", part.list_unreadable, methods=["GET"], responses=error_responses())
    router.add_api_route("", part.delete_unreadable, methods=["DELETE"], responses=error_responses(404, 409))
    return router


class _Routes:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_unreadable(self, kind: Kind, principal: Operator, after: After = "") -> Unreadable:
        """List the tenant's records that another program or version has written."""
        require_within(principal, None, None)
        store, model = self._locate(kind, principal)
        try:
            page = await store.asynchronous().page(model, after=after, limit=PAGE, skip_unreadable=True)
        except ToolError as error:
            raise HttpProblem(400, "`after` must be the cursor of the previous page.", "invalid_request") from error
        return Unreadable(keys=page.unreadable_keys, after=page.after)

    async def delete_unreadable(self, kind: Kind, key: Key, principal: Operator) -> Removed:
        """Delete one unreadable record. A readable record stays, since it shows who asked and who answered."""
        require_within(principal, None, None)  # The record's agent is unknown.
        store, model = self._locate(kind, principal)
        if len(key) != len(model.store_kind.key):
            named = ", ".join(model.store_kind.key)
            raise HttpProblem(400, f"key: name {named}, each once and in this order.", "invalid_request")
        await store.asynchronous().transact(lambda transaction: _delete_if_unreadable(transaction, model, key))
        emit_admin_event(self._service, principal, "unreadable_deleted", "/".join(key), kind=kind)
        return Removed(deleted=tuple(key))

    def _locate(self, kind: str, principal: Principal) -> tuple[Store, type[StoreRecord]]:
        distribution, model = KINDS[kind]
        return self._service.store(principal.tenant, distribution), model


def _delete_if_unreadable(transaction: StoreTransaction, model: type[StoreRecord], key: list[str]) -> None:
    """Delete a record if it cannot be read.

    Raises:
        HttpProblem: 404; 409, the record can be read.
    """
    try:
        found = transaction.get(model, *key)
    except UnreadableRecord:
        transaction.delete(model, *key)
        return
    if found is None:
        raise_unknown("record")
    raise HttpProblem(409, "This record can be read, so it is not deleted.", "readable")
