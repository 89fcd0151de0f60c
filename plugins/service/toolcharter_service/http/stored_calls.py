"""`GET /v1/calls/{id}` and `POST /v1/calls/{id}/cancel`: the routes of stored calls."""

from typing import Annotated

import orjson
from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from toolcharter_service.auth import CallerScope, Principal, Role
from toolcharter_service.auth.dependency import require
from toolcharter_service.calls.records import StoredCall
from toolcharter_service.calls.stored import StoredCalls
from toolcharter_service.http.encoding import json_response
from toolcharter_service.http.models import StoredCallAnswer
from toolcharter_service.http.problems import HttpProblem, error_responses

CallId = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
MayLook = Annotated[Principal, require(Role.CALLER, Role.VIEWER, scope=CallerScope.INVOKE_TOOL)]
MayCancel = Annotated[Principal, require(Role.CALLER, Role.OPERATOR, scope=CallerScope.INVOKE_TOOL)]
_PROBLEMS = error_responses(400, 401, 403, 404, 503)


def stored_routes(stored: StoredCalls) -> APIRouter:
    """Return the routes, below `/v1`."""
    router = APIRouter(tags=["calls"])

    @router.get("/calls/{call_id}", response_model=StoredCallAnswer, responses=_PROBLEMS)
    async def stored_call(call_id: CallId, principal: MayLook) -> Response:
        """Show a stored call: its state and, once it is done, its result."""
        found = await stored.find(principal.tenant, call_id)
        if found is None or not _may_access(principal, found.record, Role.VIEWER):
            raise HttpProblem(404, "There is no such call.", "unknown_call")
        return json_response(stored_answer(found.record))

    @router.post(
        "/calls/{call_id}/cancel", response_model=StoredCallAnswer, responses={**_PROBLEMS, **error_responses(409)}
    )
    async def cancel(_: Request, call_id: CallId, principal: MayCancel) -> Response:
        """Cancel a call that has not ended. If another worker runs it, it ends soon."""
        found = await stored.find(principal.tenant, call_id)
        if found is None or not _may_access(principal, found.record, Role.OPERATOR):
            raise HttpProblem(404, "There is no such call.", "unknown_call")
        return json_response(stored_answer(await stored.cancel(principal.tenant, call_id)))

    return router


def stored_answer(record: StoredCall) -> dict[str, object]:
    """Convert a stored call for a response."""
    return {
        "id": record.id,
        "tool": record.tool,
        "state": record.state,
        "created_at": record.created_at,
        "finished_at": record.finished_at,
        "result": orjson.loads(record.answer) if record.answer else None,
    }


def _may_access(principal: Principal, record: StoredCall, role: Role) -> bool:
    """Whether the call is the principal's own, or *principal* has *role* and may speak for the call's agent."""
    if principal.agents is not None and record.agent not in principal.agents:
        return False
    return record.owner == principal.owner or principal.has(role)
