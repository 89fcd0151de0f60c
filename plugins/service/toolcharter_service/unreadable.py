"""Routes for records that cannot be read: which there are, and to remove them. What can be read is kept."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from toolcharter import MCP_RECORDS, Store, StoreRecord, StoreTransaction, ToolError, UnreadableRecord
from toolcharter_service.approvals import ApprovalRecord
from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.admin_routes import After, require_within, told, unknown
from toolcharter_service.auth.dependency import require
from toolcharter_service.calls.records import KeyedCall, StoredCall
from toolcharter_service.custom.records import CustomTool
from toolcharter_service.generated.records import ToolProposal
from toolcharter_service.grants.records import AccessRequest
from toolcharter_service.http.problems import HttpProblem, answers
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
"""By the name in the path, where the records of a kind lie; other kinds have routes that delete them."""
PAGE = 1_000
Operator = Annotated[Principal, require(Role.OPERATOR)]
Kind = Annotated[str, Path(pattern=f"^({'|'.join(KINDS)})$")]
Key = Annotated[list[Annotated[str, Query(min_length=1, max_length=512)]], Query(min_length=1, max_length=2)]


class Unreadable(BaseModel):
    """A page of them."""

    keys: tuple[tuple[str, ...], ...]
    """Of each record, the parts of its key: what `key` names to delete it."""
    after: str
    """What the next page begins after; empty at the end. A page may be empty before it."""


class Removed(BaseModel):
    """What was deleted."""

    deleted: tuple[str, ...]


def routes(service: Service) -> APIRouter:
    """`/v1/unreadable`."""
    router, part = APIRouter(prefix="/v1/unreadable/{kind}", tags=["administration"]), _Routes(service)
    router.add_api_route("", part.list_unreadable, methods=["GET"], responses=answers())
    router.add_api_route("", part.delete_unreadable, methods=["DELETE"], responses=answers(404, 409))
    return router


class _Routes:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_unreadable(self, kind: Kind, principal: Operator, after: After = "") -> Unreadable:
        """Records of the tenant that another program or version has written."""
        require_within(principal, None, None)
        store, model = self._kept(kind, principal)
        try:
            page = await store.asynchronous().page(model, after=after, limit=PAGE, skip_unreadable=True)
        except ToolError as error:
            raise HttpProblem(400, "`after` is what the page before has given.", "invalid_request") from error
        return Unreadable(keys=page.unreadable_keys, after=page.after)

    async def delete_unreadable(self, kind: Kind, key: Key, principal: Operator) -> Removed:
        """Delete one of them. A record that can be read stays: it tells who asked, and who answered."""
        require_within(principal, None, None)  # Nobody knows whose it was.
        store, model = self._kept(kind, principal)
        if len(key) != len(model.store_kind.key):
            named = ", ".join(model.store_kind.key)
            raise HttpProblem(400, f"key: name {named}, each once and in this order.", "invalid_request")
        await store.asynchronous().transact(lambda transaction: _delete(transaction, model, key))
        told(self._service, principal, "unreadable_deleted", "/".join(key), kind=kind)
        return Removed(deleted=tuple(key))

    def _kept(self, kind: str, principal: Principal) -> tuple[Store, type[StoreRecord]]:
        distribution, model = KINDS[kind]
        return self._service.store(principal.tenant, distribution), model


def _delete(transaction: StoreTransaction, model: type[StoreRecord], key: list[str]) -> None:
    """Delete what cannot be read.

    Raises:
        HttpProblem: 404; 409, it can be read.
    """
    try:
        found = transaction.get(model, *key)
    except UnreadableRecord:
        transaction.delete(model, *key)
        return
    if found is None:
        unknown("record")
    raise HttpProblem(409, "This record can be read, and stays.", "readable")
