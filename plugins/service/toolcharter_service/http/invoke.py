"""`POST /v1/tools/invoke`: calls a tool in the format of GoClaw's gateway, with the channel and people of a chat."""

import asyncio
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Request
from starlette.responses import Response

from toolcharter import ToolResult
from toolcharter_service.auth import CallerScope, Principal, Role
from toolcharter_service.auth.dependency import require
from toolcharter_service.calls.callers import caller_of
from toolcharter_service.calls.running import Calls
from toolcharter_service.http.encoding import json_response
from toolcharter_service.http.headers import KEYED_HEADERS
from toolcharter_service.http.keyed import caller_key, respond_once
from toolcharter_service.http.lean import LeanRoute
from toolcharter_service.http.models import InvokeAnswer, InvokeRequest
from toolcharter_service.http.problems import error_responses, problem_of_call
from toolcharter_service.service import Service

_STATUS = {
    "unknown_tool": 404,
    "invalid_arguments": 400,
    "rate_limited": 429,
    "timed_out": 504,
    "store_unavailable": 503,
    "approval_unavailable": 403,
}


def routes(service: Service) -> APIRouter:
    """Return the route."""
    router = APIRouter(prefix="/v1", tags=["calls"], route_class=LeanRoute)

    @router.post(
        "/tools/invoke",
        response_model=InvokeAnswer,
        responses=error_responses(404, 408, 409, 413, 415, 422, 429, 431, 504),
        openapi_extra={"parameters": KEYED_HEADERS},
    )
    async def invoke(
        request: Request,
        body: InvokeRequest,
        principal: Annotated[Principal, require(Role.CALLER, scope=CallerScope.INVOKE_TOOL)],
    ) -> Response:
        """Call a tool for a chat. Channel, chat and peer become facts of the caller; a group chat's id is its group."""
        place = [word for word in (body.channel, body.chatId) if word is not None]
        caller = replace(
            caller_of(service, principal, request, agent=body.agentId, session=":".join(place) or None),
            channel=body.channel,
            chat=body.chatId,
            peer=body.peerKind,
            group=body.chatId if body.peerKind == "group" else None,
        )
        args = body.args if body.action is None else {**body.args, "action": body.action}
        if body.dryRun:
            view = service.view(caller, tenant=principal.tenant, agent=caller.agent)
            decision = await asyncio.to_thread(view.decide, body.tool, args)
            return json_response({"result": None, "decision": decision, "call_id": None})

        async def make(call_id: str) -> Response:
            work = service.part(Calls).make(
                principal, caller, body.tool, args, call_id=call_id, headers=request.headers
            )
            return _to_response(await work)

        request_parts = ("invoke", caller_key(caller), body.peerKind, body.tool, args)
        return await respond_once(service, request, principal, request_parts, make)

    return router


def _to_response(result: ToolResult) -> Response:
    """Convert the result of a call to a response.

    Raises:
        HttpProblem: The call was denied, or could not be made.
    """
    if result.outcome == "denied" or result.reason in _STATUS:
        raise problem_of_call(result, _STATUS.get(result.reason or "", 403))
    metadata = {
        "isError": result.outcome == "error",
        "reason": result.reason,
        "exitCode": result.exit_code,
        "data": result.data,
        "truncated": result.truncated,
    }
    found = {"output": result.text, "forUser": result.user_text, "metadata": metadata}
    return json_response({"result": found, "decision": None, "call_id": result.call_id})
